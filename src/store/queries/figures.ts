// How much there is, for whoever watches the installation: read once a minute, and by nobody's request. Nothing here
// grows with the large tables.

import { sql } from "kysely";
import { MAIL_KINDS, MAILED_ROLES } from "../../domain/notice.ts";
import type { Db, Store, StoreSize } from "../store.ts";
import { type FailingShops, listFailingShops } from "./delivery-health.ts";
import { countFew } from "./list-page.ts";

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
export async function countUnmailedNotices(db: Db, nowMs: number): Promise<number> {
	const unmailed = db
		.selectFrom("notices")
		.select("id")
		.where("mail_due_at_ms", "<=", nowMs)
		.where((notice) =>
			notice.exists(
				notice
					.selectFrom("programme_people")
					.innerJoin("people", "people.id", "programme_people.person_id")
					.select("people.id")
					.whereRef("programme_people.programme_id", "=", "notices.receiver_id")
					.where("programme_people.role", "in", MAILED_ROLES)
					.where((reader) =>
						reader.or(
							MAIL_KINDS.map((kind) =>
								reader.and([reader("notices.kind", "=", kind), reader(`people.mails_${kind}`, "=", 1)]),
							),
						),
					),
			),
		)
		.limit(sql.lit(MAX_COUNTED_MAILS));
	const { count } = await db.selectNoFrom(countFew(unmailed).as("count")).executeTakeFirstOrThrow();
	return count;
}

async function countWaitingMails(db: Db, nowMs: number): Promise<number> {
	const waiting = db
		.selectFrom("mail_queue")
		.select("id")
		.where("due_at_ms", "is not", null)
		// While the server itself fails they are due again every minute, and are not due in between.
		.where((mail) =>
			mail.or([
				mail("due_at_ms", "<=", nowMs),
				mail.and([mail("refusal", "is not", null), mail("tries", "=", 0)]),
			]),
		)
		.limit(sql.lit(MAX_COUNTED_MAILS));
	const { count } = await db.selectNoFrom(countFew(waiting).as("count")).executeTakeFirstOrThrow();
	return count;
}
