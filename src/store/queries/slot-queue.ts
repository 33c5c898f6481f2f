// The rows of engines and slots. Both databases share this code, except for the clock that counts and for row locks. Rows
// that another engine has locked are skipped (SKIP LOCKED), because the next renewal finds them again.

import { type RawBuilder, sql } from "kysely";
import { SECOND_MS } from "../../domain/time.ts";
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

/** A lease of 1.0.0 is good for 30 s. One that is good for longer was written by a clock that is ahead: it is not believed. */
const BELIEVED_MS = 40 * SECOND_MS;
/** For engines of 1.0.0, which must never find that the lease of one of ours has lapsed. */
const FOR_OLD_ENGINES = { good_until_ms: Number.MAX_SAFE_INTEGER, held: 0 };

export function createSlotQueue(
	/** Returns the time by the database's clock if it has one, or else `nowMs`. */
	now: (nowMs: number) => RawBuilder<number>,
	takeFreeRows: RawBuilder<unknown>,
	lockRow: RawBuilder<unknown>,
): SlotQueue {
	const isOldAndGood = (nowMs: number) =>
		sql<boolean>`(renewed_at_ms is null
			and good_until_ms between ${now(nowMs)} and ${now(nowMs)} + ${sql.lit(BELIEVED_MS)})`;
	const isSilent = (nowMs: number) =>
		// A renewal in the future means that the clock was set back since. Such an engine counts as silent, because nobody knows
		// when it was last seen.
		sql<boolean>`(renewed_at_ms not between ${now(nowMs)} - ${sql.lit(SILENT_MS)} and ${now(nowMs)} + ${sql.lit(SILENT_MS)}
			or (renewed_at_ms is null and not ${isOldAndGood(nowMs)}))`;
	return {
		async register(db, engineId, mostInFlight, nowMs) {
			const row = { id: engineId, renewed_at_ms: now(nowMs), most_in_flight: mostInFlight };
			await db
				.insertInto("engines")
				.values({ ...row, ...FOR_OLD_ENGINES })
				.execute();
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
			const silent = trx.selectFrom("engines").select("id").where(isSilent(nowMs)).modifyEnd(takeFreeRows);
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
			const inMs = sql<number | null>`renewed_at_ms + ${sql.lit(SILENT_MS)} - ${now(nowMs)}`;
			const engines = await trx
				.selectFrom("engines")
				.select(["id", "most_in_flight", inMs.as("silentInMs"), isOldAndGood(nowMs).as("isBeforeSlots")])
				.execute();
			const slots = await trx.selectFrom("slots").select(["slot", "engine_id"]).execute();
			const others = engines.filter(({ id }) => id !== engineId);
			const silentIn = others.flatMap(({ silentInMs }) => (silentInMs === null ? [] : [silentInMs]));
			return {
				engines: 1 + others.filter(({ most_in_flight }) => most_in_flight !== null).length,
				mine: slots.filter(({ engine_id }) => engine_id === engineId).map(({ slot }) => slot),
				free: slots.filter(({ engine_id }) => engine_id === null).length,
				nextSilentInMs: silentIn.length === 0 ? null : Math.min(...silentIn),
				isBeforeSlots: others.some(({ isBeforeSlots }) => Boolean(isBeforeSlots)),
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
