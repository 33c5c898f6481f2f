// What a programme's people are told about their callbacks.

import type { Generated } from "kysely";
import type { NoticeKind } from "../../domain/notice.ts";
import type { Verdict } from "../../domain/verdict.ts";
import type { Dialect } from "./dialect.ts";

export interface NoticesTable {
	id: Generated<number>;
	public_id: string;
	receiver_id: number;
	kind: NoticeKind;
	opened_at_ms: number;
	updated_at_ms: number;
	/** Set when callbacks worked again. */
	ended_at_ms: number | null;
	failures: number;
	/** How many of the failures have been told by mail. */
	mailed_failures: number;
	last_delivery_id: number | null;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	/** When the owners are to be mailed next; null when there is nothing to tell. */
	mail_due_at_ms: number | null;
	/** The last mail that told of it, and the addresses it went to. */
	mailed_at_ms: number | null;
	mailed_to: string | null;
}

export function noticeTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table notices (
			id ${selfNumberedId}, public_id text not null unique, receiver_id bigint not null, kind text not null,
			opened_at_ms bigint not null, updated_at_ms bigint not null, ended_at_ms bigint,
			failures integer not null, mailed_failures integer not null,
			last_delivery_id bigint, last_verdict text, last_http_status integer, mail_due_at_ms bigint,
			mailed_at_ms bigint, mailed_to text)`,
		// At most one open trouble per receiver, however many engines see it fail at once.
		`create unique index notices_open on notices (receiver_id)
			where kind = 'callbacks_failing' and ended_at_ms is null`,
		"create index notices_by_receiver on notices (receiver_id, id)",
		"create index notices_to_mail on notices (mail_due_at_ms) where mail_due_at_ms is not null",
	];
}
