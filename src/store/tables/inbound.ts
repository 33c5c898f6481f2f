// The inbound log.

import type { Generated } from "kysely";
import type { FaultCode } from "../../domain/fault.ts";
import type { Dialect } from "./dialect.ts";

export type InboundKind = "api" | "pixel";

/** Every call that came in, the refused ones too. */
export interface InboundCallsTable {
	id: Generated<number>;
	programme_id: number | null;
	kind: InboundKind;
	method: string;
	target: string;
	/** The outcome word of an accepted call, or the fault's code. */
	outcome: string | FaultCode;
	http_status: number;
	detail: string | null;
	order_id: string | null;
	/** Its public id, which stays when its row gets a new number. */
	conversion: string | null;
	at_ms: number;
}

export function inboundTables({ selfNumberedId, inPartitions }: Dialect): readonly string[] {
	const idColumn = inPartitions?.selfNumberedId("inbound_calls", "at_ms") ?? `id ${selfNumberedId}`;
	return [
		...(inPartitions?.before("inbound_calls") ?? []),
		`create table inbound_calls (
			${idColumn}, programme_id bigint, kind text not null, method text not null, target text not null,
			outcome text not null, http_status integer not null, detail text, order_id text, conversion text,
			at_ms bigint not null) ${inPartitions?.suffix("at_ms") ?? ""}`,
		"create index inbound_calls_by_programme on inbound_calls (programme_id, id)",
		// "Why is order 1234 not here?" must not read every call there ever was.
		`create index inbound_calls_by_order on inbound_calls (programme_id, order_id, id)
			where order_id is not null`,
		...(inPartitions?.rest("inbound_calls", "at_ms") ?? []),
	];
}
