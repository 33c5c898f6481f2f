// Sums of amounts in SQL. An amount has up to sixteen digits (domain/money), so a sum may be more than 64 bits hold. Each
// is summed in two halves, which also keeps both below what a JavaScript number holds exactly.

import { type RawBuilder, sql } from "kysely";

const HALF = 100_000_000;

type AmountColumn = "basket_value" | "commission" | "network_fee";

/** `only`: of the rows of which this is true. */
export function highHalf(column: AmountColumn, only?: RawBuilder<unknown>) {
	return sumOf(sql`${minor(column)} / ${sql.lit(HALF)}`, only);
}

export function lowHalf(column: AmountColumn, only?: RawBuilder<unknown>) {
	return sumOf(sql`${minor(column)} % ${sql.lit(HALF)}`, only);
}

function sumOf(half: RawBuilder<unknown>, only: RawBuilder<unknown> | undefined) {
	const added = only === undefined ? half : sql`case when ${only} then ${half} else 0 end`;
	return sql<number>`cast(sum(${added}) as bigint)`;
}

/** Amounts have exactly the currency's digits: without the point they are minor units. */
function minor(column: AmountColumn) {
	return sql`cast(replace(${sql.ref(column)}, '.', '') as bigint)`;
}

export function joinHalves(high: number, low: number): bigint {
	return BigInt(high) * BigInt(HALF) + BigInt(low);
}
