// Compares the services of two checkouts. Both take turns, and the one that begins changes with each round, so that a
// slow minute of the machine affects both.

import { median } from "./figures.ts";
import { formatCells, formatNumber } from "./table.ts";
import type { Tools } from "./tools.ts";
import type { Figure, Size, Workload } from "./workload.ts";

type Side = "before" | "now";

/** A figure of both checkouts. The n-th values of both come from the same round. */
export interface Compared extends Record<Side, number[]> {
	workload: string;
	what: string;
	unit: Figure["unit"];
}

interface Round {
	size: Size;
	/** Number of the round, from 1. */
	round: number;
	sides: Readonly<Record<Side, Tools>>;
}

/** Runs the workload once for each checkout, and adds the figures to those of the earlier rounds. */
export async function compareCheckouts(
	workload: Workload,
	{ size, round, sides }: Round,
	compared: Compared[],
): Promise<void> {
	const found: Record<Side, Figure[]> = { before: [], now: [] };
	for (const side of round % 2 === 1 ? (["before", "now"] as const) : (["now", "before"] as const)) {
		const { say } = sides[side];
		found[side] = await workload.run(size, { ...sides[side], say: (line) => say(`${side}: ${line}`) });
	}
	for (const { what, unit, value } of found.before) {
		const other = found.now.find((figure) => figure.what === what);
		if (other === undefined) continue;
		let row = compared.find((one) => one.workload === workload.name && one.what === what);
		if (row === undefined) {
			row = { workload: workload.name, what, unit, before: [], now: [] };
			compared.push(row);
		}
		row.before.push(value);
		row.now.push(other.value);
	}
}

const HEAD = ["", "what", "unit", "before", "spread", "now", "spread", "now ÷ before", "spread", "rounds"];

/**
 * Returns a line for each figure, with the medians of both checkouts and the median of the ratios of the rounds. A spread
 * is from the lowest to the highest value.
 */
export function formatComparison(compared: readonly Compared[]): string {
	return formatCells(
		[
			HEAD,
			...compared.map(({ workload, what, unit, before, now }) => {
				const ratios = now.map((value, at) => value / (before[at] ?? Number.NaN));
				const figures = [before, now, ratios].flatMap((values) => [
					formatNumber(median(values)),
					`${formatNumber(Math.min(...values))}–${formatNumber(Math.max(...values))}`,
				]);
				return [workload, what, unit, ...figures, String(ratios.length)];
			}),
		],
		(column) => column > 2,
	);
}
