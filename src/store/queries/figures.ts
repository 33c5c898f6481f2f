// How much there is, for whoever watches the installation: read once a minute, and by nobody's request. Nothing here
// grows with the large tables.

import { sql } from "kysely";
import { MAIL_KINDS, MAILED_ROLES } from "../../domain/notice.ts";
import type { Db, Store, StoreSize } from "../store.ts";
import { countFew, type FailingShops, listFailingShops } from "./delivery-health.ts";

export interface Figures extends StoreSize {
	readAtMs: number;
	/** Notices that somebody is to be mailed about by now and is not yet; also where there is no mail server. */
	unmailedNotices: number;
	/** Mails that are written and should have been sent; those that the server refused are not counted. */
	waitingMails: number;
	failing: FailingShops;
}

/** Beyond it nobody reads the exact number. */
export const MAX_COUNTED_MAILS = 10_000;
/** So many series at most, however many shops are failing. */
const MAX_FAILING_SHOWN = 20;

export async function readFigures(store: Pick<Store, "db" | "measureSize">, nowMs: number): Promise<Figures> {
	const { db } = store;
	return {
		readAtMs: nowMs,
		...(await store.measureSize()),
		unmailedNotices: await countUnmailedNotices(db, nowMs),
		waitingMails: await countWaitingMails(db, nowMs),
		failing: await listFailingShops(db, MAX_FAILING_SHOWN, nowMs),
	};
}

/** Where nobody is to be mailed, or nobody wants it, there is nothing to wait for: the page says it. */
export function countUnmailedNotices(db: Db, nowMs: number): Promise<number> {
	const wanted = MAIL_KINDS.map((kind) => sql`(n.kind = ${kind} and p.${sql.ref(`mails_${kind}`)} = 1)`);
	return countFew(
		db,
		sql`select 1 from notices n where n.mail_due_at_ms <= ${nowMs} and exists (
			select 1 from programme_people r join people p on p.id = r.person_id
			where r.programme_id = n.receiver_id and r.role in (${sql.join(MAILED_ROLES)})
				and (${sql.join(wanted, sql` or `)}))`,
		MAX_COUNTED_MAILS,
	);
}

/** While the server itself fails they are due again every minute, and are not due in between. */
function countWaitingMails(db: Db, nowMs: number): Promise<number> {
	return countFew(
		db,
		sql`select 1 from mail_queue where due_at_ms is not null
			and (due_at_ms <= ${nowMs} or (refusal is not null and tries = 0))`,
		MAX_COUNTED_MAILS,
	);
}
