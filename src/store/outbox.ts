// Owing an event: written in the same transaction as the status change it announces, so that neither
// exists without the other.

import type { EventName } from "../domain/event-name.ts";
import type { Db } from "./store.ts";

export interface OwedEvent {
	conversionId: number;
	programmeId: number;
	endpointEpoch: number;
	deliveryPublicId: string;
	name: EventName;
	body: string;
}

/** At most one for each conversion, and no more than conversions/make-moves takes at once. */
export async function insertOwedEvents(trx: Db, owed: readonly OwedEvent[], nowMs: number): Promise<void> {
	if (owed.length === 0) return;
	const events = await trx
		.insertInto("events")
		.values(
			owed.map(({ conversionId, programmeId, name, body }) => ({
				programme_id: programmeId,
				receiver_id: programmeId,
				conversion_id: conversionId,
				name,
				body,
			})),
		)
		.returning(["id", "conversion_id"])
		.execute();
	// Neither database promises the order of returned rows; within a set a conversion has one event.
	const idByConversion = new Map(events.map((event) => [event.conversion_id, event.id]));
	const rows = owed.map((event) => ({ ...event, id: idByConversion.get(event.conversionId) ?? missing() }));
	await trx
		.insertInto("deliveries")
		.values(
			rows.map((row) => ({
				id: row.id,
				public_id: row.deliveryPublicId,
				programme_id: row.programmeId,
				receiver_id: row.programmeId,
				state: "pending" as const,
				run: 1,
				attempts: 0,
				created_at_ms: nowMs,
			})),
		)
		.execute();
	await trx
		.insertInto("queue")
		.values(
			rows.map((row) => ({
				id: row.id,
				receiver_id: row.programmeId,
				due_at_ms: nowMs,
				endpoint_epoch: row.endpointEpoch,
				run: 1,
				counted: 0,
				seq: 0,
			})),
		)
		.execute();
}

function missing(): never {
	throw new Error("an inserted event did not come back with its id");
}

/** Of these programmes, those that have a Postback URL and an active signing secret now: contract section 1, rule 4. */
export async function programmesOwedEvents(
	trx: Db,
	programmeIds: readonly number[],
): Promise<Map<number, { publicId: string; endpointEpoch: number }>> {
	if (programmeIds.length === 0) return new Map();
	const rows = await trx
		.selectFrom("programmes")
		.innerJoin("signing_secrets", (join) =>
			join
				.onRef("signing_secrets.receiver_id", "=", "programmes.id")
				.on("signing_secrets.activated_at_ms", "is not", null)
				.on("signing_secrets.replaced_at_ms", "is", null),
		)
		.select(["programmes.id", "programmes.public_id", "programmes.endpoint_epoch"])
		.where("programmes.id", "in", programmeIds)
		.where("programmes.endpoint_id", "is not", null)
		.execute();
	return new Map(rows.map((row) => [row.id, { publicId: row.public_id, endpointEpoch: row.endpoint_epoch }]));
}
