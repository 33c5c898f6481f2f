// Fills tables as in a service that has run for a while, so that the query planner has a choice. Most rows
// are finished, and one in a hundred is due, failed or pending. The tests of query plans use these tables.

import { sql } from "kysely";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { DAY_MS } from "#core/domain/time.ts";
import type { Store } from "#core/store/store.ts";
import { START_MS } from "./clock.ts";
import { analyseAsInService } from "./query-plan.ts";

export const ROWS = 30_000;
export const PROGRAMMES = 200;
const PEOPLE = ROWS / 2;
/** Maximum number of rows in a statement, so that it ends within the statement timeout even on a slow machine. */
const ROWS_PER_STATEMENT = 5_000;
/**
 * Programme with half of all rows. For such a programme, PostgreSQL may scan the primary key and skip every
 * other row.
 */
export const LARGE = 1;
/** Id of one of the programmes that share the other half of the rows. */
export const SMALL = 7;

const PROGRAMME = `case when i % 2 = 0 then ${LARGE} else 2 + i % ${PROGRAMMES - 1} end`;
/**
 * Body of an event. It is as long as a real body, so that the planner's estimate for reading all events is realistic.
 */
const BODY = "body ".repeat(40);
/** Difference between the id of a programme and the id of its receiver. */
const FIRST_RECEIVER = 1_000;
export const LARGE_RECEIVER: ReceiverId = receiverOf(LARGE);
export const SMALL_RECEIVER: ReceiverId = receiverOf(SMALL);
const RECEIVER = `${FIRST_RECEIVER} + ${PROGRAMME}`;
const KEPT_DAYS = 180;
const PARTNERS = 1_000;
/** Returns SQL for the partner of an entry. Half of all entries belong to the first partner. */
const partnerOf = (entry: string) =>
	`case when ${entry} % 2 = 0 then 1 else 2 + ${entry} % ${PARTNERS - 1} end`;
const PARTNER = partnerOf("i");
/** SQL for a time. The rows are spread over the retention time, the newest last. */
const OVER_TIME = `${START_MS} - cast(${ROWS} - i as bigint) * ${(KEPT_DAYS * DAY_MS) / ROWS}`;
/** SQL for a time around START_MS, in no particular order. */
const SCATTERED = `${START_MS} + (i * 1009) % 100000 - 50000`;

const CONVERSION = "'cnv' || substr('00000000' || i, length('00000000' || i) - 7, 8)";

/**
 * Contents of each table: its name, its columns, the SQL of their values for row number `i`, and the number of rows if
 * it is not ROWS.
 */
const FILLINGS: readonly (readonly [table: string, columns: string, values: string, rows?: number])[] = [
	[
		"programmes",
		"id, public_id, name, currency, commission_rate, fee_rate, approval_days, parks_pixels, parked_days, created_at_ms",
		"i, 'prg_' || i, 'Shop', 'EUR', '1', '1', 30, 1, 30, 0",
		PROGRAMMES,
	],
	["receivers", "id, kind, programme_id", `${FIRST_RECEIVER} + i, 'shop', i`, PROGRAMMES],
	[
		// The database assigns the ids of conversions, events and entries. If they were explicit, PostgreSQL would assign
		// the same ids to later rows.
		"conversions",
		`public_id, programme_id, order_id, event_type, status, basket_value, commission, network_fee, currency, test, source,
			occurred_at_ms, created_at_ms, window_ends_at_ms, updated_at_ms, decided_at_ms`,
		`${CONVERSION}, ${PROGRAMME}, 'order ' || i, case when i % 50 = 0 then 'LEAD' else 'SALE' end,
			case when i % 100 = 1 then 'RECORDED' when i % 100 = 2 then 'PARKED' when i % 100 = 3 then 'REJECTED'
				when i % 100 = 5 then 'EXPIRED' when i % 10000 = 4 then 'REVERSED' else 'APPROVED' end,
			'100.00', '7.50', '2.00', 'EUR', case when i % 1000 = 0 then 1 else 0 end,
			case when i % 5000 = 0 then 'test' else 'postback' end,
			0, ${START_MS} + i, case when i % 100 in (1, 2, 5) then ${SCATTERED} end,
			${START_MS} + i + case when i % 100 in (1, 2, 5) then 0 else 1 end,
			case when i % 100 in (1, 2, 5) then null else ${START_MS} + i end`,
	],
	[
		"refunds",
		"programme_id, conversion_id, refund_id, amount, basket_value, reason, at_ms",
		`${PROGRAMME}, i, 'R-1', '1.00', '99.00', 'RETURN', 0`,
	],
	[
		"moves",
		"programme_id, conversion_id, move, to_status, at_ms, person_id",
		`${PROGRAMME}, i, 'record', 'RECORDED', 0, 1 + i % 1000`,
	],
	[
		"events",
		"public_id, receiver_id, conversion_id, name, body, created_at_ms",
		`'dlv' || i, ${RECEIVER}, i, 'conversion.recorded', '${BODY}', 0`,
	],
	[
		"undelivered",
		"id, receiver_id, state, run, ended_at_ms, set_aside",
		`i, ${RECEIVER}, case when i % 10 = 5 then 'cancelled' else 'failed' end, 1, ${SCATTERED},
			case when i % 100 < 2 then null else 1 end`,
	],
	[
		"queue",
		"id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq",
		`i, ${RECEIVER}, ${SCATTERED}, 0, 1, 0, 0`,
	],
	[
		"attempts",
		"delivery_id, seq, run, result, http_status, started_at_ms, took_ms",
		`i, 1, 1, 'answered', 200, ${SCATTERED}, i % 100`,
	],
	[
		"inbound_calls",
		"programme_id, kind, method, target, outcome, http_status, order_id, at_ms",
		`${PROGRAMME}, 'api', 'POST', '/v1/conversions', 'RECORDED', 201, 'order ' || i, ${OVER_TIME}`,
	],
	[
		"callback_quarters",
		"receiver_id, quarter_ms, delivered, failed",
		`${FIRST_RECEIVER} + i % ${PROGRAMMES}, ${START_MS} - (i / ${PROGRAMMES}) * 3600000, 1, 1`,
	],
	[
		"local_answers",
		"receiver_id, conversion, event, outcome, http_status, at_ms",
		`${RECEIVER}, ${CONVERSION}, 'conversion.recorded', 'answered', 204, ${OVER_TIME}`,
	],
	[
		"notices",
		`public_id, receiver_id, kind, opened_at_ms, told_at_ms, ended_at_ms, failed_attempts, failures, mailed_failures,
			last_delivery_id, mail_due_at_ms`,
		`'ntc' || i, ${RECEIVER}, 'callbacks_failing', 0, case when i % 1000 > 0 then 1 end, case when i > 1 then 1 end,
			1, 1, 1, i, case when i % 100 = 0 then ${SCATTERED} end`,
	],
	[
		"people",
		"id, public_id, email, kind, created_at_ms",
		"i, 'usr' || i, i || '@shop.example', case when i % 500 = 0 then 'staff' else 'shop' end, 0",
		PEOPLE,
	],
	["programme_people", "programme_id, person_id, role", `1 + i % ${PROGRAMMES}, i, 'owner'`, 1_000],
	[
		"sign_in_links",
		"public_id, purpose, token_hash, person_id, created_at_ms, expires_at_ms",
		"'lnk_' || i, 'programme_invitation', 't' || i, i, 0, 1",
		PEOPLE,
	],
	["passwords", "person_id, hash, changed_at_ms", "i, 'hash', 0", PEOPLE],
	[
		"sale_news",
		"person_id, day, partner_id, programme_id, kind, reason, currency, sales, commission, named, due_at_ms",
		`1 + i % ${PEOPLE}, 'day ' || i, 1, 1, 'recorded', '', 'EUR', 1, '1.00', '', ${SCATTERED}`,
	],
	["audit_entries", "at_ms, person_id, programme_id, action", `i, 1 + i % 999, ${PROGRAMME}, 'key.issued'`],
	[
		"jobs",
		`public_id, kind, programme_id, decided_by, file_bytes, person_id, state, invites, row_count, done_rows, done_batches,
			batch_rows, lines, claim_until_ms, created_at_ms`,
		`'job' || i, 'decisions', ${PROGRAMME}, 'shop', 100, 1 + i % 1000,
			case when i % 1000 = 0 then 'applying' else 'done' end, 0, 1, 1, 1, 1,
			case when i % 100 = 0 then 'kept' else 'gone' end, ${START_MS} + i % 3 - 1, ${START_MS} + i`,
		ROWS / 2,
	],
	[
		"credits",
		"conversion_id, programme_id, partnership_id, word, sold_at_ms, sub_1, sub_2, sub_3",
		`i, ${PROGRAMME}, case when i % 3 = 0 then null when i % 2 = 0 then 1 else 2 + i % 99 end, 'CODE', ${OVER_TIME}, '', '', ''`,
	],
	[
		"click_quarters",
		"link_id, kind, quarter, clicks",
		`1 + i % ${PROGRAMMES}, 'click', i / ${PROGRAMMES}, 1`,
	],
	[
		"partner_links",
		"code, partnership_id, name, target, created_at_ms",
		`'link' || i, 1 + i % ${PROGRAMMES}, '', '', i`,
		ROWS / 2,
	],
	["nonces", "programme_id, nonce, expires_at_ms", `${PROGRAMME}, 'nonce ' || i, ${START_MS} + i`],
	["partners", "id, public_id, name, site, created_at_ms", "i, 'ptn_' || i, 'Partner', '', 0", PARTNERS],
	[
		"partnerships",
		"public_id, programme_id, partner_id, commission_rate, terms, created_at_ms",
		`'pts_' || i, 1 + i % ${PROGRAMMES}, 1 + i / ${PROGRAMMES}, null, '', 0`,
		ROWS / 2,
	],
	[
		"coupon_codes",
		"programme_id, folded, code, partnership_id, created_at_ms",
		`1 + i % ${PROGRAMMES}, 'code ' || i, 'Code ' || i, i, 0`,
		ROWS / 2,
	],
	[
		"api_keys",
		"public_id, programme_id, name, hash, hint, key_right, created_at_ms",
		`'key_' || i, ${PROGRAMME}, '', 'hash ' || i, '', 'report', 0`,
		ROWS / 2,
	],
	[
		"entries",
		"partner_id, programme_id, conversion_id, kind, amount, currency, at_ms",
		`${PARTNER}, ${PROGRAMME}, i, case when i % 500 = 0 then 'ADJUSTED' else 'EARNED' end, '7.50', 'EUR', ${START_MS} + i`,
	],
	[
		"open_entries",
		"entry_id, partner_id, programme_id, kind, amount, currency, at_ms",
		`i, ${PARTNER}, ${PROGRAMME}, 'EARNED', '7.50', 'EUR', ${START_MS} + i`,
		ROWS / 4,
	],
	[
		"statement_entries",
		"partner_id, entry_id, statement_id",
		`${partnerOf(`(${ROWS / 4} + i)`)}, ${ROWS / 4} + i, 1 + i / 3`,
		(ROWS * 3) / 4,
	],
	[
		"statements",
		`id, public_id, number, year, seq, partner_id, currency, month, time_zone, opening, earned, changed, adjusted, total,
			is_carried, sealed_parties, issued_at_ms`,
		`i, 'stm' || i, 'n' || i, 2026, i, 1 + i % ${PARTNERS}, 'EUR', 'm' || (i / ${PARTNERS}), 'UTC', '0.00', '7.50', '0.00',
			'0.00', '7.50', case when i % 10 = 0 then 1 else 0 end, '${BODY}', 0`,
		ROWS / 4,
	],
	[
		"statement_lines",
		"statement_id, programme_id, programme_name, sales, earned, changed",
		"i, 1, '', 1, '7.50', '0.00'",
		ROWS / 4,
	],
	[
		"payments",
		"statement_id, entry_id, paid_on, reference, at_ms",
		"i, i, '2026-11-02', '', 0",
		(ROWS * 249) / 1_000,
	],
];

/**
 * Tables that queries must not read in full. Programmes, receivers and partners are left out, because there are few of
 * them.
 */
export const LARGE_TABLES: readonly string[] = FILLINGS.map(([table]) => table).filter(
	(table) => !["programmes", "receivers", "partners"].includes(table),
);

export function receiverOf(programmeId: number): ReceiverId {
	return (FIRST_RECEIVER + programmeId) as ReceiverId;
}

export async function fillTables(store: Store): Promise<void> {
	for (const [table, columns, values, rows = ROWS] of FILLINGS) {
		for (let first = 1; first <= rows; first += ROWS_PER_STATEMENT) {
			const last = Math.min(rows, first + ROWS_PER_STATEMENT - 1);
			const statement = `insert into ${table} (${columns})
				with recursive n(i) as (select ${first} union all select i + 1 from n where i < ${last}) select ${values} from n`;
			await sql.raw(statement).execute(store.db);
		}
	}
	if (store.kind === "postgres") await spreadOverTransactions(store);
	await analyseAsInService(store);
}

/**
 * Changes the transaction ids of the moves, as if many transactions had written them. All these transactions count as
 * committed.
 */
async function spreadOverTransactions(store: Store): Promise<void> {
	for (let first = 1; first <= ROWS; first += ROWS_PER_STATEMENT) {
		await sql`update moves set transaction = 1 + id / 100
			where conversion_id between ${first} and ${first + ROWS_PER_STATEMENT - 1}`.execute(store.db);
	}
}
