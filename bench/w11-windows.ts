// W11 approves a batch of conversions among a million open ones. On PostgreSQL it is measured with statistics
// that are fresh, missing, or wrong because the status was rare when they were collected. The slowest of a
// few batches counts.

import { sql } from "kysely";
import { approveDue } from "#core/conversions/end-windows.ts";
import type { Store } from "#core/store/store.ts";
import { CHANGES } from "../src/modules.ts";
import { realClock } from "../src/outside/clock.ts";
import { createRandom } from "../src/outside/random.ts";
import { type Database, withStore } from "./database.ts";
import { seedOpenConversions } from "./seed-open-conversions.ts";
import { type SeededShop, seedShops } from "./seed-shops.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const PROGRAMMES = 100;
const PAGES = 5;
const REACH_MS = 100;
const random = createRandom();

type Statistics = "fresh" | "missing" | "wrong";

export const w11Windows = defineWorkload<{ conversions: number }>({
	name: "W11",
	title: "windows",
	measures: "a page of 500 approvals, 1,000,000 conversions open, statistics fresh, missing and wrong",
	runsOwnSources: true,
	scales: { full: { conversions: 1_000_000 }, short: { conversions: 20_000 }, smoke: { conversions: 3_000 } },
	async run({ conversions }, { withDatabase, say }) {
		const cases: readonly (readonly [Database, Statistics])[] = [
			["SQLite", "missing"],
			["PostgreSQL", "fresh"],
			["PostgreSQL", "missing"],
			["PostgreSQL", "wrong"],
		];
		const figures: Figure[] = [];
		for (const [kind, statistics] of cases) {
			const what = kind === "SQLite" ? kind : `${kind}, statistics ${statistics}`;
			const rounds = await withDatabase(kind, (url) =>
				withStore(url, async (store) => {
					await fill(store, kind, statistics, conversions);
					return timePages(store);
				}),
			);
			say(`${what}: ${rounds.map((ms) => ms.toFixed(0)).join(", ")} ms`);
			figures.push({ what, value: Math.max(...rounds), unit: "ms", goal: { atMost: REACH_MS }, rounds });
		}
		return figures;
	},
});

async function fill(
	store: Store,
	kind: Database,
	statistics: Statistics,
	conversions: number,
): Promise<void> {
	const shops = await seedShops(store, PROGRAMMES, (shop) => `https://shop-${shop}.example/postback`);
	// No other workload analyses these tables.
	if (kind === "PostgreSQL") {
		await sql`alter table conversions set (autovacuum_enabled = false)`.execute(store.db);
	}
	if (statistics === "wrong") await makeStatusRare(store, shops, Math.ceil(conversions / 10));
	await seedOpenConversions(store, conversions, shops, Date.now() - 1_000);
	if (statistics === "fresh") await sql`analyze`.execute(store.db);
}

/** Makes the planner believe that nearly all conversions are approved, as after a quiet month. */
async function makeStatusRare(store: Store, shops: readonly SeededShop[], count: number): Promise<void> {
	await seedOpenConversions(store, count, shops, Date.now());
	await sql`update conversions set status = 'APPROVED', window_ends_at_ms = null, public_id = 'old_' || public_id,
		order_id = 'OLD-' || order_id where id % 20000 <> 0`.execute(store.db);
	await sql`update conversions set public_id = 'old_' || public_id, order_id = 'OLD-' || order_id
		where id % 20000 = 0`.execute(store.db);
	await sql`analyze`.execute(store.db);
}

async function timePages(store: Store): Promise<number[]> {
	const rounds: number[] = [];
	for (let page = 0; page < PAGES; page++) {
		let looks = 0;
		const startedAt = performance.now();
		const approved = await approveDue(
			{ store, clock: realClock, random, changes: CHANGES },
			() => looks++ > 0,
		);
		rounds.push(performance.now() - startedAt);
		if (approved === 0) throw new Error("nothing was approved");
	}
	return rounds;
}
