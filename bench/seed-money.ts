// Writes partners with open entries of last month, as approvals leave them. The rows are written by SQL statements.

import { sql } from "kysely";
import type { Db } from "#core/store/store.ts";
import { countTo, ROWS_PER_STATEMENT } from "./seed-history.ts";
import type { SeededShop } from "./seed-shops.ts";

export interface SeededMoney {
	partners: number;
	entries: number;
	/** Time at which the entries were written. */
	atMs: number;
}

/** Distributes the entries evenly over the partners and over shops with consecutive numbers. */
export async function seedMoney(db: Db, shops: readonly SeededShop[], money: SeededMoney): Promise<void> {
	const firstShop = sql.lit(Math.min(...shops.map(({ id }) => id)));
	const programme = sql`${firstShop} + i % ${sql.lit(shops.length)}`;
	const partner = sql`1 + i % ${sql.lit(money.partners)}`;
	const atMs = sql`cast(${sql.lit(money.atMs)} as bigint)`;
	await sql`insert into partners (id, public_id, name, site, created_at_ms) ${countTo(1, money.partners)}
		select i, 'ptn_' || i, 'Partner ' || i, '', 0 from n`.execute(db);
	for (let first = 1; first <= money.entries; first += ROWS_PER_STATEMENT) {
		const numbers = countTo(first, Math.min(first + ROWS_PER_STATEMENT - 1, money.entries));
		const rest = sql`${partner}, ${programme}, case when i % 20 = 0 then 'CHANGED' else 'EARNED' end,
			case when i % 20 = 0 then '-1.25' else '10.39' end, 'EUR', ${atMs} from n`;
		await sql`insert into entries (id, conversion_id, partner_id, programme_id, kind, amount, currency, at_ms) ${numbers}
			select i, i, ${rest}`.execute(db);
		await sql`insert into open_entries (entry_id, partner_id, programme_id, kind, amount, currency, at_ms) ${numbers}
			select i, ${rest}`.execute(db);
	}
}
