// Chooses ids of receivers for tests. They begin far above those of programmes, so that a query that confuses the two
// finds nothing and its test fails.

import { sql } from "kysely";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { SLOTS } from "#core/domain/slot.ts";
import type { Store } from "#core/store/store.ts";

/**
 * Highest id that is not used. It is a multiple of the number of slots, so that the first receivers have the same
 * slots as in a new installation.
 */
const LAST_UNUSED = 1_000 * SLOTS;

/** Returns an id for tests that need no database. */
export function receiverId(id: number): ReceiverId {
	return id as ReceiverId;
}

/**
 * Raises the ids that the database assigns. The caller must call this after the migration and before it inserts the
 * first programme.
 */
export async function raiseReceiverIds({ kind, db }: Pick<Store, "kind" | "db">): Promise<void> {
	const statement =
		kind === "sqlite"
			? sql`insert into sqlite_sequence (name, seq) values ('receivers', ${LAST_UNUSED})`
			: sql`select setval(pg_get_serial_sequence('receivers', 'id'), ${LAST_UNUSED})`;
	await statement.execute(db);
}
