// Conversions and their history. Neither these tables nor tables that depend on conversions have foreign keys. On
// PostgreSQL, each foreign key would lock the programme's row for every sale, although every use case has just read
// the rows to which its new rows refer.

import type { Dialect } from "../dialect.ts";

/** SQL expression for the number that `listKind` in tables/conversions.ts returns. */
const LIST_KIND = `
	case status when 'PARKED' then 0 when 'EXPIRED' then 16 when 'RECORDED' then 32 when 'APPROVED' then 48
		when 'REJECTED' then 64 when 'REVERSED' then 80 end
	+ case event_type when 'SALE' then 0 when 'LEAD' then 2 when 'SIGNUP' then 4 when 'SUBSCRIPTION' then 6
		when 'RENEWAL' then 8 when 'INSTALL' then 10 when 'OTHER' then 12 end
	+ test`;

export function conversionTables(dialect: Dialect): readonly string[] {
	const { generatedId, bytewiseText, generatedColumn, thenId, beforeMoves, moveKey } = dialect;
	return [
		// Each row is a sale, lead or other event that was reported for a programme, in its present state. Rows with the
		// same status, event type and test have the same list_kind. If they also belong to the same programme, they have
		// the same list_key.
		`create table conversions (
			id ${generatedId},
			public_id text not null unique,
			programme_id bigint not null,
			order_id ${bytewiseText} not null,
			event_type text not null,
			status text not null,
			basket_value text not null,
			commission text not null,
			network_fee text not null,
			currency text not null,
			rates text,
			refunded_value text,
			reason text,
			test integer not null,
			source text not null,
			pixel_basket_value text,
			confirmed_at_ms bigint,
			decided_by text,
			occurred_at_ms bigint not null,
			created_at_ms bigint not null,
			window_ends_at_ms bigint,
			updated_at_ms bigint not null,
			decided_at_ms bigint,
			list_kind integer not null generated always as (${LIST_KIND}) ${generatedColumn},
			list_key bigint not null generated always as (programme_id * 128 + ${LIST_KIND}) ${generatedColumn}
		)`,
		// This unique index allows one conversion per programme, order and event type. It serves the first read of a batch, which every
		// report needs.
		"create unique index conversions_by_order on conversions (programme_id, order_id, event_type)",
		// This index serves a programme's list in the order of recording, with any filter by status, event type and test,
		// and the export. The list merges one range of the index for each list_key that the filter allows. See
		// queries/conversion-buckets.ts.
		`create index conversions_by_list on conversions (list_key${thenId})`,
		// This index serves the list of all programmes in the order of recording, for staff.
		`create index conversions_by_kind on conversions (list_kind${thenId})`,
		// This index serves a programme's list sorted by the time of the sale, the API's filter by that time, and a
		// programme's totals.
		`create index conversions_by_sale on conversions (programme_id, occurred_at_ms${thenId})`,
		// This index serves a programme's list sorted by the basket value. The expression must equal BASKET_MINOR in
		// tables/conversions.ts.
		`create index conversions_by_basket on conversions
			(programme_id, (cast(replace(basket_value, '.', '') as bigint))${thenId})`,
		// This index serves a programme's list and export by the day of the decision.
		`create index conversions_by_decision on conversions (programme_id, decided_at_ms${thenId})
			where decided_at_ms is not null`,
		// This index serves the API's list of conversions that changed after they were recorded.
		`create index conversions_by_change on conversions (programme_id, updated_at_ms${thenId})
			where updated_at_ms > created_at_ms`,
		// This index serves takeWindowEnded and pruneExpired. The status comes first because SQLite has no statistics and
		// would otherwise read every open conversion.
		`create index conversions_by_window on conversions (status, window_ends_at_ms)
			where window_ends_at_ms is not null`,
		// This index serves findNewestTest.
		`create index conversions_tests on conversions (programme_id${thenId}) where source = 'test'`,

		...recordingBreaks(dialect),

		...beforeMoves,
		// Each row is a move of a conversion from one status to another.
		`create table moves (
			${moveKey},
			programme_id bigint not null,
			conversion_id bigint not null,
			move text not null,
			to_status text not null,
			decided_by text,
			person_id bigint,
			reason text,
			at_ms bigint not null,
			announced_body text,
			lost_partner_id bigint,
			lost_commission text
		)`,
		// This index serves listMoves, the bodies of announced events, and the removal of a conversion with its history.
		`create index moves_by_conversion on moves (conversion_id${thenId})`,
	];
}

/**
 * Time by which a conversion may seem older than the previous one without counting as a break. It equals
 * CLOCK_SLACK_MS in queries/conversion-buckets.ts.
 */
const SLACK_MS = 60_000;

/**
 * Returns the table of ids at which the clock had been set back. Lists find a time by a binary search over the ids,
 * which works only while times rise with the ids. A row of this table means that the search must start again at its
 * id. A trigger adds the rows, so that no writer can forget to.
 */
function recordingBreaks({ kind, assignedId }: Dialect): readonly string[] {
	const table = `create table recording_breaks (first_id ${assignedId})`;
	if (kind === "sqlite") {
		return [
			table,
			`create trigger conversions_break after insert on conversions
				when new.created_at_ms < (select created_at_ms from conversions where id < new.id order by id desc limit 1)
					- ${SLACK_MS}
				begin
					insert into recording_breaks (first_id) select new.id
						where not exists (select 1 from recording_breaks where first_id = new.id);
				end`,
		];
	}
	return [
		table,
		`create function note_recording_breaks() returns trigger language plpgsql as $$
			begin
				insert into recording_breaks (first_id)
					select id from (
						select id, created_at_ms, lag(created_at_ms, 1, (
							select created_at_ms from conversions where id < (select min(id) from added)
							order by id desc limit 1
						)) over (order by id) as earlier_ms from added
					) as steps
					where created_at_ms < earlier_ms - ${SLACK_MS};
				return null;
			end $$`,
		`create trigger conversions_break after insert on conversions
			referencing new table as added for each statement execute function note_recording_breaks()`,
	];
}
