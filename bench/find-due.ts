// Finding what is due, as the engine does it at the beginning of a pass: its own queries, and nothing else.

import type { Store } from "../src/store/store.ts";

/** Resolves to how many receivers were found. */
export async function findDue(store: Store): Promise<number> {
	const rows = await store.queue.agenda(store.db);
	return rows.length;
}
