// Trouble that has lasted for ten minutes is told, although no attempt may be due just then: with one event waiting, the
// third attempt is made after six minutes and the fourth after thirty-six.

import { mailDueAtMs, SERIOUS_AFTER_MS } from "../domain/notice.ts";
import type { Clock } from "../ports.ts";
import { lastMailedAtMs } from "../store/notice-mails.ts";
import { findWatched, forgetWatched, tellWatched } from "../store/notices.ts";
import type { Store } from "../store/store.ts";

const BATCH_ROWS = 100;

/** Resolves to how many were told. */
export async function tellEarly(
	{ store: { db }, clock }: { store: Store; clock: Clock },
	isStopping: () => boolean,
): Promise<number> {
	let told = 0;
	while (!isStopping()) {
		const nowMs = clock.nowMs();
		const watched = await findWatched(db, nowMs - SERIOUS_AFTER_MS, BATCH_ROWS);
		if (watched.length === 0) break;
		const mailed = await lastMailedAtMs(
			db,
			watched.map(({ receiverId }) => receiverId),
		);
		// One by one, each in a statement of its own: nobody waits for another's notice while this has one locked.
		for (const { id, receiverId, hasUrl } of watched) {
			const dueAtMs = mailDueAtMs(nowMs, mailed.get(receiverId) ?? null);
			// An attempt that was in flight when the URL was removed may have opened it: nothing more will be sent.
			if (!hasUrl) await forgetWatched(db, id);
			else if (await tellWatched(db, id, dueAtMs, nowMs)) told++;
		}
	}
	return told;
}
