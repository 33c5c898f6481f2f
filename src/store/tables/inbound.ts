// The inbound log.

import type { Generated } from "kysely";
import type { FaultCode } from "../../domain/fault.ts";

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
