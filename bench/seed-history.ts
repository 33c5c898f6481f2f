// Writes the data of a network after eighteen months, with a million conversions and two million finished
// deliveries. SQL statements write the rows, because reporting a million sales through the API takes an hour.

import { type RawBuilder, sql } from "kysely";
import { composeEvent } from "#core/domain/event.ts";
import type { EventName } from "#core/domain/event-name.ts";
import { DAY_MS, HOUR_MS } from "#core/domain/time.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { SAMPLE_SUBJECT } from "./sample.ts";

const DAYS = 540;
/** Approval window. It is longer than the whole history, so that none ends during a measurement. */
const OPEN_DAYS = 600;

type SeededProgramme = Pick<Programme, "id" | "receiver_id">;

export interface History {
	conversions: number;
	/** The programme that has half of all conversions. */
	large: SeededProgramme;
	/** Programmes that share the other half of the conversions. */
	small: readonly SeededProgramme[];
	endsAtMs: number;
}

/**
 * Number of rows per statement. It is limited, because the service ends a statement that runs longer than a
 * request may wait.
 */
export const ROWS_PER_STATEMENT = 50_000;

export async function seedHistory(db: Db, history: History, say: (line: string) => void): Promise<void> {
	const { conversions } = history;
	for (let first = 1; first <= conversions; first += ROWS_PER_STATEMENT) {
		const last = Math.min(first + ROWS_PER_STATEMENT - 1, conversions);
		for (const statement of statementsFor(history, first, last)) await statement.execute(db);
		say(`${last} of ${conversions} conversions`);
	}
	const hour = Math.floor(history.endsAtMs / HOUR_MS) * HOUR_MS;
	await sql`insert into callback_quarters (receiver_id, quarter_ms, delivered, failed)
		${countTo(1, DAYS * 24)} select ${sql.lit(history.large.receiver_id)},
			${sql.lit(hour)} - i * cast(${sql.lit(HOUR_MS)} as bigint), 900, 9 from n`.execute(db);
}

/** Returns SQL statements that work on both databases. */
function statementsFor({ conversions, large, small, endsAtMs }: History, first: number, last: number): Sql[] {
	const stepMs = Math.floor((DAYS * DAY_MS) / conversions);
	const numbers = countTo(first, last);
	// The ids of the small programmes follow each other, and so do those of their receivers.
	const spread = (largeId: number, firstSmallId: number) =>
		sql`case when i % 2 = 0 then ${sql.lit(largeId)} else ${sql.lit(firstSmallId)} + (i / 2) % ${sql.lit(small.length)} end`;
	const programme = spread(large.id, Math.min(...small.map(({ id }) => id)));
	const receiver = spread(large.receiver_id, Math.min(...small.map(({ receiver_id }) => receiver_id)));
	const number = sql`substr(cast(10000000000 + i as text), 2)`;
	const at = sql`${sql.lit(endsAtMs - DAYS * DAY_MS)} + i * cast(${sql.lit(stepMs)} as bigint)`;
	const status = sql`case when i % 1000 in (7, 8) then 'PARKED' when i % 10 in (6, 7) then 'RECORDED'
		when i % 10 = 8 then 'REJECTED' when i % 10 = 9 then 'REVERSED' else 'APPROVED' end`;
	return [
		sql`insert into conversions (id, public_id, programme_id, order_id, event_type, status, basket_value,
				commission, network_fee, currency, reason, test, source, pixel_basket_value, decided_by,
				occurred_at_ms, created_at_ms, window_ends_at_ms, updated_at_ms, decided_at_ms)
			${numbers} select i, 'cnv_' || ${number}, ${programme}, 'ORDER-' || ${number},
				case when i % 50 = 3 then 'LEAD' else 'SALE' end, ${status}, '129.90', '10.39', '2.60', 'EUR',
				case when i % 10 in (8, 9) then 'RETURN' else null end, case when i % 500 = 0 then 1 else 0 end,
				'postback', null, case when i % 10 in (6, 7) then null else 'shop' end, ${at}, ${at},
				case when i % 10 in (6, 7) then ${at} + ${sql.lit(OPEN_DAYS * DAY_MS)} else null end, ${at},
				case when i % 10 in (6, 7) then null else ${at} end from n`,
		sql`insert into moves (id, programme_id, conversion_id, move, to_status, decided_by, person_id, reason, at_ms)
			${numbers} select i, ${programme}, i, 'approve', 'APPROVED', 'shop', null, null, ${at} from n where i % 10 < 6`,
		...deliveriesOf("conversion.recorded", sql`i * 2 - 1`, { numbers, receiver, at }),
		...deliveriesOf("conversion.approved", sql`i * 2`, { numbers, receiver, at }),
		sql`insert into inbound_calls (programme_id, kind, method, target, outcome, http_status, order_id,
				conversion, at_ms)
			${numbers} select ${programme}, 'api', 'POST', '/v1/conversions', 'RECORDED', 201,
				'ORDER-' || ${number}, i, ${at} from n`,
	];
}

type Sql = RawBuilder<unknown>;

function deliveriesOf(
	name: EventName,
	id: Sql,
	{ numbers, receiver, at }: { numbers: Sql; receiver: Sql; at: Sql },
): Sql[] {
	const isFailed = sql`i % 100 = 50`;
	const httpStatus = sql`case when ${isFailed} then 404 else 204 end`;
	return [
		sql`insert into events (id, public_id, receiver_id, conversion_id, name, body, created_at_ms)
			${numbers} select ${id}, 'dlv_' || substr(cast(10000000000 + ${id} as text), 2), ${receiver}, i,
				${sql.lit(name)}, ${sql.lit(composeEvent(SAMPLE_SUBJECT))}, ${at} from n`,
		sql`insert into undelivered (id, receiver_id, state, run, ended_at_ms)
			${numbers} select ${id}, ${receiver}, 'failed', 1, ${at} from n where ${isFailed}`,
		sql`insert into attempts (delivery_id, seq, run, result, http_status, started_at_ms, took_ms, answer_ms)
			${numbers} select ${id}, 1, 1, 'answered', ${httpStatus}, ${at}, 80 + i % 100, 60 + i % 100 from n`,
	];
}

export function countTo(first: number, last: number): Sql {
	return sql`with recursive n(i) as (select ${sql.lit(first)} union all select i + 1 from n where i < ${sql.lit(last)})`;
}
