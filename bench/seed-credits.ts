// Writes credits for the sales that seed-history.ts wrote, and half a year of clicks. There are two thousand
// partnerships with one link each. The busiest partnership has forty-nine more links, and more than a quarter
// of all credits. The rows are written by SQL statements.

import { type RawBuilder, sql } from "kysely";
import { QUARTER_MS } from "#core/domain/time.ts";
import type { Db } from "#core/store/store.ts";
import { countTo, type History, ROWS_PER_STATEMENT } from "./seed-history.ts";

/**
 * Number of partners of the large programme. The partner with the highest id is the busiest one. It belongs
 * to twenty programmes and is the first in every list.
 */
export const PARTNERS = 1_000;
const QUARTERS_PER_STATEMENT = 60;

export async function seedCredits(db: Db, { conversions, large, small, endsAtMs }: History): Promise<void> {
	const run = (statement: RawBuilder<unknown>) => statement.execute(db);
	const [firstSmall, busiest] = [sql.lit(Math.min(...small.map(({ id }) => id))), sql.lit(PARTNERS)];
	const partnership = sql`insert into partnerships (id, public_id, programme_id, partner_id, terms, created_at_ms)`;
	const link = sql`insert into partner_links (code, partnership_id, name, target, created_at_ms)`;
	await run(sql`update programmes set credits_partners = 1`);
	await run(sql`insert into partners (id, public_id, name, site, created_at_ms) ${countTo(1, PARTNERS)}
		select i, 'ptn_' || i, 'Partner ' || i, '', 0 from n`);
	await run(
		sql`${partnership} ${countTo(1, PARTNERS)} select i, 'pts_' || i, ${sql.lit(large.id)}, i, '', 0 from n`,
	);
	await run(sql`${partnership} ${countTo(0, small.length * 10 - 1)}
		select ${busiest} + 1 + i, 'pts_small_' || i, ${firstSmall} + i / 10,
			case when i % 10 = 0 and i < 190 then ${busiest} else 1 + i % (${busiest} - 1) end, '', 0 from n`);
	await run(sql`${link} select 'link-' || id, id, '', 'https://shop.example/', 0 from partnerships`);
	await run(
		sql`${link} ${countTo(2, 50)} select 'more-' || i, ${busiest}, '', 'https://shop.example/', 0 from n`,
	);
	// This expression distributes consecutive conversions so that a few partners of the large programme are
	// credited for most of them.
	const spread = sql`(cast(id / 2 as bigint) * 7919 % 100000)`;
	const tail = sql`(${spread} - 56000)`;
	for (let first = 1; first <= conversions; first += ROWS_PER_STATEMENT)
		await run(sql`insert into credits (conversion_id, programme_id, partnership_id, word, sold_at_ms, sub_1, sub_2, sub_3)
			select id, programme_id, case
				when programme_id <> ${sql.lit(large.id)} then ${busiest} + 1 + (programme_id - ${firstSmall}) * 10
					+ case when ${spread} % 25 = 0 then 0 else 1 + ${spread} % 9 end
				when ${tail} < 0 then ${busiest}
				else 1 + ${tail} * ${tail} * 998 / (44000 * cast(44000 as bigint)) end,
				'CODE', occurred_at_ms, 'place-' || id % 40, '', ''
			from conversions where id between ${sql.lit(first)} and ${sql.lit(first + ROWS_PER_STATEMENT - 1)}`);
	const lastQuarter = sql.lit(Math.floor(endsAtMs / QUARTER_MS));
	// Rows are written quarter by quarter, like the running service writes them, so that the rows of one link are far
	// apart in the table.
	for (let ago = Math.min(180 * 24, conversions / 200); ago > 0; ago -= QUARTERS_PER_STATEMENT)
		await run(sql`insert into click_quarters (link_id, kind, quarter, clicks)
			${countTo(1, QUARTERS_PER_STATEMENT)} select id, kind, ${lastQuarter} - ${sql.lit(ago)} + i, 3
			from n, partner_links, (select 'click' as kind union all select 'crawler') as kinds
			where partnership_id = ${busiest} or (kind = 'click' and (i + id) % 3 = 0) order by i`);
	await run(
		sql`insert into click_quarters select link_id, kind, 0, sum(clicks) from click_quarters group by 1, 2`,
	);
}
