// The trouble of a programme's callbacks at this moment: what every page shows, and what health goes by.

import { isSerious } from "../domain/notice.ts";
import { countUndelivered, type Undelivered } from "../store/delivery-health.ts";
import { findOpenNotice, type ShownNotice } from "../store/notice-list.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";

export interface PresentTrouble {
	notice: ShownNotice;
	/** Otherwise it is only watched: a few attempts have failed, and the next may succeed. */
	isSerious: boolean;
	undelivered: Undelivered;
}

/** Null when the newest attempt succeeded. */
export async function readTrouble(
	db: Db,
	{ id, endpoint_id: endpointId }: Pick<Programme, "id" | "endpoint_id">,
	nowMs: number,
): Promise<PresentTrouble | null> {
	// Without a URL nothing is sent, so nothing is failing; a request that was in flight may have left a notice open.
	if (endpointId === null) return null;
	const notice = await findOpenNotice(db, id);
	if (notice === undefined) return null;
	const { opened_at_ms: openedAtMs, failed_attempts: failedAttempts, failures } = notice;
	return {
		notice,
		isSerious: notice.told_at_ms !== null || isSerious({ openedAtMs, failedAttempts, failures }, nowMs),
		undelivered: await countUndelivered(db, id),
	};
}
