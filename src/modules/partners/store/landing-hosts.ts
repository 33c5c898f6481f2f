// The hosts to which the partner links of a programme may lead.

import type { NotNull, Selectable } from "kysely";
import type { Locked } from "#core/store/locked.ts";
import { NO_ID } from "#core/store/no-id.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import type { LandingHost } from "../domain/click.ts";
import type { LandingHostsTable } from "./tables.ts";

/** Returns the hosts to which a programme's links may lead. Hosts that staff have not confirmed yet are left out. */
export async function findLandingHosts(
	db: Db,
	programmeIds: readonly number[],
): Promise<ReadonlyMap<number, readonly LandingHost[]>> {
	if (programmeIds.length === 0) return new Map();
	const rows = await db
		.selectFrom("landing_hosts")
		.selectAll()
		.where("programme_id", "in", programmeIds)
		.where("waiting_since_ms", "is", null)
		.orderBy("host")
		.execute();
	const byProgramme = Map.groupBy(rows, (row) => row.programme_id);
	return new Map(
		[...byProgramme].map(([id, hosts]) => [
			id,
			hosts.map(({ host, with_subdomains }) => ({ host, withSubdomains: with_subdomains === 1 })),
		]),
	);
}

/** A landing host, which may still wait for staff. */
export interface ListedHost extends LandingHost {
	/** Time at which an owner entered the host, or null if staff entered or confirmed it. */
	waitingSinceMs: number | null;
}

/** Lists a programme's landing hosts in alphabetical order, with those that wait for staff. */
export async function listLandingHosts(db: Db, programmeId: number): Promise<ListedHost[]> {
	const hosts = db.selectFrom("landing_hosts").selectAll().where("programme_id", "=", programmeId);
	return (await hosts.orderBy("host").execute()).map(hostOf);
}

/** Lists the landing hosts of several programmes by the programmes' ids, with those that wait for staff. */
export async function findListedHosts(
	db: Db,
	programmeIds: readonly number[],
): Promise<ReadonlyMap<number, readonly ListedHost[]>> {
	const hosts = db.selectFrom("landing_hosts").selectAll().orderBy("host");
	const rows = await hosts.where("programme_id", "in", [NO_ID, ...programmeIds]).execute();
	const byProgramme = Map.groupBy(rows, ({ programme_id }) => programme_id);
	return new Map([...byProgramme].map(([id, ofProgramme]) => [id, ofProgramme.map(hostOf)]));
}

function hostOf(row: Selectable<LandingHostsTable>): ListedHost {
	const { host, with_subdomains, waiting_since_ms: waitingSinceMs } = row;
	return { host, withSubdomains: with_subdomains === 1, waitingSinceMs };
}

export interface WaitingHost extends ListedHost {
	waitingSinceMs: number;
	programmeId: number;
	programmeName: string;
	programmePublicId: string;
}

/** Lists the hosts that wait for staff, the oldest first. */
export async function listWaitingHosts(db: Db, limit: number): Promise<WaitingHost[]> {
	const rows = await db
		.selectFrom("landing_hosts")
		.innerJoin("programmes", "programmes.id", "landing_hosts.programme_id")
		.selectAll("landing_hosts")
		.select(["programmes.name", "programmes.public_id"])
		.where("waiting_since_ms", "is not", null)
		.$narrowType<{ waiting_since_ms: NotNull }>()
		.orderBy("waiting_since_ms")
		.limit(limit)
		.execute();
	return rows.map(({ name, public_id, ...row }) => ({
		...hostOf(row),
		waitingSinceMs: row.waiting_since_ms,
		programmeId: row.programme_id,
		programmeName: name,
		programmePublicId: public_id,
	}));
}

export async function countWaitingHosts(db: Db): Promise<number> {
	const hosts = db.selectFrom("landing_hosts").where("waiting_since_ms", "is not", null);
	return (await hosts.select(({ fn }) => fn.countAll<number>().as("hosts")).executeTakeFirstOrThrow()).hosts;
}

/** Replaces the landing hosts of a programme. The lock of the programme's row protects them. */
export async function replaceLandingHosts(
	trx: Db,
	{ id: programmeId }: Locked<Programme>,
	hosts: readonly (LandingHost & Partial<ListedHost>)[],
): Promise<void> {
	await trx.deleteFrom("landing_hosts").where("programme_id", "=", programmeId).execute();
	if (hosts.length === 0) return;
	const rows = hosts.map(({ host, withSubdomains, waitingSinceMs = null }) => ({
		programme_id: programmeId,
		host,
		with_subdomains: withSubdomains ? (1 as const) : (0 as const),
		waiting_since_ms: waitingSinceMs,
	}));
	await trx.insertInto("landing_hosts").values(rows).execute();
}
