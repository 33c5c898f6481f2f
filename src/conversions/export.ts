// Conversions as CSV, any number of them: read a batch at a time, and only when the reader has taken
// what was there. UTF-8 with a byte order mark, because spreadsheets guess wrong without one.

import { csvLine } from "../domain/csv-cell.ts";
import { isoTime } from "../domain/time.ts";
import { type ConversionFilter, readAllConversions } from "../store/conversion-list.ts";
import type { Conversion } from "../store/conversions.ts";
import type { Db } from "../store/store.ts";

/** About 200 KB of text: all that an export ever holds. */
const BATCH_ROWS = 1_000;
const BYTE_ORDER_MARK = "\u{FEFF}";

const COLUMNS: readonly (readonly [name: string, cell: (conversion: Conversion) => string])[] = [
	["orderId", (row) => row.order_id],
	["eventType", (row) => row.event_type],
	["status", (row) => row.status],
	["basketValue", (row) => row.basket_value],
	["commission", (row) => row.commission],
	["networkFee", (row) => row.network_fee],
	["currency", (row) => row.currency],
	["reason", (row) => row.reason ?? ""],
	["decidedBy", (row) => row.decided_by ?? ""],
	["source", (row) => row.source],
	["test", (row) => (row.test === 1 ? "true" : "false")],
	["pixelBasketValue", (row) => row.pixel_basket_value ?? ""],
	["occurredAt", (row) => isoTime(row.occurred_at_ms)],
	["recordedAt", (row) => isoTime(row.created_at_ms)],
	["approvesAt", (row) => (row.status === "RECORDED" ? isoTimeOrEmpty(row.window_ends_at_ms) : "")],
	["conversionId", (row) => row.public_id],
];

export async function* exportConversions(db: Db, filter: ConversionFilter): AsyncGenerator<string> {
	yield BYTE_ORDER_MARK + csvLine(COLUMNS.map(([name]) => name));
	for await (const batch of readAllConversions(db, filter, BATCH_ROWS)) {
		if (batch.length > 0) yield batch.map((row) => csvLine(COLUMNS.map(([, cell]) => cell(row)))).join("");
	}
}

function isoTimeOrEmpty(atMs: number | null): string {
	return atMs === null ? "" : isoTime(atMs);
}
