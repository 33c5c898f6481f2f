// Programmes of another software. Each is opened as on the page, with the same checks; its owner gets an account and no
// mail.

import { plainWords } from "../domain/fault.ts";
import {
	insertOpened,
	type OpeningInput,
	type ParsedOpening,
	parseOpening,
	staffCannotOwn,
} from "../programmes/open-programme.ts";
import { shortenRate } from "../programmes/programme-terms.ts";
import { findPersonByEmail } from "../store/queries/people.ts";
import { addresseesOf } from "../store/queries/programme-people.ts";
import { findProgrammesByName, type Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import {
	type ApplyDeps,
	bring,
	type Cells,
	cellOf,
	compareWith,
	differ,
	IMPORT_WORDS,
	inOrder,
	type JobKind,
	type JobRow,
	MAX_IMPORTED_ROWS,
	needsFixing,
	type RowVerdict,
} from "./kind.ts";

export const PROGRAMMES_IMPORT: JobKind = {
	name: "programmes",
	noun: ["programme", "programmes"],
	columns: [
		{ name: "programme", means: "The name that people read. Files of people and conversions name it, too." },
		{
			name: "owner_email",
			means: "The person who manages it. They get an account, or keep the one they have.",
		},
		{ name: "currency", means: "Three letters, such as EUR. It cannot be changed later." },
		{ name: "commission", means: "The affiliate's share of the amount in percent: 7.5 or 7,5." },
		{ name: "fee", means: "The network's own share in percent." },
		{ name: "approval_days", means: "Days until a conversion is approved automatically." },
		{
			name: "parks_pixels",
			means: "yes: what the pixel reports waits for the shop's server. Left out, it is yes.",
			isOptional: true,
		},
	],
	example: `programme;owner_email;currency;commission;fee;approval_days;parks_pixels
Garden Shop;owner@garden.example;EUR;7,5;2;30;yes
Book Club;owner@books.example;GBP;10;1,25;14;no`,
	advice:
		"Imported programmes cannot be removed. Their terms can be changed on their Settings pages. No mail is sent.",
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	// Several statements each, and everybody who makes a link waits meanwhile.
	batchRows: 50,
	makesPeople: true,
	keyOf: (cells) => cellOf(cells, "programme"),
	judge: (db, _, rows) => inOrder(rows, async (row) => (await judgeProgramme(db, row)).verdict),
	apply: (trx, deps, rows) => inOrder(rows, (row) => applyProgramme(trx, deps, row)),
};

type Judged = { verdict: RowVerdict; meant: ParsedOpening<string> | null };

async function applyProgramme(trx: Db, deps: ApplyDeps, row: JobRow): Promise<RowVerdict> {
	const { verdict, meant } = await judgeProgramme(trx, row);
	if (verdict.kind !== "change" || meant === null) return verdict;
	const opened = await insertOpened(trx, deps, { kind: "imported", personId: deps.personId }, meant);
	return opened.ok ? verdict : needsFixing(plainWords(opened.fault));
}

async function judgeProgramme(db: Db, { cells }: JobRow): Promise<Judged> {
	const settle = (verdict: RowVerdict): Judged => ({ verdict, meant: null });
	const parks = readYesNo(cellOf(cells, "parks_pixels"));
	if (parks === undefined) {
		return settle(needsFixing("parks_pixels must be yes or no, or be left empty for yes."));
	}
	const parsed = parseOpening(inputOf(cells));
	if (!parsed.ok) return settle(needsFixing(parsed.faults.map(plainWords).join(" ")));
	const { terms, email } = parsed.value;
	const [known, another] = await findProgrammesByName(db, [terms.name]);
	if (another !== undefined) {
		const detail = `Several programmes are called “${terms.name}” here. Rename all but one first.`;
		return settle(needsFixing(detail));
	}
	if (known !== undefined) {
		return settle(await compare(db, known, parsed.value, cellOf(cells, "parks_pixels") !== ""));
	}
	const owner = await findPersonByEmail(db, email);
	if (owner?.kind === "staff") return settle(needsFixing(staffCannotOwn(email)));
	return { verdict: bring(null), meant: parsed.value };
}

async function compare(
	db: Db,
	known: Programme,
	{ terms, currency, email }: ParsedOpening<string>,
	saysParking: boolean,
): Promise<RowVerdict> {
	const owners = (await addresseesOf(db, known.id, ["owner"])).map((owner) => owner.email);
	const differences = [
		...differ("currency", known.currency, currency),
		...differ("commission", shortenRate(known.commission_rate), shortenRate(terms.commissionRate)),
		...differ("fee", shortenRate(known.fee_rate), shortenRate(terms.feeRate)),
		...differ("approval_days", String(known.approval_days), String(terms.approvalDays)),
		...differ("parks_pixels", yesNo(known.parks_pixels === 1), yesNo(terms.parksPixels), saysParking),
		...differ("owner", owners.join(" and ") || "nobody", email, !owners.includes(email)),
	];
	return compareWith("This programme", differences);
}

function inputOf(cells: Cells): OpeningInput<string> {
	const days = cellOf(cells, "approval_days");
	return {
		name: cellOf(cells, "programme"),
		ownerEmail: cellOf(cells, "owner_email"),
		currency: cellOf(cells, "currency"),
		commissionRate: cellOf(cells, "commission"),
		feeRate: cellOf(cells, "fee"),
		approvalDays: /^\d{1,6}$/.test(days) ? Number(days) : Number.NaN,
		parksPixels: readYesNo(cellOf(cells, "parks_pixels")) ?? true,
	};
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
