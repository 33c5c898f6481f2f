// What a click needs: the link behind a code, read in batches and kept in memory by its reader; and counts by the hour.

import { sql } from "kysely";
import { type ClickKind, type Landing, type LandingHost, landingAt, landingUrl } from "../../domain/click.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";

export interface KnownLink {
	code: string;
	linkId: number;
	partnershipId: number;
	programmeId: number;
	/** Null where the programme has no landing host any more. */
	landing: Landing | null;
	/** The partnership has not ended. */
	isActive: boolean;
	parameter: string;
	hosts: readonly LandingHost[];
}

export async function findLinks(db: Db, codes: readonly string[]): Promise<KnownLink[]> {
	if (codes.length === 0) return [];
	const rows = await db
		.selectFrom("partner_links as link")
		.innerJoin("partnerships as own", "own.id", "link.partnership_id")
		.innerJoin("programmes", "programmes.id", "own.programme_id")
		.select(["link.code", "link.id", "link.target", "link.partnership_id", "own.programme_id"])
		.select(["own.ended_at_ms", "programmes.click_parameter"])
		.where("link.code", "in", codes)
		.execute();
	const hosts = await findLandingHosts(db, [...new Set(rows.map((row) => row.programme_id))]);
	return rows.map((row) => {
		const allowed = hosts.get(row.programme_id) ?? [];
		// The shop took the host off its list: its visitors are still led to it, and the partner is still credited.
		const target = landingUrl(row.target, allowed) ?? frontPage(allowed);
		return {
			code: row.code,
			linkId: row.id,
			partnershipId: row.partnership_id,
			programmeId: row.programme_id,
			landing: target === null ? null : landingAt(target, row.click_parameter),
			isActive: row.ended_at_ms === null,
			parameter: row.click_parameter,
			hosts: allowed,
		};
	});
}

function frontPage([first]: readonly LandingHost[]): URL | null {
	return first === undefined ? null : new URL(`https://${first.host}/`);
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

/** What became of clicks: of one kind, in all and in the span. */
export interface ClickSum {
	kind: ClickKind;
	all: number;
	recent: number;
}

/** Of these partnerships, by partnership or by link. */
export async function sumClicks(
	db: Db,
	by: "partnership_id" | "link_id",
	partnershipIds: readonly number[],
	{ fromMs, beforeMs = Number.MAX_SAFE_INTEGER }: { fromMs: number; beforeMs?: number },
): Promise<ReadonlyMap<number, readonly ClickSum[]>> {
	if (partnershipIds.length === 0) return new Map();
	// A day that nobody lives to see has more hours than an integer of PostgreSQL.
	const hourOf = (atMs: number) => sql`cast(${Math.floor(atMs / HOUR_MS)} as bigint)`;
	const recent = sql<number>`case when hour >= ${hourOf(fromMs)} and hour < ${hourOf(beforeMs)} then clicks else 0 end`;
	const sum = (value: typeof recent) => sql<number>`cast(sum(${value}) as bigint)`;
	const rows = await db
		.selectFrom("click_hours")
		.select([by, "kind", sum(recent).as("recent"), sum(sql.ref("clicks")).as("clicks")])
		.where("partnership_id", "in", partnershipIds)
		.groupBy([by, "kind"])
		.execute();
	const sums = rows.map((row) => ({ of: row[by], kind: row.kind, all: row.clicks, recent: row.recent }));
	return Map.groupBy(sums, ({ of }) => of);
}
