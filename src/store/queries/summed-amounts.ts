// Sums of amounts in SQL. An amount has up to sixteen digits (domain/money), so a sum may be more than 64 bits hold. Each
// is summed in two halves, which also keeps both below what a JavaScript number holds exactly.

import { sql } from "kysely";

const HALF = 100_000_000;

type AmountColumn = "basket_value" | "commission" | "network_fee";

export function highHalf(column: AmountColumn) {
	return sql<number>`cast(sum(${minor(column)} / ${sql.lit(HALF)}) as bigint)`;
}

export function lowHalf(column: AmountColumn) {
	return sql<number>`cast(sum(${minor(column)} % ${sql.lit(HALF)}) as bigint)`;
}

/** Amounts have exactly the currency's digits: without the point they are minor units. */
function minor(column: AmountColumn) {
	return sql`cast(replace(${sql.ref(column)}, '.', '') as bigint)`;
}

export function joinHalves(high: number, low: number): bigint {
	return BigInt(high) * BigInt(HALF) + BigInt(low);
}
