// When the database was last backed up by `ringback backup`, as far as it knows itself.

import type { Db } from "../store.ts";

export async function readLastBackup(db: Db): Promise<number | null> {
	const { backed_up_at_ms } = await db
		.selectFrom("network")
		.select("backed_up_at_ms")
		.executeTakeFirstOrThrow();
	return backed_up_at_ms;
}

export async function noteBackup(db: Db, atMs: number): Promise<void> {
	await db.updateTable("network").set({ backed_up_at_ms: atMs }).execute();
}
