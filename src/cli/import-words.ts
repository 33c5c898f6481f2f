// What an import would do or has done, as text.

import type { ImportKind } from "../jobs/import-kind.ts";
import type { ImportSummary } from "../jobs/summary.ts";

export interface SummaryView {
	kind: ImportKind;
	/** The file's. */
	name: string;
	summary: ImportSummary;
	isApplied: boolean;
	/** What to do next. */
	next?: string | undefined;
}

export function describeSummary({ kind, name, summary, isApplied, next }: SummaryView): string {
	const { rows, counts, money, problems } = summary;
	const width = String(rows).length;
	const countLine = (label: string, count: number) =>
		`  ${label.padEnd(16)}  ${String(count).padStart(width)}`;
	const moreProblems = counts.refused - problems.length;
	return [
		`${name}: ${rows} ${rows === 1 ? "line" : "lines"} about ${kind.noun[1]}`,
		countLine(isApplied ? "Imported" : "Will be imported", counts.import),
		countLine("No change needed", counts.already),
		countLine("Needs fixing", counts.refused),
		...money.map(
			(total) =>
				`  ${total.status.toLowerCase().padEnd(8)}  ${total.rows} ${total.rows === 1 ? "conversion" : "conversions"}, amount ${total.basket}, commission ${total.commission}, fee ${total.fee} ${total.currency}`,
		),
		...(problems.length === 0 ? [] : ["Needs fixing:"]),
		...problems.map(({ line, detail }) => `  line ${line}: ${detail}`),
		...(moreProblems > 0 ? [`  and ${moreProblems} more: --result FILE writes all of them`] : []),
		...(isApplied || counts.import === 0 ? [] : [kind.advice]),
		...(next === undefined ? [] : [next]),
	].join("\n");
}
