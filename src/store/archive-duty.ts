// Who is on duty to archive: one process at a time, so that no line is written twice. Duty ends by itself when it is
// not renewed, and is told from the next by the moment until which it is good. No lock of the server's: one held for
// minutes would hold back everybody's clearing up, and behind a pooler it would be somebody else's.

import type { Db } from "./store.ts";

/** Between two renewals a batch is read, a file brought to the disk or a batch removed: seconds, on a slow disk. */
export const DUTY_MS = 300_000;

/** Until when it is good; null while it is another's. */
export async function takeDuty(db: Db, nowMs: number): Promise<number | null> {
	const { numInsertedOrUpdatedRows } = await db
		.insertInto("archive_duty")
		.values({ one: 1, until_ms: nowMs + DUTY_MS })
		.onConflict((conflict) =>
			conflict
				.column("one")
				.doUpdateSet((eb) => ({ until_ms: eb.ref("excluded.until_ms") }))
				.where("archive_duty.until_ms", "<=", nowMs),
		)
		.executeTakeFirst();
	return numInsertedOrUpdatedRows === 1n ? nowMs + DUTY_MS : null;
}

/** Until when it is good from now on; null when it is another's by now. */
export async function renewDuty(db: Db, untilMs: number, nowMs: number): Promise<number | null> {
	// Later each time, also within a millisecond or after the clock was set back: each duty has one moment to itself.
	const renewedMs = Math.max(untilMs + 1, nowMs + DUTY_MS);
	return (await moveDuty(db, untilMs, renewedMs)) ? renewedMs : null;
}

export async function endDuty(db: Db, untilMs: number): Promise<void> {
	await moveDuty(db, untilMs, 0);
}

async function moveDuty(db: Db, fromMs: number, toMs: number): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("archive_duty")
		.set({ until_ms: toMs })
		.where("until_ms", "=", fromMs)
		.executeTakeFirst();
	return numUpdatedRows === 1n;
}
