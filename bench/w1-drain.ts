// W1 sends the due deliveries of 100 programmes to one fast receiver and stores their results durably. It is
// compared with the "bare loop" (bare-loop.ts), a program that only signs and posts, and so shows the limit
// of the machine. The measurements take turns: bare loop, SQLite, PostgreSQL, bare loop, and so on.

import { runBareLoop } from "./bare-loop-process.ts";
import { type Database, withStore } from "./database.ts";
import { type DrainAnswer, drain } from "./drain.ts";
import { best, least, rate, ratio } from "./figures.ts";
import { seedDue } from "./seed-due.ts";
import { receiverAt, seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

export const PROGRAMMES = 100;
const REACH = { SQLite: 0.8, PostgreSQL: 0.7 } as const;

export interface DrainScale {
	deliveries: number;
	rounds: number;
}

export const w1Drain = defineWorkload<DrainScale>({
	name: "W1",
	title: "drain",
	measures: "100,000 due deliveries over 100 programmes, results stored ÷ a bare loop that signs and posts",
	scales: {
		full: { deliveries: 100_000, rounds: 3 },
		short: { deliveries: 5_000, rounds: 1 },
		smoke: { deliveries: 200, rounds: 1 },
	},
	async run({ deliveries, rounds }, tools) {
		const receiver = await tools.receiver();
		const bare: number[] = [];
		const drains: Record<Database, DrainAnswer[]> = { SQLite: [], PostgreSQL: [] };
		for (let round = 1; round <= rounds; round++) {
			const limit = await runBareLoop(receiver, deliveries);
			bare.push(limit.perSecond);
			tools.say(`round ${round} of ${rounds}: bare loop ${Math.round(limit.perSecond)} a second`);
			for (const kind of ["SQLite", "PostgreSQL"] as const) {
				const answer = await drainOn(kind, tools, deliveries);
				drains[kind].push(answer);
				tools.say(`round ${round} of ${rounds}: ${kind} ${Math.round(answer.perSecond)} a second`);
			}
		}
		return [
			rate("bare loop (the limit)", bare),
			...drainFigures("SQLite", drains.SQLite, best(bare)),
			...drainFigures("PostgreSQL", drains.PostgreSQL, best(bare)),
		];
	},
});

/** Runs one round on a database of its own. `fill` adds rows before the due deliveries. */
export function drainOn(
	kind: Database,
	tools: Tools,
	deliveries: number,
	fill: (databaseUrl: string) => Promise<void> = async () => undefined,
): Promise<DrainAnswer> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const receiver = await tools.receiver();
		await fill(databaseUrl);
		await seedDrain(databaseUrl, deliveries, receiver.url, tools.say);
		const answer = await drain({ databaseUrl, receiver, deliveries, tools });
		if (answer.requests !== deliveries)
			throw new Error(`${answer.requests} requests for ${deliveries} deliveries`);
		return answer;
	});
}

/** Creates due deliveries, evenly distributed over the programmes. */
export async function seedDrain(
	databaseUrl: string,
	deliveries: number,
	urlOf: (shop: number) => string,
	say: (line: string) => void,
	dueAtMs = Date.now() - 1_000,
): Promise<void> {
	await withStore(databaseUrl, async (store) => {
		const shops = await seedShops(store, PROGRAMMES, urlOf);
		const firstNumber = FIRST_NUMBER;
		const due = (number: number) => ({ receiverId: receiverAt(shops, number), dueAtMs });
		await seedDue(store, deliveries, due, { firstNumber, say });
	});
}

/** Number of the first conversion. It is higher than the numbers in any history. */
const FIRST_NUMBER = 100_000_000;

function drainFigures(kind: Database, answers: readonly DrainAnswer[], limit: number): Figure[] {
	const rounds = answers.map(({ perSecond }) => perSecond);
	return [
		rate(kind, rounds),
		ratio(`${kind} ÷ bare loop`, best(rounds) / limit, { atLeast: REACH[kind] }),
		{
			what: `${kind}: processor time of the service`,
			value: least(answers.map(({ cpuMicros }) => cpuMicros)),
			unit: "µs",
			goal: null,
		},
	];
}
