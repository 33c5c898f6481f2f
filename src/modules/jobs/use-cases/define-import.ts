// Definitions that the imports of partner links and of coupon codes share. Each line names an active
// partnership, which gets a link or a code unless it has it already.

import { BATCH_ROWS } from "#core/conversions/deps.ts";
import { noteAudits } from "#core/store/queries/audit.ts";
import type { Db } from "#core/store/store.ts";
import {
	type ApplyDeps,
	type Cells,
	IMPORT_WORDS,
	type ImportKind,
	type JobRow,
	MAX_IMPORTED_ROWS,
	needsFixing,
	type ReadLine,
	type RowVerdict,
	refuseLine,
	willChange,
} from "./kind.ts";
import {
	type ActiveAgreement,
	findNamedAgreements,
	lockNamedPartnerships,
	requireActive,
} from "./named-partners.ts";

/** Maximum number of links or codes that one audit entry names. */
const MAX_NAMED = 50;

/**
 * Content of a line: a partnership with its programme, and the code of the link or the coupon code that the
 * partnership gets.
 */
export interface Meant extends ActiveAgreement {
	code: string;
}

export interface Import<Line extends Meant, Rules, Present>
	extends Pick<
		ImportKind,
		"name" | "noun" | "hint" | "importSummary" | "columns" | "example" | "advice" | "keyOf"
	> {
	/** Loads the rules of these programmes that are needed to read a line. */
	find(db: Db, programmeIds: readonly number[]): Promise<Rules>;
	read(cells: Cells, agreement: ActiveAgreement, rules: Rules): ReadLine<Line>;
	/** Loads the stored links or codes with which the lines are compared. */
	findPresent(db: Db, lines: readonly Line[]): Promise<Present>;
	/**
	 * Returns the verdict on a line that adds nothing, or null. The caller passes one line after the other, and
	 * each call records in `present` what its line will add.
	 */
	compare(line: Line, present: Present): RowVerdict | null;
	/**
	 * Creates the links or codes of the lines. The returned function says whether that of a line was created,
	 * because another person can create the same code first.
	 */
	make(trx: Db, lines: readonly Line[], nowMs: number): Promise<(line: Line) => boolean>;
	/** Returns the sentence for a line whose code another person has created first. */
	sayTaken(line: Line): string;
}

interface Judged<Line> {
	verdict: RowVerdict;
	/** The line whose link or code must be created, or null if the line adds nothing. */
	line: Line | null;
}

export function defineImport<Line extends Meant, Rules, Present>(
	definition: Import<Line, Rules, Present>,
): ImportKind {
	const { find, read, findPresent, compare, make, sayTaken, ...described } = definition;

	async function judge(db: Db, rows: readonly JobRow[]): Promise<Judged<Line>[]> {
		const agreementOf = await findNamedAgreements(db, rows);
		const named = rows.map(({ cells }) => ({ cells, agreement: requireActive(agreementOf(cells)) }));
		const programmeIds = named.flatMap(({ agreement }) =>
			agreement.ok ? [agreement.value.programme.id] : [],
		);
		const rules = await find(db, [...new Set(programmeIds)]);
		const results = named.map(({ cells, agreement }) =>
			agreement.ok ? read(cells, agreement.value, rules) : agreement,
		);
		const present = await findPresent(
			db,
			results.flatMap((result) => (result.ok ? [result.value] : [])),
		);
		return results.map((result) => {
			if (!result.ok) return { verdict: refuseLine(result), line: null };
			const verdict = compare(result.value, present);
			return verdict === null ? { verdict: willChange(null), line: result.value } : { verdict, line: null };
		});
	}

	return {
		...described,
		resultWords: IMPORT_WORDS,
		maxRows: MAX_IMPORTED_ROWS,
		batchRows: BATCH_ROWS,
		makesPeople: false,
		judge: async (db, _, rows) => (await judge(db, rows)).map(({ verdict }) => verdict),
		async apply(trx, deps, rows) {
			// The partnerships are locked before the lines are judged, so that none of them ends meanwhile. Pages
			// also lock a partnership before they add a code to it.
			await lockNamedPartnerships(trx, rows);
			const judged = await judge(trx, rows);
			const lines = judged.flatMap(({ line }) => line ?? []);
			const isMade = await make(trx, lines, deps.clock.nowMs());
			await noteImported(trx, deps, definition.name, lines.filter(isMade));
			return judged.map(({ verdict, line }) =>
				line === null || isMade(line) ? verdict : needsFixing(sayTaken(line)),
			);
		},
	};
}

/** Writes one audit entry for each partnership of a batch, because a file may have hundreds of thousands of lines. */
async function noteImported(
	trx: Db,
	{ clock, personId }: ApplyDeps,
	noun: string,
	imported: readonly Meant[],
): Promise<void> {
	const byPartnership = Map.groupBy(imported, ({ partnership }) => partnership);
	const notes = [...byPartnership].map(([{ public_id, programme_id, partner_name }, lines]) => {
		const codes = lines.slice(0, MAX_NAMED).map(({ code }) => code);
		const rest = lines.length > MAX_NAMED ? ` and ${lines.length - MAX_NAMED} more` : "";
		return {
			personId,
			programmeId: programme_id,
			action: "partnership.changed" as const,
			subject: public_id,
			detail: `${partner_name}; ${noun} imported: ${codes.join(", ")}${rest}`,
		};
	});
	await noteAudits(trx, notes, clock.nowMs());
}
