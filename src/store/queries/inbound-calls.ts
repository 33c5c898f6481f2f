// The inbound log: every postback and pixel that came in, the refused ones too, and what it was told.

import type { Db } from "../store.ts";
import { type ListPage, type PageRequest, readNewestFirst } from "./list-page.ts";

export type InboundResult = "accepted" | "refused";

export interface InboundFilter extends PageRequest {
	programmeId: number;
	kind?: "api" | "pixel" | undefined;
	result?: InboundResult | undefined;
	orderId?: string | undefined;
}

export type ListedCall = Awaited<ReturnType<typeof readCalls>>[number];

/** The newest first. */
export async function listInboundCalls(db: Db, filter: InboundFilter): Promise<ListPage<ListedCall>> {
	const { kind, result } = filter;
	const matches = (row: ListedCall) =>
		(kind === undefined || row.kind === kind) && (result === undefined || resultOf(row) === result);
	return readNewestFirst(
		filter,
		(beforeId, limit) => readCalls(db, filter, beforeId, limit),
		(kind ?? result) === undefined ? undefined : matches,
	);
}

/** By the word and not by the status: a browser gets its image with 200 whatever became of the report. */
export function resultOf({ outcome }: { outcome: string }): InboundResult {
	// Outcome words are capitals, codes of faults are not.
	return /^[A-Z]/.test(outcome) ? "accepted" : "refused";
}

/** Along inbound_calls_by_order or inbound_calls_by_programme. */
function readCalls(db: Db, { programmeId, orderId }: InboundFilter, beforeId: number, limit: number) {
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
			"conversions.public_id as conversionId",
		])
		.where("inbound_calls.programme_id", "=", programmeId)
		.$if(orderId !== undefined, (query) => query.where("inbound_calls.order_id", "=", orderId ?? ""))
		.where("inbound_calls.id", "<", beforeId)
		.orderBy("inbound_calls.id", "desc")
		.limit(limit)
		.execute();
}
