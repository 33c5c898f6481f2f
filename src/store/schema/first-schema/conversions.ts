// Conversions and their history. There are no foreign keys here or in the tables that depend on conversions: on
// PostgreSQL each would lock the programme's row for every sale, and every use case has just read what it refers to.

import type { Dialect } from "../dialect.ts";

export function conversionTables({
	generatedId,
	bytewiseText,
	beforeMoves,
	moveKey,
}: Dialect): readonly string[] {
	return [
		// One row is a sale, lead or other event that was reported for a programme, in its present state.
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
			imported_decision_at_ms bigint
		)`,
		// Allows one conversion per programme, order and event type. Serves findByOrders, which every report needs.
		"create unique index conversions_by_order on conversions (programme_id, order_id, event_type)",
		// Serves a programme's list without filters, its export, and its totals by the time of recording.
		"create index conversions_by_programme on conversions (programme_id, id)",
		// Serves takeWindowEnded and pruneExpired. The status comes first because SQLite has no statistics and would
		// otherwise read every open conversion.
		`create index conversions_by_window on conversions (status, window_ends_at_ms)
			where window_ends_at_ms is not null`,
		// Serves a programme's list with filters, which merges one walk for each combination that the filters allow.
		// See queries/conversion-buckets.ts.
		"create index conversions_by_bucket on conversions (programme_id, status, event_type, test, id)",
		// Serves the list of one status over all programmes, for staff.
		"create index conversions_by_status on conversions (status, id)",
		// Serves a programme's list sorted by the time of the sale, and the API's filter by that time.
		"create index conversions_by_sale on conversions (programme_id, occurred_at_ms, id)",
		// Serves a programme's list sorted by the basket value. The expression must equal BASKET_MINOR in tables/conversions.ts.
		`create index conversions_by_basket on conversions
			(programme_id, (cast(replace(basket_value, '.', '') as bigint)), id)`,
		// Serves findNewestTest.
		"create index conversions_tests on conversions (programme_id, id) where source = 'test'",

		...beforeMoves,
		// One row is a move of a conversion from one status to another.
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
			announced_body text
		)`,
		// Serves listMoves, the bodies of announced events, and the removal of a conversion with its history.
		"create index moves_by_conversion on moves (conversion_id, id)",
	];
}
