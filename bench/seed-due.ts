// Writes due deliveries, as if their status changes had just been committed.

import { composeEvent } from "#core/domain/event.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { composePartnerEvent } from "#core/domain/partner-event.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import type { OwedEvent } from "#core/store/batch.ts";
import type { Store } from "#core/store/store.ts";
import { createRandom } from "../src/outside/random.ts";
import { SAMPLE_SUBJECT } from "./sample.ts";

/** Fields of a partner's event that a shop's event does not have. */
const SAMPLE_CREDIT = {
	partnerId: "ptn_1",
	linkId: null,
	creditedBy: "CODE",
	clickedAtMs: null,
	subIds: ["bench", "", ""],
} as const;

/** Maximum number of rows in a transaction, the same as in the service. */
const ROWS_PER_TRANSACTION = 500;
const PROGRESS_ROWS = 100_000;
const random = createRandom();

export interface DueDelivery {
	receiverId: ReceiverId;
	dueAtMs: number;
	/** True if the receiver is a partner, whose events have other fields. */
	isForPartner?: boolean;
}

/**
 * Creates deliveries. Each has its own conversion, whose name is in the body. The numbers of the conversions
 * start at `firstNumber`.
 */
export async function seedDue(
	store: Store,
	count: number,
	delivery: (number: number) => DueDelivery,
	{ firstNumber = 1, say = () => undefined }: { firstNumber?: number; say?: (line: string) => void } = {},
): Promise<void> {
	for (let from = 0; from < count; from += ROWS_PER_TRANSACTION) {
		const rows = Math.min(ROWS_PER_TRANSACTION, count - from);
		const events = Array.from({ length: rows }, (_, index) => {
			const { receiverId, dueAtMs, isForPartner = false } = delivery(from + index);
			return { ...owedEvent(firstNumber + from + index, receiverId, isForPartner), at_ms: dueAtMs };
		});
		await store.batch.write(store.db, { events });
		if ((from + rows) % PROGRESS_ROWS === 0) say(`${from + rows} of ${count} due`);
	}
}

/** Returns the name of a conversion. The receiver finds this name in the body. */
export function conversionName(number: number): string {
	return `cnv_${String(number).padStart(26, "0")}`;
}

function owedEvent(number: number, receiverId: ReceiverId, isForPartner: boolean): Omit<OwedEvent, "at_ms"> {
	const subject = { ...SAMPLE_SUBJECT, conversionId: conversionName(number) };
	return {
		conversion_id: number,
		receiver_id: receiverId,
		endpoint_epoch: 0,
		public_id: makeId("dlv", Date.now(), random.bytes(ID_RANDOM_BYTES)),
		name: "conversion.approved",
		body: isForPartner ? composePartnerEvent({ ...subject, ...SAMPLE_CREDIT }) : composeEvent(subject),
	};
}
