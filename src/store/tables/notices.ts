// What a programme's people are told about their callbacks: see domain/notice.

import type { Generated } from "kysely";
import type { NoticeKind, TroubleEnd } from "../../domain/notice.ts";
import type { Verdict } from "../../domain/verdict.ts";
import type { AttemptResult } from "./deliveries.ts";
import type { Dialect } from "./dialect.ts";

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
	/** Attempts that failed in a row; interrupted ones do not count. */
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
	/** The last mail that told of it, and the addresses it went to. */
	mailed_at_ms: number | null;
	mailed_to: string | null;
	/** The addresses that the mail server refused for good. */
	mail_refused_to: string | null;
}

export function noticeTables({ selfNumberedId, rewritten }: Dialect): readonly string[] {
	return [
		`create table notices (
			id ${selfNumberedId}, public_id text not null unique, receiver_id bigint not null, kind text not null,
			opened_at_ms bigint not null, told_at_ms bigint, ended_at_ms bigint, ended_by text,
			failed_attempts integer not null, failures integer not null, mailed_failures integer not null,
			last_failed_at_ms bigint, last_delivery_id bigint, last_result text, last_verdict text,
			last_http_status integer, last_detail text, mail_due_at_ms bigint,
			mailed_at_ms bigint, mailed_to text, mail_refused_to text) ${rewritten}`,
		// At most one open trouble per receiver, however many engines see it fail at once.
		`create unique index notices_open on notices (receiver_id)
			where kind = 'callbacks_failing' and ended_at_ms is null`,
		"create index notices_by_receiver on notices (receiver_id, id)",
		"create index notices_watched on notices (opened_at_ms) where told_at_ms is null",
		"create index notices_to_mail on notices (mail_due_at_ms) where mail_due_at_ms is not null",
	];
}
