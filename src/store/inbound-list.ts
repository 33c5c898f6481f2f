// The inbound log as a list: every postback and pixel of a programme, refused ones too. Like the deliveries it
// walks an index and looks at a bounded number of rows a page.

import type { CursorPair } from "./cursor-pair.ts";
import type { Db } from "./store.ts";

export type InboundResult = "accepted" | "refused";

export interface InboundFilter {
	programmeId: number;
	kind?: "api" | "pixel" | undefined;
	result?: InboundResult | undefined;
	orderId?: string | undefined;
	after?: CursorPair | undefined;
	limit: number;
}

export type ListedCall = Awaited<ReturnType<typeof readCalls>>[number];

export interface InboundPage {
	rows: ListedCall[];
	next: CursorPair | null;
}

const MAX_LOOKED_AT = 2_000;
const CHUNK_ROWS = 250;

/** The newest first. */
export async function listInboundCalls(db: Db, filter: InboundFilter): Promise<InboundPage> {
	const { kind, result, limit } = filter;
	const matches = (row: ListedCall) =>
		(kind === undefined || row.kind === kind) && (result === undefined || resultOf(row) === result);
	const chunkRows = kind === undefined && result === undefined ? limit + 1 : CHUNK_ROWS;
	const rows: ListedCall[] = [];
	let after = filter.after;
	for (let looked = 0; looked < MAX_LOOKED_AT; looked += chunkRows) {
		const chunk = await readCalls(db, filter, after, chunkRows);
		for (const row of chunk) {
			if (matches(row)) {
				if (rows.length === limit) return { rows, next: after ?? null };
				rows.push(row);
			}
			after = { at: row.id, id: row.id };
		}
		if (chunk.length < chunkRows) return { rows, next: null };
	}
	return { rows, next: after ?? null };
}

/** By the word and not by the status: a browser gets its image with 200 whatever became of the report. */
export function resultOf({ outcome }: { outcome: string }): InboundResult {
	// Outcome words are capitals, codes of faults are not.
	return /^[A-Z]/.test(outcome) ? "accepted" : "refused";
}

/** Along inbound_calls_by_order or inbound_calls_by_programme. */
function readCalls(
	db: Db,
	{ programmeId, orderId }: InboundFilter,
	after: CursorPair | undefined,
	limit: number,
) {
	return db
		.selectFrom("inbound_calls")
		.leftJoin("conversions", "conversions.id", "inbound_calls.conversion_id")
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
		.$if(after !== undefined, (query) => query.where("inbound_calls.id", "<", after?.id ?? 0))
		.orderBy("inbound_calls.id", "desc")
		.limit(limit)
		.execute();
}
