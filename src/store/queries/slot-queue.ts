// Engines' rows and their slots: the same on both databases, but for whose clock counts and for rows that another engine
// may be at. Those are skipped: the next look meets them again.

import { type RawBuilder, sql } from "kysely";
import { SECOND_MS } from "../../domain/time.ts";
import { type EndedEngine, type Queue, SILENT_MS } from "./queue.ts";

type SlotQueue = Pick<
	Queue,
	"register" | "beginPass" | "endSilent" | "lookAtSlots" | "takeSlots" | "giveSlots" | "endEngine"
>;

/** A lease of 1.0.0 is good for 30 s. One that is good for longer was written by a clock that is ahead: it is not believed. */
const BELIEVED_MS = 40 * SECOND_MS;
/** For engines of 1.0.0, which must never find that the lease of one of ours has lapsed. */
const FOR_OLD_ENGINES = { good_until_ms: Number.MAX_SAFE_INTEGER, held: 0 };

export function createSlotQueue(
	/** By the database's clock where it has one. */
	now: (nowMs: number) => RawBuilder<number>,
	takeFreeRows: RawBuilder<unknown>,
	lockRow: RawBuilder<unknown>,
): SlotQueue {
	const isOldAndGood = (nowMs: number) =>
		sql<boolean>`(renewed_at_ms is null
			and good_until_ms between ${now(nowMs)} and ${now(nowMs)} + ${sql.lit(BELIEVED_MS)})`;
	const isSilent = (nowMs: number) =>
		// Renewed in the future: the clock was set back since. Nobody knows when such an engine was last seen.
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
				const own = trx.selectFrom("engines").select("id").where("id", "=", engineId);
				return (await own.modifyEnd(lockRow).executeTakeFirst()) !== undefined;
			}
			const row = { renewed_at_ms: now(renewal.nowMs), most_in_flight: renewal.mostInFlight };
			const renew = trx.updateTable("engines").set(row);
			const { numUpdatedRows } = await renew.where("id", "=", engineId).executeTakeFirstOrThrow();
			return numUpdatedRows > 0n;
		},
		async endSilent(trx, nowMs) {
			const silent = trx.selectFrom("engines").select("id").where(isSilent(nowMs)).modifyEnd(takeFreeRows);
			const ended: EndedEngine[] = await trx
				.deleteFrom("engines")
				.where("id", "in", silent)
				.returning(["id as engineId", "renewed_at_ms as renewedAtMs", "most_in_flight as mostInFlight"])
				.execute();
			const ids = ended.map(({ engineId }) => engineId);
			if (ids.length > 0)
				await trx.updateTable("slots").set({ engine_id: null }).where("engine_id", "in", ids).execute();
			return ended;
		},
		async lookAtSlots(trx, engineId, nowMs) {
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
			const taken = await trx
				.updateTable("slots")
				.set({ engine_id: engineId })
				.where("slot", "in", free.orderBy("slot").limit(count).modifyEnd(takeFreeRows))
				.returning("slot")
				.execute();
			return taken.map(({ slot }) => slot);
		},
		async giveSlots(trx, engineId, slots) {
			if (slots.length === 0) return;
			const ours = trx.updateTable("slots").set({ engine_id: null }).where("engine_id", "=", engineId);
			await ours.where("slot", "in", slots).execute();
		},
		async endEngine(trx, engineId) {
			await trx.updateTable("slots").set({ engine_id: null }).where("engine_id", "=", engineId).execute();
			await trx.deleteFrom("engines").where("id", "=", engineId).execute();
		},
	};
}
