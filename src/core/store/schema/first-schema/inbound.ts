// Log of inbound calls, and the answers of developers' own servers to the events of `ringback listen`.

import type { Dialect } from "../dialect.ts";

export function inboundTables({ generatedId, appended }: Dialect): readonly string[] {
	return [
		// Each row is an inbound call, accepted or refused.
		`create table inbound_calls (
			id ${generatedId},
			programme_id bigint,
			kind text not null,
			method text not null,
			target text not null,
			outcome text not null,
			http_status integer not null,
			detail text,
			order_id text,
			conversion text,
			at_ms bigint not null,
			request_id text
		) ${appended}`,
		// This index serves listInboundCalls.
		"create index inbound_calls_by_programme on inbound_calls (programme_id, id)",
		// This index serves listInboundCalls for one order, which answers "why is order 1234 not here?".
		`create index inbound_calls_by_order on inbound_calls (programme_id, order_id, id)
			where order_id is not null`,

		// Each row is a receiver whose events somebody has listened to.
		`create table listeners (
			receiver_id bigint primary key references receivers (id),
			seen_at_ms bigint not null,
			closed_at_ms bigint
		)`,

		// Each row is the answer of a listener's own server to an event.
		`create table local_answers (
			id ${generatedId},
			receiver_id bigint not null references receivers (id),
			conversion text not null,
			event text not null,
			outcome text not null,
			http_status integer,
			code text,
			took_ms integer,
			at_ms bigint not null
		)`,
		// This index serves listNewestAnswers.
		"create index local_answers_by_receiver on local_answers (receiver_id, id)",
		// This index serves listAnswersOf.
		"create index local_answers_by_conversion on local_answers (conversion, receiver_id, id)",
	];
}
