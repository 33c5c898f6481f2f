// Audits invariant 8. At any time, a shop whose newest attempts failed has an open notice, a shop whose
// newest attempt succeeded has none, and no owner is notified too early. Failed tests do not count. At the
// end of a run, every final failure is in a notice, every notice was mailed, and nobody got too many mails.

import type { DatabaseSync } from "node:sqlite";
import { demand } from "../support/broken.ts";
import { TEST_EVENTS } from "./delivery-auditor.ts";

/** The promise that this auditor checks. */
const NOTIFIED = "8 owners learn of failures";

export interface SentMail {
	to: string;
	/** True time of the mail. */
	atMs: number;
	/** Number of failures that the text of the mail mentions. */
	failures: number;
	/** True if the mail is about callbacks. A shop gets at most one in a quarter of an hour. */
	isNotice: boolean;
}

const MAIL_INTERVAL_MS = 15 * 60_000;
/**
 * Duration of trouble after which owners are notified, even if no delivery has finally failed. The value is written
 * independently of the product.
 */
const TOLD_AFTER_MS = 10 * 60_000;
/** Number of failed attempts after which owners are notified, even if no delivery has finally failed. */
const TOLD_AFTER_ATTEMPTS = 5;
/** Maximum difference between the ends of two requests whose results one pass may store in either order. */
const CLOSE_MS = 10_000;
/** Time that is longer than any stall. */
const STANDSTILL_MS = 60 * 60_000;
/** Time after the end of the faults by which every process runs and has stored its results. */
const SETTLING_MS = 5 * 60_000;

interface Newest {
	receiverId: number;
	/** Time at which the newest success ended, or 0 if there is none. */
	succeededAtMs: number;
	/** Time at which the newest failure ended, or 0 if there is none. */
	failedAtMs: number;
	/** Time at which the Postback URL was last removed. */
	removedAtMs: number;
	/** Number of open notices about failing callbacks. */
	open: number;
}

/**
 * Checks the notices of all receivers. During faults, a stalled process may store late results together that ended
 * minutes apart, and a final failure among them decides. A request that was in flight when its URL was removed may end
 * much later, and nobody is notified of its failure.
 */
export function auditTroubles(database: DatabaseSync, calmSinceMs: number): void {
	const rows = database
		.prepare(
			`select r.id as receiverId,
				coalesce((select max(a.started_at_ms + a.took_ms) from attempts a join events v on v.id = a.delivery_id where v.receiver_id = r.id
					and a.result = 'answered' and a.http_status between 200 and 299), 0) as succeededAtMs,
				coalesce((select max(a.started_at_ms + a.took_ms) from attempts a join events v on v.id = a.delivery_id where v.receiver_id = r.id
					and not (a.result = 'answered' and a.http_status between 200 and 299)
					and a.delivery_id not in (${TEST_EVENTS})), 0) as failedAtMs,
				coalesce((select max(e.at_ms) from audit_entries e where e.programme_id = r.programme_id
					and e.action = 'postback_url.removed'), 0) as removedAtMs,
				(select count(*) from notices n where n.receiver_id = r.id and n.kind = 'callbacks_failing'
					and n.ended_at_ms is null) as open
				from receivers r`,
		)
		.all() as unknown as Newest[];
	for (const { receiverId, succeededAtMs, failedAtMs, removedAtMs, open } of rows) {
		const fails = failedAtMs > Math.max(succeededAtMs, removedAtMs + STANDSTILL_MS) + CLOSE_MS;
		demand(
			!fails || open === 1,
			NOTIFIED,
			() => `receiver ${receiverId} fails, and has ${open} open notices`,
		);
		const works = succeededAtMs > Math.max(failedAtMs, calmSinceMs + SETTLING_MS) + CLOSE_MS;
		demand(
			!works || open === 0,
			NOTIFIED,
			() => `receiver ${receiverId} works, and has ${open} open notices`,
		);
	}
	const early = database
		.prepare(
			`select id from notices where kind = 'callbacks_failing' and failures = 0
				and failed_attempts < ? and told_at_ms < opened_at_ms + ?`,
		)
		.all(TOLD_AFTER_ATTEMPTS, TOLD_AFTER_MS);
	demand(early.length === 0, NOTIFIED, () => `${early.length} troubles were told too early`);
}

export function auditNotices(
	database: DatabaseSync,
	failuresOf: ReadonlyMap<number, number>,
	mails: readonly SentMail[],
	emailOf: ReadonlyMap<number, string>,
): void {
	const notices = database
		.prepare(
			`select receiver_id, kind, failures, mailed_failures, told_at_ms, ended_by, mail_due_at_ms, mailed_at_ms
				from notices`,
		)
		.all();
	for (const [receiverId, failures] of failuresOf) {
		const ownNotices = notices.filter(
			(row) => row["receiver_id"] === receiverId && row["kind"] === "callbacks_failing",
		);
		const noted = ownNotices.reduce((sum, row) => sum + Number(row["failures"]), 0);
		demand(noted === failures, NOTIFIED, () => `receiver ${receiverId}: ${failures} failed, ${noted} noted`);
		const mailed = ownNotices.reduce((sum, row) => sum + Number(row["mailed_failures"]), 0);
		demand(
			mailed === failures,
			NOTIFIED,
			() => `receiver ${receiverId}: ${failures} failed, ${mailed} mailed`,
		);
		const received = mails.filter(({ to, isNotice }) => isNotice && to === emailOf.get(receiverId));
		demand(received.length > 0 || failures === 0, NOTIFIED, () => `receiver ${receiverId} got no mail`);
		const mentioned = received.reduce((sum, mail) => sum + mail.failures, 0);
		demand(
			mentioned >= failures,
			NOTIFIED,
			() => `receiver ${receiverId}: ${failures} failed, the mails speak of ${mentioned}`,
		);
		const gaps = received.slice(1).map(({ atMs }, index) => atMs - (received[index]?.atMs ?? 0));
		const shortestMs = Math.min(...gaps, Number.POSITIVE_INFINITY);
		demand(
			shortestMs >= MAIL_INTERVAL_MS,
			NOTIFIED,
			() => `receiver ${receiverId} got two mails within ${shortestMs} ms`,
		);
	}
	const ended = notices.filter((row) => row["ended_by"] === "success").length;
	const again = notices.filter((row) => row["kind"] === "callbacks_working_again").length;
	demand(ended === again, NOTIFIED, () => `${ended} troubles ended, ${again} were told to work again`);
	const waiting = notices.filter((row) => row["mail_due_at_ms"] !== null).length;
	demand(waiting === 0, NOTIFIED, () => `${waiting} notices still wait to be mailed`);
	const untold = notices.filter((row) => row["told_at_ms"] !== null && row["mailed_at_ms"] === null).length;
	demand(untold === 0, NOTIFIED, () => `${untold} notices were never mailed`);
}
