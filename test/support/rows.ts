// Rows for the start of a store test, and short names for the outcomes that settle a delivery.

import { composeEvent, type EventSubject } from "#core/domain/event.ts";
import { ID_RANDOM_BYTES, type IdPrefix, makeId } from "#core/domain/id.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import type { OwedEvent } from "#core/store/batch.ts";
import type { Conversion, NewConversion } from "#core/store/queries/conversions.ts";
import { findByOrders } from "#core/store/queries/conversions.ts";
import { insertProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { AttemptRecord, DueDelivery, Settlement } from "#core/store/queries/queue.ts";
import { insertSecret } from "#core/store/queries/signing-secrets.ts";
import type { Db, Store } from "#core/store/store.ts";
import { EMPTY_AT_START } from "#core/store/tables/conversions.ts";
import type { StoredCredit } from "#modules/partners/store/credits.ts";
import { createRandom } from "../../src/outside/random.ts";
import { setUrl } from "./change-rows.ts";
import { START_MS } from "./clock.ts";
import { receiverId } from "./receiver-ids.ts";

type NewProgramme = Parameters<typeof insertProgramme>[1];
type NewSecret = Parameters<typeof insertSecret>[1];

const random = createRandom();

export function newId(prefix: IdPrefix): string {
	return makeId(prefix, START_MS, random.bytes(ID_RANDOM_BYTES));
}

/** Adds a programme with a Postback URL and a signing secret, so that events are created for it. */
export async function addProgramme(store: Store): Promise<Programme> {
	return store.transact(async (trx) => {
		const programme = await insertProgramme(trx, newProgramme());
		await setUrl(trx, programme.id, "https://shop.example/postback", START_MS);
		await insertSecret(trx, newSecret(programme.receiver_id));
		return programme;
	});
}

export async function findConversion(
	db: Db,
	programmeId: number,
	orderId: string,
	eventType = "SALE",
): Promise<Conversion | undefined> {
	const found = await findByOrders(db, [{ programme_id: programmeId, order_id: orderId }]);
	return found.find(({ event_type }) => event_type === eventType);
}

/** Returns a signing secret of the receiver, active by default. */
export function newSecret(receiverId: ReceiverId, change: Partial<NewSecret> = {}): NewSecret {
	return {
		public_id: newId("sec"),
		receiver_id: receiverId,
		sealed: "sealed",
		hint: "abcd",
		created_at_ms: START_MS,
		activated_at_ms: START_MS,
		...change,
	};
}

export function newProgramme(change: Partial<NewProgramme> = {}): NewProgramme {
	return {
		public_id: newId("prg"),
		name: "Shop",
		currency: "EUR",
		commission_rate: "7.5000",
		fee_rate: "2.0000",
		approval_days: 30,
		parks_pixels: 1,
		parked_days: 30,
		created_at_ms: START_MS,
		...change,
	};
}

export function newConversion(programmeId: number, change: Partial<NewConversion> = {}): NewConversion {
	return {
		...EMPTY_AT_START,
		public_id: newId("cnv"),
		programme_id: programmeId,
		order_id: random.hex(8),
		event_type: "SALE",
		status: "RECORDED",
		basket_value: "100.00",
		commission: "7.50",
		network_fee: "2.00",
		currency: "EUR",
		rates: "7.5 2",
		test: 0,
		source: "postback",
		occurred_at_ms: START_MS,
		created_at_ms: START_MS,
		window_ends_at_ms: START_MS,
		updated_at_ms: START_MS,
		...change,
	};
}

export async function addConversion(
	store: Pick<Store, "db" | "batch">,
	programmeId: number,
	change: Partial<NewConversion> = {},
): Promise<Conversion> {
	const started = newConversion(programmeId, change);
	const [id] = await addConversions(store, [started]);
	if (id === undefined) throw new Error("the conversion was not stored");
	return { ...started, id };
}

/** Stores conversions, and returns their ids in the same order. */
export async function addConversions(
	{ db, batch }: Pick<Store, "db" | "batch">,
	rows: readonly NewConversion[],
): Promise<number[]> {
	const started = rows.map((row, index) => ({ ...row, id: -(index + 1) }));
	return [...(await batch.write(db, { started })).conversionIds];
}

/** Stores a credit, and replaces the conversion's credit if it has one. */
export async function addCredit(db: Db, { conversion_id, ...credit }: StoredCredit): Promise<void> {
	const values = { conversion_id, ...credit };
	const row = db.insertInto("credits").values(values);
	await row.onConflict((conflict) => conflict.column("conversion_id").doUpdateSet(credit)).execute();
}

/** The sale of an event, for tests in which its values do not matter. */
export const SUBJECT: EventSubject = {
	conversionId: "cnv_1",
	orderId: "A-1",
	programId: "prg_1",
	status: "RECORDED",
	eventType: "SALE",
	basketValue: "100.00",
	commission: "7.50",
	networkFee: "2.00",
	currency: "EUR",
	reason: null,
	test: false,
	occurredAtMs: START_MS,
};

export function newOwedEvent(
	programme: Pick<Programme, "receiver_id">,
	conversionId: number,
	atMs = START_MS,
): OwedEvent {
	return {
		conversion_id: conversionId,
		receiver_id: programme.receiver_id,
		endpoint_epoch: 0,
		public_id: newId("dlv"),
		name: "conversion.recorded",
		body: composeEvent({ ...SUBJECT, conversionId: `cnv_${conversionId}` }),
		at_ms: atMs,
	};
}

/** Adds one pending delivery for each due time. Resolves to their ids in the same order. */
export async function addDeliveries(
	store: Store,
	programme: Programme,
	...dueAtMs: readonly number[]
): Promise<number[]> {
	const ids: number[] = [];
	for (const atMs of dueAtMs) {
		const conversion = await addConversion(store, programme.id);
		const owed = newOwedEvent(programme, conversion.id, atMs);
		const { eventIds } = await store.batch.write(store.db, { events: [owed] });
		ids.push(...eventIds);
	}
	return ids;
}

export async function addDelivery(store: Store, programme: Programme, dueAtMs = START_MS): Promise<number> {
	const [id] = await addDeliveries(store, programme, dueAtMs);
	if (id === undefined) throw new Error("no delivery was made");
	return id;
}

/** Adds a recorded conversion with its history and one owed callback, as a sale does. */
export async function addOwedConversion(
	store: Store,
	programme: Programme,
): Promise<{ deliveryId: number; conversionId: number }> {
	const id = await addDelivery(store, programme);
	const { conversion_id } = await store.db
		.selectFrom("events")
		.select("conversion_id")
		.where("id", "=", id)
		.$narrowType<{ conversion_id: number }>()
		.executeTakeFirstOrThrow();
	const move = {
		programme_id: programme.id,
		conversion_id,
		move: "record",
		to_status: "RECORDED",
		decided_by: null,
		person_id: null,
		reason: null,
		at_ms: START_MS,
	} as const;
	await store.batch.write(store.db, { moves: [move] });
	return { deliveryId: id, conversionId: conversion_id };
}

export const ATTEMPT: AttemptRecord = {
	result: "answered",
	httpStatus: 200,
	detail: null,
	startedAtMs: START_MS + 10,
	tookMs: 32.5,
	lookUpMs: 1.25,
	connectMs: 2.5,
	tlsMs: null,
	answerMs: 20,
	endpointId: 1,
	nonce: "00112233445566778899aabbccddeeff",
	signature: "c2lnbmF0dXJl",
	answer: null,
};

let lastDueId = 0;

/** Returns a delivery as the queue returns it, for tests that need no database. */
export function dueDelivery(change: Partial<DueDelivery> = {}): DueDelivery {
	return {
		id: ++lastDueId,
		receiverId: receiverId(1),
		dueAtMs: 0,
		endpointEpoch: 0,
		run: 1,
		counted: 0,
		seq: 0,
		eventName: "conversion.recorded",
		eventBody: composeEvent(SUBJECT),
		...change,
	};
}

export function delivered(delivery: DueDelivery): Settlement {
	const endedAtMs = START_MS + 50;
	return {
		kind: "finished",
		delivery,
		state: "delivered",
		verdict: "delivered",
		attempt: ATTEMPT,
		endedAtMs,
	};
}

export function failed(delivery: DueDelivery, endedAtMs = START_MS + 50): Settlement {
	const attempt = { ...ATTEMPT, httpStatus: 404 };
	return { kind: "finished", delivery, state: "failed", verdict: "refused", attempt, endedAtMs };
}

export function retried(delivery: DueDelivery, dueAtMs: number): Settlement {
	const attempt = { ...ATTEMPT, httpStatus: 503 };
	return { kind: "retry", delivery, dueAtMs, verdict: "retry", attempt, endedAtMs: START_MS + 50 };
}
