// Prints the table at the end of a run: goal, figure, and whether the goal is reached.

import { type Figure, isReached } from "./workload.ts";

export type NamedFigure = Figure & { workload: string; title: string };

const HEAD = ["", "", "what", "figure", "goal", ""];
/** Columns with numbers, which are aligned to the right. */
const RIGHT = new Set([3, 4]);

export function formatTable(figures: readonly NamedFigure[]): string {
	return formatCells([HEAD, ...figures.map(formatFigure)], (column) => RIGHT.has(column));
}

/** Aligns the cells of all rows. */
export function formatCells(
	rows: readonly (readonly string[])[],
	isRight: (column: number) => boolean,
): string {
	const columns = rows[0] ?? [];
	const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
	const pad = (cell: string, column: number): string =>
		isRight(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
	return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}

function formatFigure(figure: NamedFigure): string[] {
	const { workload, title, what, value, unit, goal } = figure;
	const words = { null: "", true: "reached", false: "short of it" };
	return [
		workload,
		title,
		what,
		`${formatNumber(value)} ${unit}`.trim(),
		goal === null ? "" : "atLeast" in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`,
		words[`${isReached(figure)}`],
	];
}

/** Formats a number with three significant digits, or as a whole number from a hundred on. */
export function formatNumber(value: number): string {
	if (!Number.isFinite(value)) return "–";
	if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
	return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
