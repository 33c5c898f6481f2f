// Notices of failing callbacks, from the first failed attempt to the success that ends the trouble (domain/notice.ts
// has the states). The engine writes them when it stores results, for many receivers at once. The second part of this
// file reads notices for pages and mails.

import { type Selectable, sql } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { TroubleEnd, WatchedTrouble } from "../../domain/notice.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import type { Db } from "../store.ts";
import type { NoticesTable } from "../tables/notices.ts";
import { type ListPage, type PageRequest, readListPage, walkNewest } from "./list-page.ts";

export type Notice = Selectable<NoticesTable>;

/**
 * Consecutive failed attempts of one receiver. The outcome is that of the last final failure, or of the last attempt
 * if no delivery has finally failed.
 */
export type FailedAttempts = Pick<
	Notice,
	"receiver_id" | "opened_at_ms" | "failed_attempts" | "failures" | (typeof LAST_FAILURE)[number]
>;

const LAST_FAILURE = [
	"last_failed_at_ms",
	"last_delivery_id",
	"last_result",
	"last_verdict",
	"last_http_status",
	"last_detail",
] as const;

export interface OpenTrouble extends WatchedTrouble {
	id: number;
	receiverId: ReceiverId;
	/** Time at which the notice was published, or null while it is only watched. */
	toldAtMs: number | null;
	/** Time of the last mail about the receiver's callbacks, or null. */
	lastMailedAtMs: number | null;
}

/**
 * Maximum number of rows in one statement. It keeps the number of parameters far below the limit of either database.
 */
const ROWS_A_STATEMENT = 500;

/**
 * Adds failures to the open notice of each receiver. If a receiver has none, it opens a notice that is only watched.
 * `failed` must have at most one entry for each receiver.
 */
export async function addFailures(
	trx: Db,
	failed: readonly (FailedAttempts & { public_id: string })[],
): Promise<OpenTrouble[]> {
	const troubles: OpenTrouble[] = [];
	for (let start = 0; start < failed.length; start += ROWS_A_STATEMENT) {
		troubles.push(...(await upsert(trx, failed.slice(start, start + ROWS_A_STATEMENT))));
	}
	return troubles;
}

function latestOf(column: (typeof LAST_FAILURE)[number]) {
	const [before, now] = [sql.ref(`notices.${column}`), sql.ref(`excluded.${column}`)];
	return sql`case when notices.failures > 0 and excluded.failures = 0 then ${before} else ${now} end`;
}

function upsert(
	trx: Db,
	failed: readonly (FailedAttempts & { public_id: string })[],
): Promise<OpenTrouble[]> {
	return trx
		.insertInto("notices")
		.values(failed.map((row) => ({ ...row, kind: "callbacks_failing", mailed_failures: 0 })))
		.onConflict((conflict) =>
			conflict
				.column("receiver_id")
				.where("kind", "=", sql.lit("callbacks_failing"))
				.where("ended_at_ms", "is", null)
				.doUpdateSet((eb) => ({
					failed_attempts: eb("notices.failed_attempts", "+", eb.ref("excluded.failed_attempts")),
					failures: eb("notices.failures", "+", eb.ref("excluded.failures")),
					...Object.fromEntries(LAST_FAILURE.map((column) => [column, latestOf(column)])),
				})),
		)
		.returning((eb) => [
			"id",
			"receiver_id as receiverId",
			"opened_at_ms as openedAtMs",
			"told_at_ms as toldAtMs",
			"failed_attempts as failedAttempts",
			"failures",
			eb
				.selectFrom("receivers")
				.select("last_mailed_at_ms")
				.whereRef("receivers.id", "=", "notices.receiver_id")
				.as("lastMailedAtMs"),
		])
		.execute();
}

/** Publishes notices and makes their mail due. The code that sends mails keeps the interval between two mails. */
export async function tellTroubles(trx: Db, ids: readonly number[], nowMs: number): Promise<void> {
	await trx
		.updateTable("notices")
		.set((eb) => ({
			told_at_ms: eb.fn.coalesce("told_at_ms", eb.val(nowMs)),
			mail_due_at_ms: eb.fn.coalesce("mail_due_at_ms", eb.val(nowMs)),
		}))
		.where("id", "in", ids)
		.execute();
}

/**
 * Publishes the notice that has been watched for the longest time, if it was opened at or before the given time.
 * Returns false if no such notice exists.
 */
export async function tellWatched(db: Db, openedUntilMs: number, nowMs: number): Promise<boolean> {
	// The condition is repeated, because on PostgreSQL another process may have changed the row after the subquery found it.
	const { rows } = await sql`update notices set told_at_ms = ${nowMs}, mail_due_at_ms = ${nowMs}
		where id = (select id from notices where told_at_ms is null and opened_at_ms <= ${openedUntilMs}
				order by opened_at_ms limit 1)
			and told_at_ms is null returning id`.execute(db);
	return rows.length > 0;
}

/**
 * Removes watched notices of receivers without a URL. An attempt that was in flight when the URL was removed can open
 * such a notice.
 */
export async function forgetWatched(db: Db, openedUntilMs: number): Promise<void> {
	await sql`delete from notices where told_at_ms is null and opened_at_ms <= ${openedUntilMs}
		and receiver_id in (select id from receivers where endpoint_id is null)`.execute(db);
}

/** Ends open notices and resolves to those that were published. Notices that were only watched are removed. */
export async function endTroubles(
	trx: Db,
	receiverIds: readonly ReceiverId[],
	by: TroubleEnd,
	nowMs: number,
): Promise<{ receiverId: ReceiverId }[]> {
	const ended = await trx
		.updateTable("notices")
		.set({ ended_at_ms: nowMs, ended_by: by })
		.where("receiver_id", "in", receiverIds)
		// The kind is a literal and not a parameter, because both databases use the partial index only for a literal.
		.where("kind", "=", sql.lit("callbacks_failing"))
		.where("ended_at_ms", "is", null)
		.returning(["id", "receiver_id as receiverId", "told_at_ms as toldAtMs"])
		.execute();
	const watched = ended.filter(({ toldAtMs }) => toldAtMs === null).map(({ id }) => id);
	if (watched.length > 0) await trx.deleteFrom("notices").where("id", "in", watched).execute();
	return ended.filter(({ toldAtMs }) => toldAtMs !== null);
}

export async function addRecoveries(
	trx: Db,
	recoveries: readonly { receiverId: ReceiverId; publicId: string }[],
	nowMs: number,
): Promise<void> {
	await trx
		.insertInto("notices")
		.values(
			recoveries.map(({ receiverId, publicId }) => ({
				public_id: publicId,
				receiver_id: receiverId,
				kind: "callbacks_working_again" as const,
				opened_at_ms: nowMs,
				told_at_ms: nowMs,
				failed_attempts: 0,
				failures: 0,
				mailed_failures: 0,
				mail_due_at_ms: nowMs,
			})),
		)
		.execute();
}

/** Notice with the delivery that failed last. Pages show a watched notice only as part of the present health. */
export interface ShownNotice extends Notice {
	/** Public id of the delivery whose attempt failed last, or null if there is none or it has been pruned. */
	lastDeliveryPublicId: string | null;
	lastEvent: EventName | null;
	/** Order of the conversion of the last failed delivery. Null for a partner, who must not see order ids. */
	lastOrderId: string | null;
	lastConversionId: string | null;
}

function selectNotices(db: Db) {
	return db
		.selectFrom("notices")
		.leftJoin("events", "events.id", "notices.last_delivery_id")
		.leftJoin("conversions", "conversions.id", "events.conversion_id")
		.leftJoin("receivers", "receivers.id", "events.receiver_id")
		.selectAll("notices")
		.select((eb) => [
			"events.public_id as lastDeliveryPublicId",
			"events.name as lastEvent",
			"conversions.public_id as lastConversionId",
			eb
				.case()
				.when("receivers.kind", "=", "shop")
				.then(eb.ref("conversions.order_id"))
				.else(null)
				.end()
				.as("lastOrderId"),
		]);
}

/**
 * Lists published notices of failing callbacks, the newest first. Notices of a recovery are left out. They exist for
 * the mail, and each notice of failing callbacks shows its end anyway.
 */
export async function listNotices(
	db: Db,
	receiverId: ReceiverId,
	page: PageRequest,
): Promise<ListPage<ShownNotice>> {
	const notices = selectNotices(db)
		.where("notices.receiver_id", "=", receiverId)
		.where("notices.kind", "=", "callbacks_failing")
		.where("notices.told_at_ms", "is not", null);
	return readListPage(walkNewest(db, notices, "notices.id"), page);
}

/** Returns the open notice, including one that is only watched. The index notices_open allows one for each receiver. */
export async function findOpenNotice(db: Db, receiverId: ReceiverId): Promise<ShownNotice | undefined> {
	return (
		selectNotices(db)
			.where("notices.receiver_id", "=", receiverId)
			// The kind is a literal and not a parameter, because both databases use the partial index only for a literal.
			.where("notices.kind", "=", sql.lit("callbacks_failing"))
			.where("notices.ended_at_ms", "is", null)
			.executeTakeFirst()
	);
}

export interface ReceiverToMail {
	receiverId: ReceiverId;
	/** The programme whose shop the receiver is, or null for a partner. */
	programmeId: number | null;
	/** The partner that the receiver is, or null for a shop. */
	partnerId: number | null;
	sinceMs: number | null;
}

/** Returns the receiver whose mail has been due for the longest time, and since when. */
export async function findReceiverToMail(db: Db, nowMs: number): Promise<ReceiverToMail | undefined> {
	return db
		.selectFrom("notices")
		.innerJoin("receivers", "receivers.id", "notices.receiver_id")
		.select([
			"receivers.id as receiverId",
			"receivers.programme_id as programmeId",
			"receivers.partner_id as partnerId",
			"mail_due_at_ms as sinceMs",
		])
		.where("mail_due_at_ms", "<=", nowMs)
		.orderBy("mail_due_at_ms")
		.limit(1)
		.executeTakeFirst();
}

/** Returns the notices that go into the next mail, the oldest first. */
export async function findNoticesToMail(db: Db, receiverId: ReceiverId): Promise<ShownNotice[]> {
	return selectNotices(db)
		.where("notices.receiver_id", "=", receiverId)
		.where("notices.mail_due_at_ms", "is not", null)
		.orderBy("notices.id")
		.execute();
}

/**
 * Marks notices as mailed, in the transaction that writes the mail. The number of failures that the mail mentions is
 * stored, so that the next mail mentions failures added meanwhile.
 */
export async function markMailed(
	trx: Db,
	{ id, failures: told }: Notice,
	to: readonly string[],
	nowMs: number,
): Promise<void> {
	await trx
		.updateTable("notices")
		.set((eb) => ({
			mailed_failures: told,
			mailed_at_ms: nowMs,
			mailed_to: to.join(", "),
			mail_refused_to: null,
			mail_due_at_ms: eb.case().when("failures", ">", told).then(nowMs).else(eb.lit(null)).end(),
		}))
		.where("id", "=", id)
		.execute();
}

/**
 * Stores that the mail server refused the mail to this reader. The notice keeps this fact longer than the mail queue
 * does.
 */
export async function storeMailRefusal(
	trx: Db,
	receiverId: ReceiverId,
	mailedAtMs: number,
	email: string,
): Promise<void> {
	await trx
		.updateTable("notices")
		.set({ mail_refused_to: sql`coalesce(mail_refused_to || ', ', '') || ${email}` })
		.where("receiver_id", "=", receiverId)
		.where("mailed_at_ms", "=", mailedAtMs)
		.execute();
}

/**
 * Claims the next mail about a receiver. Returns false if any process has mailed about the receiver since the given
 * time, so that the minimum interval between mails is kept.
 */
export async function claimNoticeMail(
	trx: Db,
	receiverId: ReceiverId,
	notSinceMs: number,
	nowMs: number,
): Promise<boolean> {
	const { numUpdatedRows } = await trx
		.updateTable("receivers")
		.set({ last_mailed_at_ms: nowMs })
		.where("id", "=", receiverId)
		.where((eb) => eb.or([eb("last_mailed_at_ms", "is", null), eb("last_mailed_at_ms", "<=", notSinceMs)]))
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

/** Postpones mails about this receiver that are due earlier. */
export async function postponeNoticeMail(trx: Db, receiverId: ReceiverId, untilMs: number): Promise<void> {
	await trx
		.updateTable("notices")
		.set({ mail_due_at_ms: untilMs })
		.where("receiver_id", "=", receiverId)
		.where("mail_due_at_ms", "<", untilMs)
		.execute();
}

/** Claims the mail to staff about failing shops. Returns false if such a mail was sent since the given time. */
export async function claimStaffMail(trx: Db, notSinceMs: number, nowMs: number): Promise<boolean> {
	const { numUpdatedRows } = await trx
		.updateTable("network")
		.set({ staff_told_at_ms: nowMs })
		.where((eb) => eb.or([eb("staff_told_at_ms", "is", null), eb("staff_told_at_ms", "<=", notSinceMs)]))
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}
