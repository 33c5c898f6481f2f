// Reads conversions, deliveries and attempts in one transaction, in the same form from both databases.
// balance.ts checks them, and the rows about money.

import type { Selectable } from "kysely";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { slotOf } from "#core/domain/slot.ts";
import type { Db } from "#core/store/schema/tables.ts";
import type {
	AttemptsTable,
	DeliveriesView,
	QueueTable,
	UndeliveredTable,
} from "#core/store/tables/deliveries.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";

import type { MoneyRows } from "../support/money-auditor.ts";
import { readMoneyRows } from "./money.ts";
import { partnerKey } from "./receiving-shop.ts";

export interface ConversionEntry {
	orderId: string;
	publicId: string;
	status: string;
	basketValue: string;
	/** Moves in the order in which they were made. */
	moves: readonly string[];
	/** Events for the shop. */
	events: readonly string[];
	/** Events for the partner. */
	partnerEvents: readonly string[];
}

export interface DeliveryEntry extends Selectable<DeliveriesView> {
	/** The conversion's id and the event's name, by which a receiver recognizes repeats. */
	key: string;
	/**
	 * Queue row of the delivery, and the engine that owns the programme's slot and alone may send it. Null if
	 * there is no row.
	 */
	queued: (Selectable<QueueTable> & { owner: number | null }) | null;
	undelivered: Selectable<UndeliveredTable> | null;
	/** Attempts in the order of their numbers. */
	log: readonly Selectable<AttemptsTable>[];
}

export interface Ledger {
	conversions: readonly ConversionEntry[];
	deliveries: readonly DeliveryEntry[];
	/** Ids of the engines that have a row. */
	engines: readonly number[];
	/** Descriptions of rows that break a rule of `ringback verify`, or that belong to no other row. */
	strays: readonly string[];
	money: MoneyRows;
}

export async function readLedger(db: Db): Promise<Ledger> {
	// All tables are read as of one moment, even while services write. On SQLite every transaction does that.
	return db.transaction().setIsolationLevel("repeatable read").execute(readTables);
}

async function readTables(trx: Db): Promise<Ledger> {
	const conversions = await trx.selectFrom("conversions").selectAll().orderBy("id").execute();
	const moves = await trx.selectFrom("moves").selectAll().orderBy("id").execute();
	const events = await trx.selectFrom("events").selectAll().orderBy("id").execute();
	const deliveries = await trx.selectFrom("deliveries").selectAll().orderBy("id").execute();
	const queue = await trx.selectFrom("queue").selectAll().execute();
	const undelivered = await trx.selectFrom("undelivered").selectAll().execute();
	const attempts = await trx.selectFrom("attempts").selectAll().orderBy("seq").execute();
	const slots = await trx.selectFrom("slots").selectAll().execute();
	const engines = (await trx.selectFrom("engines").select("id").execute()).map(({ id }) => id);
	const credits = await trx.selectFrom("credits").selectAll().execute();
	const partners = await trx.selectFrom("receivers").select("id").where("kind", "=", "partner").execute();
	const { broken } = await checkLedger({ db: trx });

	const partnerIds = new Set(partners.map(({ id }) => id));
	const isForPartner = ({ receiver_id }: { receiver_id: ReceiverId }) => partnerIds.has(receiver_id);
	const movesOf = Map.groupBy(moves, (move) => move.conversion_id);
	const eventsOf = Map.groupBy(events, (event) => event.conversion_id);
	const attemptsOf = Map.groupBy(attempts, (attempt) => attempt.delivery_id);
	const queueOf = new Map(queue.map((row) => [row.id, row]));
	const undeliveredOf = new Map(undelivered.map((row) => [row.id, row]));
	const publicIdOf = new Map(conversions.map((row) => [row.id, row.public_id]));
	const eventOf = new Map(events.map((row) => [row.id, row]));
	const ownerOf = new Map(slots.map(({ slot, engine_id }) => [slot, engine_id]));
	const deliveryIds = new Set(deliveries.map(({ id }) => id));
	const wordOf = new Map(credits.map((row) => [row.conversion_id, row.word]));
	return {
		conversions: conversions.map((row) => ({
			orderId: row.order_id,
			publicId: row.public_id,
			status: row.status,
			basketValue: row.basket_value,
			moves: (movesOf.get(row.id) ?? []).map(({ move }) => move),
			events: (eventsOf.get(row.id) ?? []).filter((event) => !isForPartner(event)).map(({ name }) => name),
			partnerEvents: (eventsOf.get(row.id) ?? []).filter(isForPartner).map(({ name }) => name),
		})),
		deliveries: deliveries.map((row) => {
			const event = eventOf.get(row.id);
			const queued = queueOf.get(row.id);
			const key = `${publicIdOf.get(event?.conversion_id ?? -1)} ${event?.name}`;
			return {
				...row,
				key: isForPartner(row) ? partnerKey(key) : key,
				queued:
					queued === undefined ? null : { ...queued, owner: ownerOf.get(slotOf(queued.receiver_id)) ?? null },
				undelivered: undeliveredOf.get(row.id) ?? null,
				log: attemptsOf.get(row.id) ?? [],
			};
		}),
		engines,
		money: await readMoneyRows(trx),
		strays: [
			...broken.map(({ problem, examples }) => `${problem}: ${examples}`),
			...[...attemptsOf.keys()].filter((id) => !deliveryIds.has(id)).map((id) => `attempt of ${id}`),
			...conversions
				.filter(({ id }) => wordOf.get(id) !== creditAfter((movesOf.get(id) ?? []).map(({ move }) => move)))
				.map(({ id }) => `conversion ${id}, which is credited by ${wordOf.get(id)}`),
			...slots
				.filter(({ engine_id }) => engine_id !== null && !engines.includes(engine_id))
				.map(({ slot, engine_id }) => `slot ${slot}, which engine ${engine_id} has left behind`),
		],
	};
}

/**
 * Returns the credit that a conversion must have after its moves. A pixel brings none, the server's report
 * brings one that names nobody, and a repeat names a partner.
 */
function creditAfter(moves: readonly string[]): string | undefined {
	if (moves.includes("credit")) return "CODE";
	return moves.every((move) => move === "park" || move === "expire") ? undefined : "NO_SIGNAL";
}
