// What a programme's people are told about their callbacks: see domain/notice.

import type { Generated } from "kysely";
import type { NoticeKind, TroubleEnd } from "../../domain/notice.ts";
import type { Verdict } from "../../domain/verdict.ts";
import type { AttemptResult } from "./deliveries.ts";

export interface NoticesTable {
	id: Generated<number>;
	public_id: string;
	receiver_id: number;
	kind: NoticeKind;
	/** Of failing callbacks: when the first attempt failed. */
	opened_at_ms: number;
	/** Null while it is only watched: then nobody sees it. */
	told_at_ms: number | null;
	/** Set when callbacks worked again, or the Postback URL was removed. */
	ended_at_ms: number | null;
	ended_by: TroubleEnd | null;
	/** Attempts that failed in a row. */
	failed_attempts: number;
	/** Deliveries that finally failed. */
	failures: number;
	/** How many of the failures have been told by mail. */
	mailed_failures: number;
	/** The newest failed attempt: when it ended, of which delivery, and how it went. */
	last_failed_at_ms: number | null;
	last_delivery_id: number | null;
	last_result: AttemptResult | null;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	last_detail: string | null;
	/** When the owners are to be mailed next; null when there is nothing to tell. */
	mail_due_at_ms: number | null;
	/** The last mail that told of it, and the addresses it was written to. */
	mailed_at_ms: number | null;
	mailed_to: string | null;
	/** Those of them whose mail was given up. */
	mail_refused_to: string | null;
}
