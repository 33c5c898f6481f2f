// Log of inbound calls. It has every sale report and pixel call, accepted or refused, with its outcome.

import type { Db } from "../store.ts";
import { type ListPage, type PageRequest, readListPage, walkNewest } from "./list-page.ts";

export type InboundResult = "accepted" | "refused";

export interface InboundFilter extends PageRequest {
	programmeId: number;
	kind?: "api" | "pixel" | undefined;
	result?: InboundResult | undefined;
	orderId?: string | undefined;
	/** Request id to search for. It has no index, because it is seldom needed and an index would slow down every call. */
	requestId?: string | undefined;
}

export type ListedCall = Awaited<ReturnType<ReturnType<typeof selectCalls>["execute"]>>[number];

export async function listInboundCalls(db: Db, filter: InboundFilter): Promise<ListPage<ListedCall>> {
	const { kind, result, requestId } = filter;
	const matches = (row: ListedCall) =>
		(kind === undefined || row.kind === kind) &&
		(result === undefined || resultOf(row) === result) &&
		(requestId === undefined || row.requestId === requestId);
	const isChecked = (kind ?? result ?? requestId) !== undefined;
	const calls = selectCalls(db, filter);
	return readListPage(walkNewest(db, calls, "inbound_calls.id", isChecked ? { matches } : {}), filter);
}

/**
 * Returns whether a call was accepted. The HTTP status cannot show this, because a browser always gets the pixel's
 * image with status 200.
 */
export function resultOf({ outcome }: { outcome: string }): InboundResult {
	// Outcome words are in capital letters, and fault codes are not.
	return /^[A-Z]/.test(outcome) ? "accepted" : "refused";
}

/** Selects the calls of a programme. Uses the index inbound_calls_by_order or inbound_calls_by_programme. */
function selectCalls(db: Db, { programmeId, orderId }: InboundFilter) {
	return db
		.selectFrom("inbound_calls")
		.leftJoin("conversions", "conversions.public_id", "inbound_calls.conversion")
		.select([
			"inbound_calls.id",
			"inbound_calls.kind",
			"inbound_calls.method",
			"inbound_calls.target",
			"inbound_calls.outcome",
			"inbound_calls.http_status as httpStatus",
			"inbound_calls.detail",
			"inbound_calls.order_id as orderId",
			"inbound_calls.at_ms as atMs",
			"inbound_calls.request_id as requestId",
			"conversions.public_id as conversionId",
		])
		.where("inbound_calls.programme_id", "=", programmeId)
		.$if(orderId !== undefined, (query) => query.where("inbound_calls.order_id", "=", orderId ?? ""));
}
