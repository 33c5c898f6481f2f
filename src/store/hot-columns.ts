// The columns that hot writes fill, with their types on PostgreSQL, and how a row is spelled out. By name, because a
// later, compatible schema may have more columns.

import type { Insertable } from "kysely";
import type { NewInboundCall, NewMove, NewNonce } from "./hot-writes.ts";
import type { Conversion, NewConversion } from "./queries/conversions.ts";
import type { ConversionsTable } from "./tables/conversions.ts";

export type ColumnType = "text" | "integer" | "bigint";

type ColumnsOf<Row> = Readonly<Record<Exclude<keyof Row, "id">, ColumnType>>;

/** What every move may change, a decision too. */
export const DECIDING = {
	status: "text",
	commission: "text",
	network_fee: "text",
	currency: "text",
	reason: "text",
	test: "integer",
	pixel_basket_value: "text",
	confirmed_at_ms: "bigint",
	decided_by: "text",
	window_ends_at_ms: "bigint",
	updated_at_ms: "bigint",
} as const satisfies Partial<ColumnsOf<Conversion>>;

/** Every column that a move may change. The rest is what a conversion is called and where it came from. */
export const CHANGING = {
	...DECIDING,
	basket_value: "text",
	occurred_at_ms: "bigint",
} as const satisfies Partial<ColumnsOf<Conversion>>;

export const CONVERSION = {
	public_id: "text",
	programme_id: "bigint",
	order_id: "text",
	event_type: "text",
	source: "text",
	created_at_ms: "bigint",
	imported_decision_at_ms: "bigint",
	...CHANGING,
} as const satisfies ColumnsOf<Insertable<ConversionsTable>>;

export const MOVE = {
	programme_id: "bigint",
	conversion_id: "bigint",
	move: "text",
	to_status: "text",
	decided_by: "text",
	person_id: "bigint",
	reason: "text",
	at_ms: "bigint",
	announced_body: "text",
} as const satisfies ColumnsOf<NewMove>;

export const NONCE = {
	programme_id: "bigint",
	nonce: "text",
	expires_at_ms: "bigint",
} as const satisfies ColumnsOf<NewNonce>;

export const INBOUND_CALL = {
	programme_id: "bigint",
	kind: "text",
	method: "text",
	target: "text",
	outcome: "text",
	http_status: "integer",
	detail: "text",
	order_id: "text",
	conversion: "text",
	at_ms: "bigint",
} as const satisfies ColumnsOf<NewInboundCall>;

/** As the database has it now. Written out, because it is made for every sale: a spread would cost more. */
export function storedConversion(id: number, row: NewConversion): Conversion {
	return {
		id,
		public_id: row.public_id,
		programme_id: row.programme_id,
		order_id: row.order_id,
		event_type: row.event_type,
		status: row.status,
		basket_value: row.basket_value,
		commission: row.commission,
		network_fee: row.network_fee,
		currency: row.currency,
		reason: row.reason ?? null,
		test: row.test,
		source: row.source,
		pixel_basket_value: row.pixel_basket_value ?? null,
		confirmed_at_ms: row.confirmed_at_ms ?? null,
		decided_by: row.decided_by ?? null,
		occurred_at_ms: row.occurred_at_ms,
		created_at_ms: row.created_at_ms,
		window_ends_at_ms: row.window_ends_at_ms ?? null,
		updated_at_ms: row.updated_at_ms,
		imported_decision_at_ms: row.imported_decision_at_ms ?? null,
	};
}
