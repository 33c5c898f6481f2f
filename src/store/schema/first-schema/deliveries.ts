// Events, their deliveries, and every attempt.

import type { Dialect } from "../dialect.ts";

export function deliveryTables({
	generatedId,
	assignedId,
	clustered,
	updatedOften,
	shortLivedRows,
	appended,
}: Dialect): readonly string[] {
	return [
		// One row is an event that is announced to a receiver. It never changes.
		`create table events (
			id ${generatedId},
			programme_id bigint not null,
			receiver_id bigint not null,
			conversion_id bigint not null,
			name text not null,
			body text not null
		)`,
		// Allows one event of a name per conversion and receiver. Serves listDeliveriesOfConversion.
		"create unique index events_once_per_conversion on events (conversion_id, receiver_id, name)",

		// One row is the delivery of an event, and has the event's id.
		`create table deliveries (
			id ${assignedId},
			public_id text not null unique,
			programme_id bigint not null,
			receiver_id bigint not null,
			state text not null,
			run integer not null,
			attempts integer not null,
			last_verdict text,
			last_http_status integer,
			created_at_ms bigint not null,
			last_attempt_at_ms bigint,
			finished_at_ms bigint,
			failed_at_ms bigint,
			set_aside integer
		) ${updatedOften}`,
		// Serves a receiver's list of deliveries, the health of its callbacks, and the search for a pasted callback.
		"create index deliveries_by_receiver on deliveries (receiver_id, id)",
		// Serves the list of failed deliveries. It uses a column of its own, because storing a success must not change an
		// indexed column. PostgreSQL would otherwise write a new entry into every index of the row.
		`create index deliveries_failed on deliveries (receiver_id, failed_at_ms)
			where failed_at_ms is not null`,
		// Serves countFailed and failedWithin, which leave out deliveries that a person has set aside.
		`create index deliveries_in_sight on deliveries (receiver_id, failed_at_ms)
			where failed_at_ms is not null and set_aside is null`,

		// One row is a delivery that is still to be sent, and has the delivery's id.
		`create table queue (
			id ${assignedId},
			receiver_id bigint not null,
			due_at_ms bigint not null,
			endpoint_epoch integer not null,
			run integer not null,
			counted integer not null,
			seq integer not null
		) ${shortLivedRows}`,
		// Serves the engine, which reads the due deliveries of each receiver, and the list of pending deliveries.
		"create index queue_by_due on queue (receiver_id, due_at_ms, id)",

		// One row is a request that was sent to a receiver, with its result.
		`create table attempts (
			delivery_id bigint not null,
			seq integer not null,
			programme_id bigint not null,
			run integer not null,
			result text not null,
			http_status integer,
			detail text,
			started_at_ms bigint not null,
			took_ms double precision,
			look_up_ms double precision,
			connect_ms double precision,
			tls_ms double precision,
			answer_ms double precision,
			endpoint_id bigint,
			nonce text,
			signature text,
			answer text,
			primary key (delivery_id, seq)
		) ${clustered} ${appended}`,

		// One row is the number of attempts of a programme in one hour.
		`create table callback_hours (
			programme_id bigint not null,
			hour_ms bigint not null,
			delivered integer not null,
			failed integer not null,
			primary key (programme_id, hour_ms)
		) ${clustered}`,
		// Serves sumCallbacks over all programmes, and pruneSmall.
		"create index callback_hours_by_hour on callback_hours (hour_ms)",
	];
}
