// Compares the services of two checkouts. Both take turns with each phase of a workload, and the one that begins changes
// with each round, so that a slow minute of the machine affects both.

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
	const takeTurns = createTurns();
	const runs = new Map(
		(round % 2 === 1 ? (["before", "now"] as const) : (["now", "before"] as const)).map((side) => {
			const { say, ...tools } = sides[side];
			const named = (line: string): void => say(`${workload.name} ${side}: ${line}`);
			return [
				side,
				takeTurns((beginPhase) => workload.run(size, { ...tools, beginPhase, say: named })),
			] as const;
		}),
	);
	// If one run fails, the other one must still end, because it uses the databases.
	await Promise.allSettled(runs.values());
	const [before = [], now = []] = await Promise.all([runs.get("before"), runs.get("now")]);
	for (const { what, unit, value } of before) {
		const other = now.find((figure) => figure.what === what);
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

type RunInTurns = <Answer>(work: (beginPhase: () => Promise<void>) => Promise<Answer>) => Promise<Answer>;

/**
 * Returns a function that runs one piece of work at a time. `beginPhase` lets the waiting pieces of work go
 * first.
 */
function createTurns(): RunInTurns {
	let lastTurn: Promise<void> = Promise.resolve();
	const waitForTurn = async (): Promise<() => void> => {
		const turnBefore = lastTurn;
		const { promise, resolve } = Promise.withResolvers<void>();
		lastTurn = promise;
		await turnBefore;
		return resolve;
	};
	return async (work) => {
		let endTurn = await waitForTurn();
		try {
			return await work(async () => {
				const nextTurn = waitForTurn();
				endTurn();
				endTurn = await nextTurn;
			});
		} finally {
			endTurn();
		}
	};
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
