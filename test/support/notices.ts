// Creates notices for the start of a test.

import type { Insertable } from "kysely";
import type { ReceiverId } from "#core/domain/receiver.ts";
import type { FailedAttempts } from "#core/store/queries/notices.ts";
import type { NoticesTable } from "#core/store/tables/notices.ts";
import { START_MS } from "./clock.ts";
import { newId } from "./rows.ts";

/**
 * Returns an open notice about failing callbacks that owners can already see. The notice has one final failure (a
 * 404).
 */
export function newNotice(
	receiverId: ReceiverId,
	change: Partial<Insertable<NoticesTable>> = {},
): Insertable<NoticesTable> {
	return {
		public_id: newId("ntc"),
		receiver_id: receiverId,
		kind: "callbacks_failing",
		opened_at_ms: START_MS,
		told_at_ms: START_MS,
		failed_attempts: 1,
		failures: 1,
		mailed_failures: 0,
		last_failed_at_ms: START_MS,
		last_result: "answered",
		last_verdict: "refused",
		last_http_status: 404,
		...change,
	};
}

/** Returns a single final failure in the form in which the engine adds failures to a notice. */
export function failedAttempts(
	receiverId: ReceiverId,
	change: Partial<FailedAttempts> = {},
): FailedAttempts & { public_id: string } {
	return {
		public_id: newId("ntc"),
		receiver_id: receiverId,
		failed_attempts: 1,
		failures: 1,
		opened_at_ms: START_MS,
		last_failed_at_ms: START_MS,
		last_delivery_id: 1,
		last_result: "answered",
		last_verdict: "refused",
		last_http_status: 404,
		last_detail: null,
		...change,
	};
}
