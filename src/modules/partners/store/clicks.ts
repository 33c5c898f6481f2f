// Finds partner links by their code, and stores the numbers of clicks on them for each quarter of an hour. The caller caches
// the links.

import { type Selectable, sql } from "kysely";
import { QUARTER_MS } from "#core/domain/time.ts";
import { NO_ID } from "#core/store/no-id.ts";
import type { Db } from "#core/store/store.ts";
import {
	CLICK_KINDS,
	type ClickKind,
	frontPage,
	type Landing,
	type LandingHost,
	landingAt,
	landingUrl,
} from "../domain/click.ts";
import type { EarnedSpan } from "./credits.ts";
import { findLandingHosts } from "./landing-hosts.ts";
import type { ClickQuartersTable } from "./tables.ts";

export interface KnownLink {
	code: string;
	linkId: number;
	partnershipId: number;
	programmeId: number;
	/** Page to which the link leads, or null if the programme has no landing host any more. */
	landing: Landing | null;
	/** True if clicks count, because neither the partnership has ended nor the programme is archived. */
	isActive: boolean;
	parameter: string;
	hosts: readonly LandingHost[];
}

export async function findLinks(db: Db, codes: readonly string[]): Promise<KnownLink[]> {
	if (codes.length === 0) return [];
	const rows = await db
		.selectFrom("partner_links as link")
		.innerJoin("partnerships as partnership", "partnership.id", "link.partnership_id")
		.innerJoin("programmes", "programmes.id", "partnership.programme_id")
		.select(["link.code", "link.id", "link.target", "link.partnership_id", "partnership.programme_id"])
		.select(["partnership.ended_at_ms", "programmes.click_parameter", "programmes.archived_at_ms"])
		.where("link.code", "in", codes)
		.execute();
	const hosts = await findLandingHosts(db, [...new Set(rows.map((row) => row.programme_id))]);
	return rows.map((row) => {
		const allowed = hosts.get(row.programme_id) ?? [];
		const target = landingUrl(row.target, allowed) ?? frontPage(allowed);
		return {
			code: row.code,
			linkId: row.id,
			partnershipId: row.partnership_id,
			programmeId: row.programme_id,
			landing: target === null ? null : landingAt(target, row.click_parameter),
			isActive: row.ended_at_ms === null && row.archived_at_ms === null,
			parameter: row.click_parameter,
			hosts: allowed,
		};
	});
}

export interface ClickCount {
	linkId: number;
	/** Quarter of an hour in which the clicks happened, as the number of quarters since 1970. */
	quarter: number;
	kind: ClickKind;
	clicks: number;
}

/** Special quarter under which the total number of clicks is stored. The total stays when the other counts are pruned. */
export const EVER = 0;

/** Adds counts of clicks. The rows are written in the order of their key, so that two processes cannot deadlock. */
export async function addClicks(db: Db, counts: readonly ClickCount[]): Promise<void> {
	if (counts.length === 0) return;
	const rows = new Map<string, Selectable<ClickQuartersTable>>();
	for (const { linkId: link_id, kind, quarter: counted, clicks } of counts) {
		for (const quarter of [EVER, counted]) {
			const key = `${link_id} ${kind} ${quarter}`;
			rows.set(key, { link_id, kind, quarter, clicks: clicks + (rows.get(key)?.clicks ?? 0) });
		}
	}
	const sorted = [...rows.values()].toSorted(
		(a, b) => a.link_id - b.link_id || a.kind.localeCompare(b.kind) || a.quarter - b.quarter,
	);
	await db
		.insertInto("click_quarters")
		.values(sorted)
		.onConflict((conflict) =>
			conflict
				.columns(["link_id", "kind", "quarter"])
				.doUpdateSet((eb) => ({ clicks: eb("click_quarters.clicks", "+", eb.ref("excluded.clicks")) })),
		)
		.execute();
}

/**
 * Returns a subquery that sums the clicks of one kind on one link in a span. A subquery for each link reads
 * one range of the key, while a grouped query would sort or read the whole table. The cast to bigint is
 * needed because a distant day that somebody types into the page has more quarters than PostgreSQL's integer
 * can hold.
 */
function clicksIn(link: string, kind: string, fromMs: number, beforeMs: number) {
	const quarterOf = (atMs: number) => sql`cast(${Math.floor(atMs / QUARTER_MS)} as bigint)`;
	return sql<number>`(select cast(coalesce(sum(clicks), 0) as bigint) from click_quarters where link_id = ${sql.ref(link)}
		and kind = ${sql.raw(kind)} and quarter > ${quarterOf(Math.max(fromMs - QUARTER_MS, EVER))} and quarter < ${quarterOf(beforeMs)})`;
}

/** Sums the clicks on each link by kind, both over all time and since a given time. */
export async function sumClicks(db: Db, linkIds: readonly number[], sinceMs: number) {
	const recent = clicksIn("ever.link_id", "ever.kind", sinceMs, Number.MAX_SAFE_INTEGER);
	const rows = await db
		.selectFrom("click_quarters as ever")
		.select(["link_id", "kind", "clicks as ever", recent.as("recent")])
		.where("link_id", "in", [NO_ID, ...linkIds])
		.where("kind", "in", CLICK_KINDS)
		.where("quarter", "=", EVER)
		.execute();
	return Map.groupBy(rows, ({ link_id }) => link_id);
}

/** Sums the clicks that got a click ID, by partnership. Quarters that were already pruned are missing from the sums. */
export async function sumPartnershipClicks(
	db: Db,
	{ partnershipIds, fromMs, beforeMs }: EarnedSpan,
): Promise<ReadonlyMap<number, number>> {
	const clicks = clicksIn("partner_links.id", "'click'", fromMs, beforeMs);
	const rows = await db
		.selectFrom("partner_links")
		.select(["partnership_id", sql<number>`cast(sum(${clicks}) as bigint)`.as("clicks")])
		.where("partnership_id", "in", [NO_ID, ...partnershipIds])
		.groupBy("partnership_id")
		.execute();
	return new Map(rows.map(({ partnership_id, clicks }) => [partnership_id, clicks]));
}
