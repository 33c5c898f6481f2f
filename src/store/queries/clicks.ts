// What a click needs: the link behind a code, read in batches and kept in memory by its reader; and counts by the hour.

import { sql } from "kysely";
import { type ClickKind, type Landing, type LandingHost, landingAt, landingUrl } from "../../domain/click.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import type { PartnerLink } from "../tables/partners.ts";

export interface KnownLink {
	code: string;
	linkId: number;
	partnershipId: number;
	programmeId: number;
	/** Null where the programme has taken the host off its list since. */
	landing: Landing | null;
	/** Neither the partnership nor the partner has ended. */
	isActive: boolean;
	parameter: string;
	hosts: readonly LandingHost[];
}

export async function findLinks(db: Db, codes: readonly string[]): Promise<KnownLink[]> {
	if (codes.length === 0) return [];
	const rows = await db
		.selectFrom("partner_links as link")
		.innerJoin("partnerships as own", "own.id", "link.partnership_id")
		.innerJoin("partners", "partners.id", "own.partner_id")
		.innerJoin("programmes", "programmes.id", "own.programme_id")
		.select(["link.code", "link.id", "link.target", "link.partnership_id", "own.programme_id"])
		.select(["own.ended_at_ms", "partners.ended_at_ms as partner_ended_at_ms", "programmes.click_parameter"])
		.where("link.code", "in", codes)
		.execute();
	const hosts = await findLandingHosts(db, [...new Set(rows.map((row) => row.programme_id))]);
	return rows.map((row) => {
		const allowed = hosts.get(row.programme_id) ?? [];
		const target = landingUrl(row.target, allowed);
		return {
			code: row.code,
			linkId: row.id,
			partnershipId: row.partnership_id,
			programmeId: row.programme_id,
			landing: target === null ? null : landingAt(target, row.click_parameter),
			isActive: row.ended_at_ms === null && row.partner_ended_at_ms === null,
			parameter: row.click_parameter,
			hosts: allowed,
		};
	});
}

export async function findLandingHosts(
	db: Db,
	programmeIds: readonly number[],
): Promise<ReadonlyMap<number, readonly LandingHost[]>> {
	if (programmeIds.length === 0) return new Map();
	const rows = await db
		.selectFrom("landing_hosts")
		.selectAll()
		.where("programme_id", "in", programmeIds)
		.orderBy("host")
		.execute();
	const byProgramme = Map.groupBy(rows, (row) => row.programme_id);
	return new Map(
		[...byProgramme].map(([id, own]) => [
			id,
			own.map(({ host, with_subdomains }) => ({ host, withSubdomains: with_subdomains === 1 })),
		]),
	);
}

export interface ClickCount {
	partnershipId: number;
	linkId: number;
	/** Since 1970. */
	hour: number;
	kind: ClickKind;
	clicks: number;
}

/** In the order of the key, so that two processes do not wait for each other's rows. */
export async function addClicks(db: Db, counts: readonly ClickCount[]): Promise<void> {
	if (counts.length === 0) return;
	const rows = counts
		.map(({ partnershipId, linkId, hour, kind, clicks }) => ({
			partnership_id: partnershipId,
			hour,
			link_id: linkId,
			kind,
			clicks,
		}))
		.toSorted(
			(a, b) =>
				a.partnership_id - b.partnership_id ||
				a.hour - b.hour ||
				a.link_id - b.link_id ||
				(a.kind < b.kind ? -1 : 1),
		);
	await db
		.insertInto("click_hours")
		.values(rows)
		.onConflict((conflict) =>
			conflict
				.columns(["partnership_id", "hour", "link_id", "kind"])
				.doUpdateSet((eb) => ({ clicks: eb("click_hours.clicks", "+", eb.ref("excluded.clicks")) })),
		)
		.execute();
}

export interface ClickSum {
	all: number;
	/** Since the hour that was asked for. */
	recent: number;
}

/** Clicks that got a click id, by partnership or by link. */
export async function sumClicks(
	db: Db,
	by: "partnership_id" | "link_id",
	partnershipIds: readonly number[],
	sinceHour: number,
): Promise<ReadonlyMap<number, ClickSum>> {
	if (partnershipIds.length === 0) return new Map();
	const rows = await db
		.selectFrom("click_hours")
		.select(by)
		.select([
			sql<number>`cast(sum(clicks) as bigint)`.as("every"),
			sql<number>`cast(sum(case when hour >= ${sinceHour} then clicks else 0 end) as bigint)`.as("recent"),
		])
		.where("partnership_id", "in", partnershipIds)
		.where("kind", "=", "click")
		.groupBy(by)
		.execute();
	return new Map(rows.map((row) => [row[by], { all: row.every, recent: row.recent }]));
}

/** What became of the clicks on these links: `clicks` in all, `recent` since then. */
export async function sumLinkClicks(db: Db, links: readonly PartnerLink[], sinceMs: number) {
	if (links.length === 0) return [];
	const recent = sql<number>`case when hour >= ${Math.floor(sinceMs / HOUR_MS)} then clicks else 0 end`;
	const sum = (value: typeof recent) => sql<number>`cast(sum(${value}) as bigint)`;
	return db
		.selectFrom("click_hours")
		.select(["link_id", "kind", sum(recent).as("recent"), sum(sql.ref("clicks")).as("clicks")])
		.where("partnership_id", "in", [...new Set(links.map((link) => link.partnership_id))])
		.where(
			"link_id",
			"in",
			links.map(({ id }) => id),
		)
		.groupBy(["link_id", "kind"])
		.execute();
}
