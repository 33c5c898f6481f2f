// Queries for the rows of engines and slots. Both databases share this code, except for the clock and for row locks.
// Rows that another engine has locked are skipped (SKIP LOCKED), because the next renewal finds them again.

import { type RawBuilder, sql } from "kysely";
import { type Queue, type RemovedEngine, SILENT_MS } from "./queue.ts";

type SlotQueue = Pick<
	Queue,
	| "register"
	| "beginPass"
	| "removeSilentEngines"
	| "readSlots"
	| "takeSlots"
	| "giveUpSlots"
	| "removeEngine"
>;

export function createSlotQueue(
	/** Returns the time of the database's clock if it has one, or else `nowMs`. */
	now: (nowMs: number) => RawBuilder<number>,
	takeFreeRows: RawBuilder<unknown>,
	lockRow: RawBuilder<unknown>,
	/** Returns the ids of engines whose processes are known to have ended. */
	findEnded: () => readonly number[] = () => [],
): SlotQueue {
	// A renewal time in the future means that the clock was set back, so nobody knows when the engine was last seen.
	const isSilent = (nowMs: number) =>
		sql<boolean>`renewed_at_ms not between ${now(nowMs)} - ${sql.lit(SILENT_MS)}
			and ${now(nowMs)} + ${sql.lit(SILENT_MS)}`;
	return {
		async register(db, engineId, mostInFlight, nowMs) {
			const row = { id: engineId, renewed_at_ms: now(nowMs), most_in_flight: mostInFlight };
			await db.insertInto("engines").values(row).execute();
		},
		async beginPass(trx, engineId, renewal) {
			if (renewal === null) {
				const row = trx.selectFrom("engines").select("id").where("id", "=", engineId);
				return (await row.modifyEnd(lockRow).executeTakeFirst()) !== undefined;
			}
			const row = { renewed_at_ms: now(renewal.nowMs), most_in_flight: renewal.mostInFlight };
			const renew = trx.updateTable("engines").set(row);
			const { numUpdatedRows } = await renew.where("id", "=", engineId).executeTakeFirstOrThrow();
			return numUpdatedRows > 0n;
		},
		async removeSilentEngines(trx, nowMs) {
			const ended = findEnded();
			const silent = trx
				.selectFrom("engines")
				.select("id")
				.where((eb) =>
					ended.length === 0 ? isSilent(nowMs) : eb.or([isSilent(nowMs), eb("id", "in", ended)]),
				)
				.modifyEnd(takeFreeRows);
			const removed: RemovedEngine[] = await trx
				.deleteFrom("engines")
				.where("id", "in", silent)
				.returning(["id as engineId", "renewed_at_ms as renewedAtMs", "most_in_flight as mostInFlight"])
				.execute();
			const ids = removed.map(({ engineId }) => engineId);
			if (ids.length > 0)
				await trx.updateTable("slots").set({ engine_id: null }).where("engine_id", "in", ids).execute();
			return removed;
		},
		async readSlots(trx, engineId, nowMs) {
			const silentInMs = sql<number>`renewed_at_ms + ${sql.lit(SILENT_MS)} - ${now(nowMs)}`;
			const engines = await trx
				.selectFrom("engines")
				.select(["id", "most_in_flight", silentInMs.as("silentInMs")])
				.execute();
			const slots = await trx.selectFrom("slots").select(["slot", "engine_id"]).execute();
			const others = engines.filter(({ id }) => id !== engineId);
			const silentIn = others.map((other) => other.silentInMs);
			return {
				engines: 1 + others.filter(({ most_in_flight }) => most_in_flight !== null).length,
				mine: slots.filter(({ engine_id }) => engine_id === engineId).map(({ slot }) => slot),
				free: slots.filter(({ engine_id }) => engine_id === null).length,
				nextSilentInMs: silentIn.length === 0 ? null : Math.min(...silentIn),
			};
		},
		async takeSlots(trx, engineId, count) {
			const free = trx.selectFrom("slots").select("slot").where("engine_id", "is", null);
			const newSlots = await trx
				.updateTable("slots")
				.set({ engine_id: engineId })
				.where("slot", "in", free.orderBy("slot").limit(count).modifyEnd(takeFreeRows))
				.returning("slot")
				.execute();
			return newSlots.map(({ slot }) => slot);
		},
		async giveUpSlots(trx, engineId, slots) {
			if (slots.length === 0) return;
			const owned = trx.updateTable("slots").set({ engine_id: null }).where("engine_id", "=", engineId);
			await owned.where("slot", "in", slots).execute();
		},
		async removeEngine(trx, engineId) {
			await trx.updateTable("slots").set({ engine_id: null }).where("engine_id", "=", engineId).execute();
			await trx.deleteFrom("engines").where("id", "=", engineId).execute();
		},
	};
}
