// Two processes that owe events to the same two shops at the same moment, each in several rounds: both get through.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { CompiledQuery } from "kysely";
import { decisionRequest } from "../../src/conversions/decide-by-order.ts";
import { judgeAndMove } from "../../src/conversions/judge-and-move.ts";
import { reportRequest } from "../../src/conversions/record.ts";
import { createRandom } from "../../src/outside/random.ts";
import type { Programme } from "../../src/store/programmes.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addConversion, addProgramme } from "../support/rows.ts";

const deps = { clock: createClock(), random: createRandom() };

/** Waits before its first change of a conversion, which is in the second round. */
function pauseInSecondRound(trx: Db, pause: () => Promise<void>): Db {
	const paused = trx.withPlugin({
		transformQuery: ({ node }) => node,
		transformResult: async ({ result }) => result,
	});
	const executeQuery = paused.executeQuery.bind(paused);
	Object.assign(paused, {
		executeQuery: async (query: CompiledQuery) => {
			if (query.sql.includes("update conversions")) await pause();
			return executeQuery(query);
		},
	});
	return paused;
}

eachDatabase("lanes that two processes mark", (database) => {
	if (database.kind !== "PostgreSQL") return; // SQLite has one writer.

	test("neither waits for a lane that the other marked in an earlier round", async () => {
		const { store, rival } = database;
		const [first, second] = [await addProgramme(store), await addProgramme(store)];
		const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];

		/** First round: a new sale of one shop, and a repeated one of the other; second round: that one is approved. */
		async function work(process: Store, number: 0 | 1, selling: Programme, approving: Programme) {
			const known = await addConversion(store, approving.id, { status: "RECORDED", source: "postback" });
			const order = { orderId: known.order_id, eventType: known.event_type };
			const report = { source: "postback", basketValue: "1.00", occurredAtMs: null, isTest: false } as const;
			const sold = { orderId: `sold by ${number}`, eventType: "SALE" } as const;
			return process.transact((trx) =>
				judgeAndMove<object>(
					pauseInSecondRound(trx, async () => {
						arrived[number]?.resolve();
						await arrived[1 - number]?.promise;
					}),
					deps,
					[
						reportRequest(deps, selling, { ...report, ...sold }),
						reportRequest(deps, approving, { ...report, ...order }),
						decisionRequest(approving, order, { move: "approve", decidedBy: "shop" }),
					],
				),
			);
		}

		const both = await Promise.all([work(store, 0, first, second), work(rival, 1, second, first)]);
		for (const { results, owedProgrammeIds } of both) {
			equal(results.filter(({ ok }) => ok).length, 3);
			deepEqual([...owedProgrammeIds].sort(), [first.id, second.id].sort());
		}
		const lanes = store.db.selectFrom("lanes").select(["receiver_id", "next_due_ms"]);
		deepEqual(
			await lanes.where("receiver_id", "in", [first.id, second.id]).orderBy("receiver_id").execute(),
			[first.id, second.id].map((id) => ({ receiver_id: id, next_due_ms: START_MS })),
		);
	});
});
