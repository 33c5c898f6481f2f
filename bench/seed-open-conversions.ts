// Writes recorded conversions whose approval window ends at a given time. The rows are written by SQL
// statements.

import { sql } from "kysely";
import { DAY_MS } from "#core/domain/time.ts";
import type { Store } from "#core/store/store.ts";
import type { SeededShop } from "./seed-shops.ts";

/**
 * Number of rows per statement. It is limited, because the service ends a statement that runs longer than a
 * request may wait.
 */
const ROWS_PER_STATEMENT = 50_000;

/**
 * Distributes the conversions evenly over shops with consecutive numbers. The statement works on both
 * databases.
 */
export async function seedOpenConversions(
	store: Store,
	count: number,
	shops: readonly SeededShop[],
	windowEndsAtMs: number,
): Promise<void> {
	const firstShop = Math.min(...shops.map(({ id }) => id));
	const createdAtMs = windowEndsAtMs - 30 * DAY_MS;
	for (let first = 1; first <= count; first += ROWS_PER_STATEMENT) {
		const last = Math.min(first + ROWS_PER_STATEMENT - 1, count);
		const number = sql`substr(cast(10000000000 + i as text), 2)`;
		await sql`insert into conversions (public_id, programme_id, order_id, event_type, status, basket_value, commission,
				network_fee, currency, test, source, occurred_at_ms, created_at_ms, window_ends_at_ms, updated_at_ms)
			with recursive n(i) as (select ${sql.lit(first)} union all select i + 1 from n where i < ${sql.lit(last)})
			select 'cnv_' || ${number}, ${sql.lit(firstShop)} + i % ${sql.lit(shops.length)}, 'ORDER-' || ${number}, 'SALE',
				'RECORDED', '129.90', '10.39', '2.60', 'EUR', 0, 'postback',
				cast(${sql.lit(createdAtMs)} as bigint), cast(${sql.lit(createdAtMs)} as bigint),
				cast(${sql.lit(windowEndsAtMs)} as bigint), cast(${sql.lit(createdAtMs)} as bigint) from n`.execute(
			store.db,
		);
	}
}
