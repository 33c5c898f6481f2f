// Figures for monitoring. They are read once a minute and never for a request. Their cost does not grow with the large
// tables.

import { sql } from "kysely";
import { MAILED_ROLES, NOTICE_KINDS } from "../../domain/notice.ts";
import type { Db, Store, StoreSize } from "../store.ts";
import { countFew, type FailingReceivers, listFailing } from "./delivery-health.ts";
import { CAN_SIGN_IN } from "./people.ts";

export interface Figures extends StoreSize {
	readAtMs: number;
	/** Number of notices whose mail is due. They are counted even if no mail server is configured. */
	unmailedNotices: number;
	/** Number of mails that are due. Mails that the server has refused do not count. */
	waitingMails: number;
	failing: FailingReceivers;
	failingPartners: FailingReceivers;
}

/** Maximum number of notices and mails that are counted. Nobody needs the exact number above it. */
export const MAX_COUNTED_MAILS = 10_000;
const MAX_FAILING_SHOWN = 20;

export async function readFigures(store: Pick<Store, "db" | "measureSize">, nowMs: number): Promise<Figures> {
	const { db } = store;
	return {
		readAtMs: nowMs,
		...(await store.measureSize()),
		unmailedNotices: await countUnmailedNotices(db, nowMs),
		waitingMails: await countWaitingMails(db, nowMs),
		failing: await listFailing(db, "shop", MAX_FAILING_SHOWN, nowMs),
		failingPartners: await listFailing(db, "partner", MAX_FAILING_SHOWN, nowMs),
	};
}

/**
 * Counts notices whose mail is due. A notice does not count if nobody is to be mailed about it or nobody wants such
 * mails, because the page already says so.
 */
export function countUnmailedNotices(db: Db, nowMs: number): Promise<number> {
	const wanted = NOTICE_KINDS.map(
		(kind) => sql`(n.kind = ${kind} and people.${sql.ref(`mails_${kind}`)} = 1)`,
	);
	return countFew(
		db,
		sql`select 1 from notices n where n.mail_due_at_ms <= ${nowMs} and exists (
			select 1 from receivers c join programme_people r on r.programme_id = c.programme_id
				join people on people.id = r.person_id
			where c.id = n.receiver_id and r.role in (${sql.join(MAILED_ROLES)}) and ${CAN_SIGN_IN}
				and (${sql.join(wanted, sql` or `)})
			union all
			select 1 from receivers c join partner_people r on r.partner_id = c.partner_id
				join people on people.id = r.person_id
			where c.id = n.receiver_id and ${CAN_SIGN_IN} and (${sql.join(wanted, sql` or `)}))`,
		MAX_COUNTED_MAILS,
	);
}

/**
 * Counts mails that are due, and mails that wait because the mail server is down. The latter become due again every
 * minute and are not due in between.
 */
function countWaitingMails(db: Db, nowMs: number): Promise<number> {
	return countFew(
		db,
		sql`select 1 from mail_queue where due_at_ms is not null
			and (due_at_ms <= ${nowMs} or (refusal is not null and tries = 0))`,
		MAX_COUNTED_MAILS,
	);
}
