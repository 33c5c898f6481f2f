// Programmes of another software. Each is opened as on the page, with the same checks; its owner gets an account and no
// mail.

import {
	openProgramme,
	type ParsedProgramme,
	type ProgrammeInput,
	parseProgramme,
	staffCannotOwn,
} from "../accounts/open-programme.ts";
import { shortenRate } from "../accounts/programme-terms.ts";
import type { Fault } from "../domain/fault.ts";
import { findPersonByEmail } from "../store/people.ts";
import { addresseesOf } from "../store/programme-people.ts";
import { findProgrammesByName, type Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import {
	bring,
	type Cells,
	cellOf,
	findTheSame,
	type ImportDeps,
	type ImportKind,
	type ImportRow,
	needsFixing,
	pointed,
	type RowVerdict,
} from "./import-kind.ts";

export const PROGRAMMES_IMPORT: ImportKind = {
	name: "programmes",
	noun: ["programme", "programmes"],
	columns: [
		{ name: "programme" },
		{ name: "owner_email" },
		{ name: "currency" },
		{ name: "commission" },
		{ name: "fee" },
		{ name: "approval_days" },
		{ name: "parks_pixels", isOptional: true },
	],
	keyOf: (cells) => cellOf(cells, "programme"),
	judge: (db, rows) => inOrder(rows, (row) => judgeProgramme(db, row)),
	apply: (deps, rows) => inOrder(rows, (row) => applyProgramme(deps, row)),
};

/** One after the other: there are few of them, and each is a transaction. */
export async function inOrder(
	rows: readonly ImportRow[],
	judge: (row: ImportRow) => Promise<RowVerdict>,
): Promise<RowVerdict[]> {
	const verdicts: RowVerdict[] = [];
	for (const row of rows) verdicts.push(await judge(row));
	return verdicts;
}

async function applyProgramme(deps: ImportDeps, row: ImportRow): Promise<RowVerdict> {
	const verdict = await judgeProgramme(deps.store.db, row);
	if (verdict.kind !== "import") return verdict;
	const way = { kind: "imported", personId: deps.personId } as const;
	const opened = await openProgramme(deps, way, inputOf(row.cells));
	return opened.ok ? bring() : needsFixing(wordsOf(opened.faults));
}

async function judgeProgramme(db: Db, { cells }: ImportRow): Promise<RowVerdict> {
	const parks = readYesNo(cellOf(cells, "parks_pixels"));
	if (parks === undefined) return needsFixing("parks_pixels must be yes or no, or be left empty for yes.");
	const parsed = parseProgramme(inputOf(cells));
	if (!parsed.ok) return needsFixing(wordsOf(parsed.faults));
	const { terms, email } = parsed.value;
	const [known, another] = await findProgrammesByName(db, [terms.name]);
	if (another !== undefined) {
		return needsFixing(`Several programmes are called “${terms.name}” here. Rename all but one first.`);
	}
	if (known !== undefined) return compare(db, known, parsed.value, cellOf(cells, "parks_pixels") !== "");
	const owner = await findPersonByEmail(db, email);
	if (owner === undefined || owner.kind === "shop") return bring();
	return needsFixing(staffCannotOwn(email));
}

async function compare(
	db: Db,
	known: Programme,
	{ terms, currency, email }: ParsedProgramme,
	saysParking: boolean,
): Promise<RowVerdict> {
	const owners = (await addresseesOf(db, known.id, ["owner"])).map((owner) => owner.email);
	const says = (what: string, here: string, inFile: string) =>
		here === inFile ? [] : [`${what} ${here} here, ${inFile} in the file`];
	const differences = [
		...says("currency", known.currency, currency),
		...says("commission", shortenRate(known.commission_rate), shortenRate(terms.commissionRate)),
		...says("fee", shortenRate(known.fee_rate), shortenRate(terms.feeRate)),
		...says("approval_days", String(known.approval_days), String(terms.approvalDays)),
		...(saysParking ? says("parks_pixels", yesNo(known.parks_pixels === 1), yesNo(terms.parksPixels)) : []),
		...(owners.includes(email) ? [] : says("owner", owners.join(" and ") || "nobody", email)),
	];
	if (differences.length === 0) return findTheSame();
	return needsFixing(`This programme is here already, and differs: ${differences.join("; ")}.`);
}

function inputOf(cells: Cells): ProgrammeInput {
	const days = cellOf(cells, "approval_days");
	return {
		name: cellOf(cells, "programme"),
		ownerEmail: cellOf(cells, "owner_email"),
		currency: cellOf(cells, "currency"),
		commissionRate: rateOf(cellOf(cells, "commission")),
		feeRate: rateOf(cellOf(cells, "fee")),
		approvalDays: /^\d{1,6}$/.test(days) ? Number(days) : Number.NaN,
		parksPixels: readYesNo(cellOf(cells, "parks_pixels")) ?? true,
	};
}

/** "7,5 %" is 7.5. */
function rateOf(text: string): string {
	return pointed(text.replace(/\s*%$/, ""));
}

/** Empty is yes, as on the page; undefined for what is neither. */
function readYesNo(text: string): boolean | undefined {
	const word = text.toLowerCase();
	if (["", "yes", "true", "1"].includes(word)) return true;
	return ["no", "false", "0"].includes(word) ? false : undefined;
}

function yesNo(value: boolean): string {
	return value ? "yes" : "no";
}

function wordsOf(faults: readonly Fault[]): string {
	return faults.map(({ plain, detail }) => plain ?? detail).join(" ");
}
