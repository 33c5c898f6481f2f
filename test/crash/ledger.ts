// Conversions, deliveries and attempts as they are stored, read in one transaction, the same from both databases. Nothing
// is judged here: see balance.ts.

import { slotOf } from "../../src/domain/slot.ts";
import type { Db } from "../../src/store/schema/tables.ts";

export interface ConversionEntry {
	orderId: string;
	publicId: string;
	status: string;
	/** In the order they were made. */
	moves: readonly { move: string; toStatus: string }[];
	events: readonly string[];
}

export interface AttemptEntry {
	seq: number;
	run: number;
	result: string;
	httpStatus: number | null;
	nonce: string | null;
}

export interface QueuedEntry {
	dueAtMs: number;
	/** The engine that has its programme's slot: nobody else may send it. */
	owner: number | null;
	counted: number;
	seq: number;
}

export interface DeliveryEntry {
	/** The conversion's id and the event's name: what a receiver deduplicates on. */
	key: string;
	state: string;
	run: number;
	attempts: number;
	finishedAtMs: number | null;
	/** Null without a row in the queue. */
	queued: QueuedEntry | null;
	/** By number. */
	log: readonly AttemptEntry[];
}

export interface Ledger {
	conversions: readonly ConversionEntry[];
	deliveries: readonly DeliveryEntry[];
	/** Those that have a row. */
	engines: readonly number[];
	/** Rows that belong to nothing, in words. */
	strays: readonly string[];
}

export async function readLedger(db: Db): Promise<Ledger> {
	// One moment for all tables, also while services write. SQLite's transactions are always so.
	const tables = await db.transaction().setIsolationLevel("repeatable read").execute(readTables);
	return arrange(tables);
}

type Tables = Awaited<ReturnType<typeof readTables>>;

async function readTables(trx: Db) {
	return {
		conversions: await trx.selectFrom("conversions").selectAll().orderBy("id").execute(),
		moves: await trx.selectFrom("moves").selectAll().orderBy("id").execute(),
		events: await trx.selectFrom("events").select(["id", "conversion_id", "name"]).orderBy("id").execute(),
		deliveries: await trx.selectFrom("deliveries").selectAll().orderBy("id").execute(),
		queue: await trx.selectFrom("queue").selectAll().orderBy("id").execute(),
		engines: await trx.selectFrom("engines").select("id").execute(),
		slots: await trx.selectFrom("slots").selectAll().execute(),
		attempts: await trx.selectFrom("attempts").selectAll().orderBy("delivery_id").orderBy("seq").execute(),
	};
}

function arrange(tables: Tables): Ledger {
	const { conversions, events, deliveries } = tables;
	const movesOf = Map.groupBy(tables.moves, (move) => move.conversion_id);
	const eventsOf = Map.groupBy(events, (event) => event.conversion_id);
	const attemptsOf = Map.groupBy(tables.attempts, (attempt) => attempt.delivery_id);
	const queueOf = new Map(tables.queue.map((row) => [row.id, row]));
	const conversionOf = new Map(conversions.map((row) => [row.id, row]));
	const deliveryOf = new Map(deliveries.map((row) => [row.id, row]));
	const ownerOf = new Map(tables.slots.map(({ slot, engine_id }) => [slot, engine_id]));
	const entries: DeliveryEntry[] = [];
	for (const event of events) {
		const delivery = deliveryOf.get(event.id);
		const conversion = conversionOf.get(event.conversion_id);
		if (delivery === undefined || conversion === undefined) continue;
		const queued = queueOf.get(event.id);
		entries.push({
			key: `${conversion.public_id} ${event.name}`,
			state: delivery.state,
			run: delivery.run,
			attempts: delivery.attempts,
			finishedAtMs: delivery.finished_at_ms,
			queued:
				queued === undefined
					? null
					: {
							dueAtMs: queued.due_at_ms,
							owner: ownerOf.get(slotOf(queued.receiver_id)) ?? null,
							counted: queued.counted,
							seq: queued.seq,
						},
			log: (attemptsOf.get(event.id) ?? []).map(({ seq, run, result, http_status, nonce }) => {
				return { seq, run, result, httpStatus: http_status, nonce };
			}),
		});
	}
	return {
		conversions: conversions.map((row) => ({
			orderId: row.order_id,
			publicId: row.public_id,
			status: row.status,
			moves: (movesOf.get(row.id) ?? []).map(({ move, to_status }) => ({ move, toStatus: to_status })),
			events: (eventsOf.get(row.id) ?? []).map(({ name }) => name),
		})),
		deliveries: entries,
		engines: tables.engines.map(({ id }) => id),
		strays: findStrays(tables),
	};
}

function findStrays(tables: Tables): string[] {
	const { conversions, moves, events, deliveries, queue, attempts } = tables;
	const engineIds = new Set(tables.engines.map(({ id }) => id));
	const conversionIds = new Set(conversions.map(({ id }) => id));
	const eventIds = new Set(events.map(({ id }) => id));
	const deliveryIds = new Set(deliveries.map(({ id }) => id));
	return [
		...moves.filter((row) => !conversionIds.has(row.conversion_id)).map((row) => `move ${row.id}`),
		...events.filter((row) => !conversionIds.has(row.conversion_id)).map((row) => `event ${row.id}`),
		...events
			.filter((row) => !deliveryIds.has(row.id))
			.map((row) => `event ${row.id}, which has no delivery`),
		...deliveries.filter((row) => !eventIds.has(row.id)).map((row) => `delivery ${row.public_id}`),
		...queue.filter((row) => !deliveryIds.has(row.id)).map((row) => `queue row ${row.id}`),
		...attempts
			.filter((row) => !deliveryIds.has(row.delivery_id))
			.map((row) => `attempt of ${row.delivery_id}`),
		...tables.slots
			.filter(({ engine_id }) => engine_id !== null && !engineIds.has(engine_id))
			.map(({ slot, engine_id }) => `slot ${slot}, which engine ${engine_id} has left behind`),
	];
}
