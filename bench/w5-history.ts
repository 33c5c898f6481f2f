// W5 repeats W1 with millions of finished deliveries in the tables, compared with W1 on empty tables.

import { sql } from "kysely";
import { type Database, withStore } from "./database.ts";
import { best, rate, ratio } from "./figures.ts";
import { seedHistory } from "./seed-history.ts";
import { seedShops } from "./seed-shops.ts";
import { drainOn } from "./w1-drain.ts";
import { defineWorkload } from "./workload.ts";

const SHOPS = 100;
const REACH = 0.9;

interface HistoryScale {
	/** Number of conversions in the history. Each has two finished deliveries. */
	conversions: number;
	deliveries: number;
	rounds: number;
}

export const w5History = defineWorkload<HistoryScale>({
	name: "W5",
	title: "history",
	measures: "W1 with 5 million finished deliveries in the tables ÷ W1 on empty ones",
	scales: {
		full: { conversions: 2_500_000, deliveries: 100_000, rounds: 2 },
		short: { conversions: 20_000, deliveries: 5_000, rounds: 1 },
		smoke: { conversions: 500, deliveries: 200, rounds: 1 },
	},
	async run({ conversions, deliveries, rounds }, tools) {
		const figures = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const empty: number[] = [];
			const full: number[] = [];
			for (let round = 1; round <= rounds; round++) {
				empty.push((await drainOn(kind, tools, deliveries)).perSecond);
				const fill = (url: string) => fillHistory(kind, url, conversions, tools.say);
				full.push((await drainOn(kind, tools, deliveries, fill)).perSecond);
				tools.say(
					`round ${round} of ${rounds}: ${kind} empty ${Math.round(empty.at(-1) ?? 0)}, with history ${Math.round(full.at(-1) ?? 0)} a second`,
				);
			}
			figures.push(
				rate(`${kind}, empty`, empty),
				rate(`${kind}, with history`, full),
				ratio(`${kind}: with history ÷ empty`, best(full) / best(empty), { atLeast: REACH }),
			);
		}
		return figures;
	},
});

async function fillHistory(
	kind: Database,
	databaseUrl: string,
	conversions: number,
	say: (line: string) => void,
): Promise<void> {
	await withStore(databaseUrl, async (store) => {
		const [large, ...small] = await seedShops(
			store,
			SHOPS,
			(shop) => `https://shop-${shop}.example/postback`,
		);
		if (large === undefined) throw new Error("there is no shop");
		await seedHistory(store.db, { conversions, large, small, endsAtMs: Date.now() }, say);
		if (kind === "SQLite") return;
		// The history was inserted with explicit ids, so the sequences are set to the next free id.
		for (const table of ["conversions", "events", "moves"] as const) {
			await sql`select setval(pg_get_serial_sequence(${table}, 'id'), (select coalesce(max(id), 1) from ${sql.table(table)}))`.execute(
				store.db,
			);
		}
		await sql`vacuum analyze`.execute(store.db);
	});
}
