// Provides the parts that the workloads about sale reports share: a database with shops, the process that takes
// their calls, and the figures of a load.

import { type CallCost, costFigures, measureCost, totalMicros } from "./call-cost.ts";
import { type Database, withStore } from "./database.ts";
import { wait } from "./figures.ts";
import { type LoadAnswer, writeShops } from "./load-process.ts";
import { seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import type { Figure } from "./workload.ts";

const SHOPS = 100;

interface Shops {
	databaseUrl: string;
	shopsFile: string;
	caFile: string;
}

export interface Intake extends Shops {
	url: string;
	/** Runs a load of this number of calls as a phase of its own, and measures its processor time. */
	measure<Answer extends LoadAnswer>(calls: number, load: () => Promise<Answer>): Promise<Answer & Costing>;
}

interface Costing {
	cost: CallCost;
}

export type MeasuredLoad = LoadAnswer & Costing;

export function withShops<Answer>(
	kind: Database,
	tools: Tools,
	work: (shops: Shops) => Promise<Answer>,
): Promise<Answer> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const { caFile, url: urlOf } = await tools.receiver();
		const shops = await withStore(databaseUrl, (store) => seedShops(store, SHOPS, urlOf));
		return work({ databaseUrl, shopsFile: writeShops(tools.folder, shops), caFile });
	});
}

/** Runs the work beside a service with the role web, which sends no callbacks. */
export function withIntake<Answer>(
	kind: Database,
	tools: Tools,
	work: (intake: Intake) => Promise<Answer>,
	more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
	return withShops(kind, tools, async (shops) => {
		const { databaseUrl, caFile } = shops;
		const { url, pid, stop } = await tools.startService({ databaseUrl, caFile, role: "web", more });
		try {
			return await work({
				...shops,
				url,
				async measure(calls, load) {
					await tools.beginPhase();
					return measureCost({ kind, databaseUrl, pid }, calls, load);
				},
			});
		} finally {
			await stop();
		}
	});
}

export function ratesOf(loads: readonly LoadAnswer[]): number[] {
	return loads.map(({ perSecond }) => perSecond);
}

/** Returns the waits for an answer and the processor time of a call. */
export function callFigures(what: string, loads: readonly MeasuredLoad[]): Figure[] {
	const waits = (read: (load: LoadAnswer) => number): number[] => loads.map(read);
	return [
		wait(
			`${what}: p50 of the answer`,
			waits(({ p50Ms }) => p50Ms),
		),
		wait(
			`${what}: p99 of the answer`,
			waits(({ p99Ms }) => p99Ms),
		),
		...costFigures(
			what,
			loads.map(({ cost }) => cost),
		),
	];
}

/** Describes the result of a load in one line, for the progress output. */
export function loadWords(load: LoadAnswer | MeasuredLoad): string {
	const { perSecond, p50Ms, p99Ms } = load;
	const cost = "cost" in load ? `, ${Math.round(totalMicros(load.cost))} µs` : "";
	return `${Math.round(perSecond)} a second, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms${cost}`;
}
