// Events, their deliveries, and every attempt. A delivery has no row of its own. It is pending while its event has a
// row in `queue`, failed or cancelled while its event has a row in `undelivered`, and delivered otherwise.

import type { Dialect } from "../dialect.ts";

export function deliveryTables({
	generatedId,
	assignedId,
	clustered,
	shortLivedRows,
	appended,
}: Dialect): readonly string[] {
	return [
		// Each row is an event that is announced to a receiver. It never changes. The delivery is the sending of the
		// event and has the same id. `public_id` is the public id of the delivery. A partner's test callback has no
		// conversion.
		`create table events (
			id ${generatedId},
			public_id text not null unique,
			receiver_id bigint not null,
			conversion_id bigint,
			name text not null,
			body text not null,
			created_at_ms bigint not null
		) ${appended}`,
		// This unique index allows only one event of a name per conversion and receiver. It serves
		// listDeliveriesOfConversion, and EVENTS_OF_CONVERSION, which reads the events that receivers already have.
		"create unique index events_once_per_conversion on events (conversion_id, receiver_id, name)",
		// This index serves a receiver's list of deliveries, the health of its callbacks, and the search for a pasted
		// callback.
		"create index events_by_receiver on events (receiver_id, id)",
		// A later migration drops this index, because no query uses it any more.
		"create index events_of_tests on events (receiver_id, id) where conversion_id is null",

		// Each row is a pending delivery, which is still to be sent. It has the id of its event.
		`create table queue (
			id ${assignedId},
			receiver_id bigint not null,
			due_at_ms bigint not null,
			endpoint_epoch integer not null,
			run integer not null,
			counted integer not null,
			seq integer not null
		) ${shortLivedRows}`,
		// This index serves the engine, which reads the due deliveries of each receiver, and the list of pending
		// deliveries.
		"create index queue_by_due on queue (receiver_id, due_at_ms, id)",

		// Each row is a delivery that ended without a success. It has the id of its event. `state` is failed or
		// cancelled.
		`create table undelivered (
			id ${assignedId},
			receiver_id bigint not null,
			state text not null,
			run integer not null,
			ended_at_ms bigint not null,
			set_aside integer
		)`,
		// This index serves the lists of failed and of cancelled deliveries.
		"create index undelivered_by_receiver on undelivered (receiver_id, state, ended_at_ms, id)",
		// This index serves countFailed, failedWithin and listFailedReceivers, which leave out deliveries that a person
		// has set aside.
		`create index undelivered_in_sight on undelivered (receiver_id, state, ended_at_ms)
			where state = 'failed' and set_aside is null`,

		// Each row is a request that was sent to a receiver, with its result.
		`create table attempts (
			delivery_id bigint not null,
			seq integer not null,
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

		DELIVERIES_VIEW,

		// Each row is the number of attempts of a receiver in a quarter of an hour.
		`create table callback_quarters (
			receiver_id bigint not null,
			quarter_ms bigint not null,
			delivered integer not null,
			failed integer not null,
			primary key (receiver_id, quarter_ms)
		) ${clustered}`,
		// This index serves sumCallbacks over all receivers, and pruneCallbackCounts.
		"create index callback_quarters_by_time on callback_quarters (quarter_ms)",
	];
}

function ofNewestAttempt(column: string): string {
	return `(select ${column} from attempts a where a.delivery_id = e.id order by a.seq desc limit 1)`;
}

/**
 * View that derives every delivery from the tables that store it. The columns are subqueries instead of joins, so both
 * databases look up only the columns that a query names, and only for the rows that it returns. None of them is an
 * EXISTS, which PostgreSQL may answer by reading a whole table. A query for deliveries in a certain state must start
 * from `queue` or `undelivered`, because a condition on the view's state would read every event.
 */
const DELIVERIES_VIEW = `create view deliveries as
	select e.id, e.public_id, e.receiver_id, e.conversion_id, e.name, e.created_at_ms,
		case when (select q.id from queue q where q.id = e.id) is not null then 'pending'
			else coalesce((select u.state from undelivered u where u.id = e.id), 'delivered') end as state,
		coalesce((select q.run from queue q where q.id = e.id), (select u.run from undelivered u where u.id = e.id),
			${ofNewestAttempt("run")}, 1) as run,
		coalesce(${ofNewestAttempt("seq")}, 0) as attempts,
		(select q.due_at_ms from queue q where q.id = e.id) as due_at_ms,
		(select a.http_status from attempts a where a.delivery_id = e.id and a.http_status is not null
			order by a.seq desc limit 1) as last_http_status,
		${ofNewestAttempt("started_at_ms")} as last_attempt_at_ms,
		case when (select q.id from queue q where q.id = e.id) is not null then null
			else coalesce((select u.ended_at_ms from undelivered u where u.id = e.id),
				${ofNewestAttempt("cast(a.started_at_ms + a.took_ms as bigint)")}) end as finished_at_ms,
		(select u.ended_at_ms from undelivered u where u.id = e.id and u.state = 'failed') as failed_at_ms,
		(select u.set_aside from undelivered u where u.id = e.id) as set_aside
	from events e`;
