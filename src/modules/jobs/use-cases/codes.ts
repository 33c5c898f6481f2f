// Imports coupon codes of partners from other software. Codes are compared as in sale reports, so upper and lower
// case are the same. A code belongs to one partner of a programme.

import { BATCH_ROWS } from "#core/conversions/deps.ts";
import { plainWords, type Result, refuse, succeed } from "#core/domain/fault.ts";
import type { Db } from "#core/store/store.ts";
import { foldCode } from "#modules/partners/domain/credit.ts";
import { countCodes, findCodes, insertCodes } from "#modules/partners/store/coupon-codes.ts";
import { listPartnerships } from "#modules/partners/store/partnerships.ts";
import { MAX_CODES, readCodes } from "#modules/partners/use-cases/partnerships.ts";
import { noteImported } from "./audit-imported.ts";
import { PROGRAMME_COLUMN } from "./imported-sale.ts";
import {
	type ApplyDeps,
	cellOf,
	IMPORT_WORDS,
	type ImportKind,
	type JobRow,
	MAX_IMPORTED_ROWS,
	needsFixing,
	needsNoChange,
	type RowVerdict,
	willChange,
} from "./kind.ts";
import {
	type ActiveAgreement,
	findNamedAgreements,
	lockNamedPartnerships,
	PARTNER_COLUMN,
	requireActive,
} from "./named-partners.ts";

export const CODES_IMPORT: ImportKind = {
	name: "codes",
	noun: ["coupon code", "coupon codes"],
	hint: "One line per coupon code. Sales with the code credit the partner.",
	importSummary: "Imports coupon codes of partners from other software.",
	columns: [
		PARTNER_COLUMN,
		PROGRAMME_COLUMN,
		{ name: "code", means: "The coupon code that buyers enter. Upper and lower case are the same." },
	],
	example: `partner;programme;code
Bergblog;Garden Shop;BERG10
Deal Finder;Garden Shop;DEALS-2026`,
	advice:
		"Sales with these codes credit the partner from now on. Codes can be removed on the partnership's page.",
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: BATCH_ROWS,
	makesPeople: false,
	keyOf: (cells) => [cellOf(cells, "programme"), foldCode(cellOf(cells, "code"))].join("\n"),
	judge: async (db, _, rows) => (await judgeCodes(db, rows)).map(({ verdict }) => verdict),
	apply: applyCodes,
};

interface MeantCode extends ActiveAgreement {
	code: string;
	/** The form in which codes are compared. */
	folded: string;
}

interface JudgedCode {
	verdict: RowVerdict;
	/** The code to add, or null if the line adds none. */
	meant: MeantCode | null;
}

async function judgeCodes(db: Db, rows: readonly JobRow[]): Promise<JudgedCode[]> {
	const agreementOf = await findNamedAgreements(db, rows);
	const read = rows.map((row) => readLine(row, requireActive(agreementOf(row.cells))));
	const meant = read.flatMap((one) => (one.ok ? [one.value] : []));
	const known = await findCodes(
		db,
		[...new Set(meant.map(({ programme }) => programme.id))],
		[...new Set(meant.map(({ folded }) => folded))],
	);
	/** Partnerships by code, with those that earlier lines of this batch add. */
	const owners = new Map(known.map((code) => [keyOf(code.programme_id, code.folded), code.partnership_id]));
	const ids = [...new Set([...owners.values(), ...meant.map(({ partnership }) => partnership.id)])];
	const names = new Map(
		(await listPartnerships(db, "id", ids)).map((found) => [found.id, found.partner_name]),
	);
	const counts = new Map(await countCodes(db, ids));
	return read.map((one) => {
		if (!one.ok) return { verdict: needsFixing(plainWords(one.fault)), meant: null };
		const { programme, partnership, code, folded } = one.value;
		const owner = owners.get(keyOf(programme.id, folded));
		if (owner === partnership.id) return { verdict: needsNoChange(), meant: null };
		if (owner !== undefined) {
			const detail = `The code ${code} belongs to ${names.get(owner) ?? "another partner"} already. Remove it there first, or remove the line.`;
			return { verdict: needsFixing(detail), meant: null };
		}
		const count = counts.get(partnership.id) ?? 0;
		if (count >= MAX_CODES) {
			const detail = `${partnership.partner_name} has ${MAX_CODES} codes in this programme, and no partner has more. Remove some on the partnership's page first.`;
			return { verdict: needsFixing(detail), meant: null };
		}
		counts.set(partnership.id, count + 1);
		owners.set(keyOf(programme.id, folded), partnership.id);
		return { verdict: willChange(null), meant: one.value };
	});
}

function readLine({ cells }: JobRow, agreement: Result<ActiveAgreement>): Result<MeantCode> {
	if (!agreement.ok) return agreement;
	const codes = readCodes(cellOf(cells, "code"));
	if (!codes.ok) return codes;
	const [only, another] = [...codes.value];
	if (only === undefined || another !== undefined) {
		const detail =
			only === undefined
				? "The code is missing."
				: "A line has one code, without commas and semicolons. Write one line for each code.";
		return refuse("invalid_field", detail, "code");
	}
	const [folded, code] = only;
	return succeed({ ...agreement.value, code, folded });
}

function keyOf(programmeId: number, folded: string): string {
	return `${programmeId} ${folded}`;
}

async function applyCodes(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	// The partnerships are locked before the lines are judged. Their forms lock them too, so nobody adds codes
	// meanwhile.
	await lockNamedPartnerships(trx, rows);
	const judged = await judgeCodes(trx, rows);
	const created_at_ms = deps.clock.nowMs();
	const meant = judged.flatMap((one) => one.meant ?? []);
	const inserted = await insertCodes(
		trx,
		meant.map(({ programme, partnership, code, folded }) => ({
			...{ code, folded, created_at_ms },
			programme_id: programme.id,
			partnership_id: partnership.id,
		})),
	);
	const added = new Set(inserted.map(({ programme_id, folded }) => keyOf(programme_id, folded)));
	const isAdded = ({ programme, folded }: MeantCode) => added.has(keyOf(programme.id, folded));
	await noteImported(
		trx,
		deps,
		"codes",
		meant.filter(isAdded).map(({ partnership, code }) => ({ partnership, text: code })),
	);
	return judged.map(({ verdict, meant: code }) =>
		code === null || isAdded(code)
			? verdict
			: needsFixing(`Another partner got the code ${code.code} a moment ago. Remove it there first.`),
	);
}
