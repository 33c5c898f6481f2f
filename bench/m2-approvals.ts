// M2 lets a worker approve conversions whose windows have ended, with and without a partner to whom an entry is owed.
// Callbacks are held meanwhile, so that they are written and not sent.

import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { beginPause } from "#core/store/queries/delivery-pause.ts";
import type { Store } from "#core/store/store.ts";
import { type Database, withStore } from "./database.ts";
import { best, rate, ratio } from "./figures.ts";
import { creditAll } from "./seed-money.ts";
import { seedOpenConversions } from "./seed-open-conversions.ts";
import { seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SHOPS = 100;
const REACH = 0.95;
const LOOK_MS = 50;

interface ApprovalScale {
	conversions: number;
	rounds: number;
}

export const m2Approvals = defineWorkload<ApprovalScale>({
	name: "M2",
	title: "approvals",
	measures: "approvals a second at the end of the window, with entries in the accounts of partners ÷ without",
	scales: {
		full: { conversions: 40_000, rounds: 3 },
		short: { conversions: 15_000, rounds: 1 },
		smoke: { conversions: 2_000, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const rates: Record<"with" | "without", number[]> = { with: [], without: [] };
			for (let round = 1; round <= scale.rounds; round++) {
				for (const side of ["without", "with"] as const) {
					const perSecond = await measureApprovals(kind, scale.conversions, side === "with", tools);
					rates[side].push(perSecond);
					tools.say(
						`round ${round} of ${scale.rounds}: ${kind} ${Math.round(perSecond)} approvals a second ${side} entries`,
					);
				}
			}
			figures.push(
				rate(`${kind}: approvals without entries`, rates.without),
				rate(`${kind}: approvals with entries`, rates.with),
				ratio(`${kind}: approvals with entries ÷ without`, best(rates.with) / best(rates.without), {
					atLeast: REACH,
				}),
			);
		}
		return figures;
	},
});

function measureApprovals(
	kind: Database,
	conversions: number,
	isCredited: boolean,
	tools: Tools,
): Promise<number> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const { caFile, url: urlOf } = await tools.receiver();
		return withStore(databaseUrl, async (store) => {
			const shops = await seedShops(store, SHOPS, urlOf);
			await seedOpenConversions(store, conversions, shops, Date.now() - 1_000);
			if (isCredited) await creditAll(store.db, shops);
			await beginPause(store.db, null, Date.now());
			if (store.kind === "postgres") await sql`vacuum analyze`.execute(store.db);
			await tools.beginPhase();
			const service = await tools.startService({ databaseUrl, caFile, role: "worker" });
			try {
				await untilApproved(store);
			} finally {
				await service.stop();
			}
			return readRate(store);
		});
	});
}

async function untilApproved({ db }: Store): Promise<void> {
	const open = db.selectFrom("conversions").select("id").where("status", "=", "RECORDED").limit(1);
	while ((await open.executeTakeFirst()) !== undefined) await sleep(LOOK_MS);
}

/**
 * Returns the approvals a second from the start of the first batch until the start of the last one. The start of the
 * service is therefore not counted.
 */
async function readRate({ db }: Store): Promise<number> {
	const { rows } = await sql<Record<"approved" | "first_ms" | "last_ms", number | string>>`
		select count(*) as approved, min(at_ms) as first_ms, (select max(at_ms) from moves) as last_ms from moves
		where at_ms < (select max(at_ms) from moves)`.execute(db);
	const { approved, first_ms, last_ms } = rows[0] ?? {};
	return (1_000 * Number(approved)) / (Number(last_ms) - Number(first_ms));
}
