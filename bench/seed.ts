// Fills a store with programmes and due deliveries, as if their status changes had just been committed.

import { createHash } from "node:crypto";
import { composeEvent } from "../src/domain/event.ts";
import { ID_RANDOM_BYTES, makeId } from "../src/domain/id.ts";
import { SEALING_IV_BYTES, sealSecret } from "../src/domain/sealing.ts";
import { createRandom } from "../src/outside/random.ts";
import { insertOwedEvents, type OwedEvent } from "../src/store/outbox.ts";
import { insertProgramme, setEndpoint } from "../src/store/programmes.ts";
import type { Store } from "../src/store/store.ts";
import { SAMPLE_SUBJECT } from "./sample.ts";

/** The same for every process of a run. */
export const BENCH_SEALING_KEY: Uint8Array = createHash("sha256").update("ringback bench").digest();

const ROWS_PER_TRANSACTION = 2_500;

export async function seedDue(
	store: Store,
	programmes: number,
	deliveries: number,
	url: string,
): Promise<void> {
	const random = createRandom();
	const nowMs = Date.now() - 1_000;
	const programmeIds: number[] = [];
	for (let i = 0; i < programmes; i++) {
		const programme = await insertProgramme(store.db, {
			public_id: makeId("prg", nowMs, random.bytes(ID_RANDOM_BYTES)),
			name: `Shop ${i}`,
			currency: "EUR",
			commission_rate: "8.0000",
			fee_rate: "2.0000",
			approval_days: 30,
			parks_pixels: 1,
			parked_days: 30,
			created_at_ms: nowMs,
		});
		await setEndpoint(store.db, programme.id, url, nowMs);
		const sealed = sealSecret(
			BENCH_SEALING_KEY,
			programme.id,
			`rbs_${random.hex(32)}`,
			random.bytes(SEALING_IV_BYTES),
		);
		await store.db
			.insertInto("signing_secrets")
			.values({
				public_id: makeId("sec", nowMs, random.bytes(ID_RANDOM_BYTES)),
				receiver_id: programme.id,
				sealed,
				hint: "seed",
				created_at_ms: nowMs,
				activated_at_ms: nowMs,
			})
			.execute();
		programmeIds.push(programme.id);
	}
	const body = composeEvent("conversion.approved", SAMPLE_SUBJECT);
	for (let from = 0; from < deliveries; from += ROWS_PER_TRANSACTION) {
		const owed: OwedEvent[] = [];
		for (let i = from; i < Math.min(from + ROWS_PER_TRANSACTION, deliveries); i++) {
			owed.push({
				conversionId: i + 1,
				programmeId: programmeIds[i % programmes] ?? 0,
				endpointEpoch: 0,
				deliveryPublicId: makeId("dlv", nowMs, random.bytes(ID_RANDOM_BYTES)),
				name: "conversion.approved",
				body,
			});
		}
		await store.transact((trx) => insertOwedEvents(trx, owed, nowMs));
	}
}
