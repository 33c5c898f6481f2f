// The inbound log: every call that came in, the refused ones too, and what it was told.

import type { Insertable } from "kysely";
import type { Db } from "./store.ts";
import type { InboundCallsTable } from "./tables/inbound.ts";

export type NewInboundCall = Insertable<InboundCallsTable>;

export async function insertInboundCalls(db: Db, calls: readonly NewInboundCall[]): Promise<void> {
	if (calls.length > 0) await db.insertInto("inbound_calls").values(calls).execute();
}
