// Ids of receivers. In the databases of tests they begin far above those of programmes, so that a query that uses one for the
// other finds nothing and its test fails.

import { sql } from "kysely";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { SLOTS } from "#core/domain/slot.ts";
import type { Store } from "#core/store/store.ts";

/** A multiple of the number of slots, so that the first receivers have the same slots as in a new installation. */
const LAST_UNUSED = 1_000 * SLOTS;

/** Returns an id for tests that need no database. */
export function receiverId(id: number): ReceiverId {
	return id as ReceiverId;
}

/** Must be called after the migration and before the first programme is inserted. */
export async function raiseReceiverIds({ kind, db }: Pick<Store, "kind" | "db">): Promise<void> {
	const statement =
		kind === "sqlite"
			? sql`insert into sqlite_sequence (name, seq) values ('receivers', ${LAST_UNUSED})`
			: sql`select setval(pg_get_serial_sequence('receivers', 'id'), ${LAST_UNUSED})`;
	await statement.execute(db);
}
