// Tables as in a service that has run for a while, large enough that the planner has a choice: most is done, a
// hundredth is due, failed or waiting. What the tests of query plans look at.

import { sql } from "kysely";
import { DAY_MS } from "../../src/domain/time.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "./clock.ts";
import { type Filling, peopleFillings } from "./large-people.ts";
import { analyseAsInService } from "./query-plan.ts";

export const ROWS = 40_000;
export const PROGRAMMES = 200;
/** Has half of all rows, so that PostgreSQL may walk the primary key and leave out every other row. */
export const LARGE = 1;
/** One of those that share the other half. */
export const SMALL = 7;

/** Everything else is so small here, or derived, that reading it whole is right. */
export const LARGE_TABLES: readonly string[] = [
	"conversions",
	"moves",
	"events",
	"deliveries",
	"queue",
	"attempts",
	"inbound_calls",
	"nonces",
	"callback_hours",
	"local_answers",
	"notices",
	"people",
	"programme_people",
	"links",
	"auth_users",
	"auth_accounts",
	"audit_entries",
	"bulk_jobs",
	"bulk_rows",
	"import_jobs",
];
const PROGRAMME = `case when i % 2 = 0 then ${LARGE} else 2 + i % ${PROGRAMMES - 1} end`;
const KEPT_DAYS = 180;
/** Over all the time that a service keeps them, the newest last. */
const OVER_TIME = `${START_MS} - cast(${ROWS} - i as bigint) * ${(KEPT_DAYS * DAY_MS) / ROWS}`;
/** A hundredth of them before START_MS, and none in order. */
const SCATTERED = `${START_MS} + (i * 1009) % 100000 - 50000`;

const FILLINGS: readonly Filling[] = [
	{
		table: "programmes",
		rows: PROGRAMMES,
		columns: {
			id: "i",
			public_id: "'prg_' || i",
			name: "'Shop'",
			currency: "'EUR'",
			commission_rate: "'1'",
			fee_rate: "'1'",
			approval_days: 30,
			parks_pixels: 1,
			parked_days: 30,
			created_at_ms: 0,
		},
	},
	{
		table: "conversions",
		// The number is the database's own, or PostgreSQL would give it again to the next that is recorded.
		columns: {
			public_id: "'cnv' || substr('00000000' || i, length('00000000' || i) - 7, 8)",
			programme_id: PROGRAMME,
			order_id: "'order ' || i",
			event_type: "case when i % 50 = 0 then 'LEAD' else 'SALE' end",
			status: `case when i % 100 = 1 then 'RECORDED' when i % 100 = 2 then 'PARKED' when i % 100 = 3 then 'REJECTED'
				when i % 100 = 5 then 'EXPIRED' when i % 10000 = 4 then 'REVERSED' else 'APPROVED' end`,
			basket_value: "'100.00'",
			commission: "'7.50'",
			network_fee: "'2.00'",
			currency: "'EUR'",
			test: "case when i % 1000 = 0 then 1 else 0 end",
			source: "case when i % 5000 = 0 then 'test' else 'postback' end",
			occurred_at_ms: 0,
			created_at_ms: `${START_MS} + i`,
			window_ends_at_ms: `case when i % 100 in (1, 2, 5) then ${SCATTERED} end`,
			updated_at_ms: 0,
		},
	},
	{
		table: "moves",
		columns: {
			programme_id: PROGRAMME,
			conversion_id: "i",
			move: "'record'",
			to_status: "'RECORDED'",
			at_ms: 0,
			person_id: "1 + i % 1000",
		},
	},
	{
		table: "events",
		columns: {
			id: "i",
			programme_id: PROGRAMME,
			receiver_id: PROGRAMME,
			conversion_id: "i",
			name: "'conversion.recorded'",
			body: "'{\"a body\":true}'",
		},
	},
	{
		table: "deliveries",
		columns: {
			id: "i",
			public_id: "'dlv' || i",
			programme_id: PROGRAMME,
			receiver_id: PROGRAMME,
			state: "case when i % 100 < 2 then 'failed' else 'delivered' end",
			run: 1,
			attempts: 1,
			created_at_ms: 0,
			finished_at_ms: SCATTERED,
			failed_at_ms: `case when i % 100 < 2 then ${SCATTERED} end`,
		},
	},
	{
		table: "queue",
		columns: {
			id: "i",
			receiver_id: PROGRAMME,
			due_at_ms: SCATTERED,
			endpoint_epoch: 0,
			run: 1,
			counted: 0,
			seq: 0,
		},
	},
	{
		table: "attempts",
		columns: {
			delivery_id: "i",
			seq: 1,
			programme_id: PROGRAMME,
			run: 1,
			result: "'answered'",
			http_status: 200,
			started_at_ms: SCATTERED,
			took_ms: "i % 100",
		},
	},
	{
		table: "inbound_calls",
		columns: {
			programme_id: PROGRAMME,
			kind: "'api'",
			method: "'POST'",
			target: "'/v1/conversions'",
			outcome: "'RECORDED'",
			http_status: 201,
			order_id: "'order ' || i",
			at_ms: OVER_TIME,
		},
	},
	{
		table: "callback_hours",
		columns: {
			programme_id: `i % ${PROGRAMMES}`,
			hour_ms: `${START_MS} - (i / ${PROGRAMMES}) * 3600000`,
			delivered: 1,
			failed: 1,
		},
	},
	{
		table: "local_answers",
		columns: {
			programme_id: PROGRAMME,
			conversion: "'cnv' || substr('00000000' || i, length('00000000' || i) - 7, 8)",
			event: "'conversion.recorded'",
			outcome: "'answered'",
			http_status: 204,
			at_ms: OVER_TIME,
		},
	},
	{
		table: "notices",
		columns: {
			public_id: "'ntc' || i",
			receiver_id: PROGRAMME,
			kind: "'callbacks_failing'",
			opened_at_ms: 0,
			told_at_ms: "case when i % 1000 > 0 then 1 end",
			ended_at_ms: "case when i > 1 then 1 end",
			failed_attempts: 1,
			failures: 1,
			mailed_failures: 1,
			last_delivery_id: "i",
			mail_due_at_ms: `case when i % 100 = 0 then ${SCATTERED} end`,
		},
	},
	...peopleFillings(ROWS / 4, PROGRAMMES),
	{
		table: "audit_entries",
		columns: { at_ms: "i", person_id: "1 + i % 999", programme_id: PROGRAMME, action: "'key.issued'" },
	},
	{
		table: "bulk_jobs",
		rows: ROWS / 2,
		columns: {
			public_id: "'job' || i",
			programme_id: PROGRAMME,
			person_id: "1 + i % 1000",
			decided_by: "'shop'",
			source: "'file'",
			state: "case when i % 1000 = 0 then 'applying' else 'done' end",
			row_count: 1,
			done_rows: 1,
			claim_until_ms: `${START_MS} + i % 3 - 1`,
			created_at_ms: `${START_MS} + i`,
		},
	},
	{
		table: "import_jobs",
		rows: ROWS / 2,
		columns: {
			public_id: "'imp' || i",
			kind: "'people'",
			file_name: "'people.csv'",
			file_bytes: 100,
			person_id: "1 + i % 1000",
			state: "case when i % 1000 = 0 then 'applying' else 'done' end",
			invites: 0,
			row_count: 1,
			done_rows: 1,
			done_batches: 1,
			lines: "'kept'",
			claim_until_ms: `${START_MS} + i % 3 - 1`,
			created_at_ms: `${START_MS} + i`,
		},
	},
	{
		table: "nonces",
		columns: { programme_id: PROGRAMME, nonce: "'nonce ' || i", expires_at_ms: `${START_MS} + i` },
	},
	{
		table: "bulk_rows",
		columns: {
			job_id: "i % 600",
			seq: "i",
			line: "i",
			named_conversion: "''",
			order_id: "'order'",
			event_type: "'SALE'",
			decision: "'approve'",
			reason: "''",
			verdict: "'change'",
			conversion: "'cnv' || i / 1200",
		},
	},
];

export async function fillTables(store: Store): Promise<void> {
	for (const { table, rows = ROWS, columns } of FILLINGS) {
		const statement = `insert into ${table} (${Object.keys(columns).join(", ")})
			with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
			select ${Object.values(columns).join(", ")} from n`;
		await sql.raw(statement).execute(store.db);
	}
	await analyseAsInService(store);
}
