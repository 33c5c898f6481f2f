// W9 runs W1 on PostgreSQL with two service processes, compared with one. Nothing may be sent twice, and no
// shop may see more requests at once than its limit. The receiver takes five milliseconds to answer, so that
// requests of one shop can overlap.

import { HOUR_MS } from "#core/domain/time.ts";
import { withStore } from "./database.ts";
import { drain } from "./drain.ts";
import { best, rate, ratio } from "./figures.ts";
import { startReceiver } from "./receiver-process.ts";
import type { Tools } from "./tools.ts";
import { type DrainScale, seedDrain } from "./w1-drain.ts";
import { defineWorkload, type Figure } from "./workload.ts";

/** Limit of requests in flight per shop, the default of the service (config.ts). */
const CAP = 8;
/**
 * Goal for the ratio on two cores, which a single process with its database, its receiver and the benchmark
 * already keeps busy.
 */
const REACH = 0.95;

interface ProcessesAnswer {
	perSecond: number;
	twice: number;
	mostAtOnce: number;
	retried: number;
}

export const w9Processes = defineWorkload<DrainScale>({
	name: "W9",
	title: "processes",
	measures: "W1 on PostgreSQL with two processes: rate ÷ one process, nothing twice, a shop's cap over both",
	scales: {
		full: { deliveries: 50_000, rounds: 3 },
		short: { deliveries: 5_000, rounds: 1 },
		smoke: { deliveries: 200, rounds: 1 },
	},
	async run({ deliveries, rounds }, tools) {
		const one: ProcessesAnswer[] = [];
		const two: ProcessesAnswer[] = [];
		for (let round = 1; round <= rounds; round++) {
			one.push(await drainWith(1, deliveries, tools));
			two.push(await drainWith(2, deliveries, tools));
			tools.say(
				`round ${round} of ${rounds}: one ${Math.round(one.at(-1)?.perSecond ?? 0)}, two ${Math.round(two.at(-1)?.perSecond ?? 0)} a second`,
			);
		}
		const rates = (answers: readonly ProcessesAnswer[]): number[] =>
			answers.map(({ perSecond }) => perSecond);
		const worst = (name: "twice" | "mostAtOnce" | "retried"): number =>
			Math.max(...two.map((answer) => answer[name]));
		const count = (
			what: string,
			name: "twice" | "mostAtOnce" | "retried",
			unit: Figure["unit"],
			atMost: number,
		): Figure => ({
			what,
			value: worst(name),
			unit,
			goal: { atMost },
		});
		return [
			rate("one process", rates(one)),
			rate("two processes", rates(two)),
			ratio("two ÷ one", best(rates(two)) / best(rates(one)), { atLeast: REACH }),
			count("sent twice", "twice", "deliveries", 0),
			count("most at once at one shop", "mostAtOnce", "requests", CAP),
			count("sent again after a timeout", "retried", "attempts", 0),
		];
	},
});

async function drainWith(processes: number, deliveries: number, tools: Tools): Promise<ProcessesAnswer> {
	const receiver = await startReceiver(tools.folder, "watch");
	try {
		return await tools.withDatabase("PostgreSQL", async (databaseUrl) => {
			const urlOf = (shop: number): string => receiver.url(`${shop}/after-5`);
			await seedDrain(databaseUrl, deliveries, urlOf, tools.say, Date.now() + HOUR_MS);
			const release = () => makeDue(databaseUrl);
			const answer = await drain({ databaseUrl, receiver, deliveries, processes, release, tools });
			const { twice, mostAtOnce } = await receiver.count();
			return { perSecond: answer.perSecond, twice, mostAtOnce, retried: answer.retried };
		});
	} finally {
		await receiver.stop();
	}
}

function makeDue(databaseUrl: string): Promise<void> {
	return withStore(databaseUrl, async (store) => {
		await store.db.updateTable("queue").set({ due_at_ms: Date.now() }).execute();
		store.announceRecheck();
	});
}
