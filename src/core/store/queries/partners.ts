// Queries about partners. The people who sign in for partners are in partner-people.ts.

import { type Insertable, sql } from "kysely";
import { isPartnerId } from "../../domain/id.ts";
import { type Locked, lockRow } from "../locked.ts";
import { NO_ID } from "../no-id.ts";
import type { Db } from "../store.ts";
import type { Partner, PartnersTable } from "../tables/partners.ts";
import { type ListPage, type PageRequest, readListPage, readNewestFirst, walkNewest } from "./list-page.ts";
import { findByName } from "./programme-list.ts";

export function insertPartner(db: Db, partner: Insertable<PartnersTable>): Promise<Partner> {
	return db.insertInto("partners").values(partner).returningAll().executeTakeFirstOrThrow();
}

export function findPartner(db: Db, publicId: string): Promise<Partner | undefined> {
	return db.selectFrom("partners").selectAll().where("public_id", "=", publicId).executeTakeFirst();
}

export function findPartnerById(db: Db, id: number): Promise<Partner | undefined> {
	return db.selectFrom("partners").selectAll().where("id", "=", id).executeTakeFirst();
}

export async function findPartnersById(
	db: Db,
	ids: readonly number[],
): Promise<ReadonlyMap<number, Partner>> {
	const rows = await db
		.selectFrom("partners")
		.selectAll()
		.where("id", "in", [NO_ID, ...ids])
		.execute();
	return new Map(rows.map((partner) => [partner.id, partner]));
}

export async function findPartnersByPublicId(db: Db, publicIds: readonly string[]): Promise<Partner[]> {
	if (publicIds.length === 0) return [];
	return db.selectFrom("partners").selectAll().where("public_id", "in", publicIds).execute();
}

/**
 * Finds partners by their whole name. Archived partners are left out. Names are not unique, so a name can find
 * several partners.
 */
export async function findPartnersByName(db: Db, names: readonly string[]): Promise<Partner[]> {
	if (names.length === 0) return [];
	const partners = db.selectFrom("partners").selectAll().where("name", "in", names);
	return partners.where("archived_at_ms", "is", null).orderBy("id").execute();
}

export function lockPartner(trx: Db, id: number): Promise<Locked<Partner> | undefined> {
	return lockRow(trx, trx.selectFrom("partners").selectAll().where("id", "=", id));
}

export async function updatePartner(
	trx: Db,
	{ id }: Locked<Partner>,
	change: Partial<
		Pick<Partner, "name" | "site" | "vat_percent" | "vat_note" | "archived_at_ms" | "erased_at_ms">
	>,
): Promise<void> {
	await trx.updateTable("partners").set(change).where("id", "=", id).execute();
}

export interface PartnerFilter {
	search?: string | undefined;
	/** Whether archived partners are listed. By default they are left out. */
	archived?: "no" | "only" | "too" | undefined;
}

/**
 * Lists partners, the newest first. `search` is a part of the name, or a whole public id, which finds archived
 * partners, too.
 */
export function listPartners(
	db: Db,
	{ search = "", archived = "no", ...request }: PageRequest & PartnerFilter,
): Promise<ListPage<Partner>> {
	const state = archived === "only" ? "is not" : "is";
	const only = archived === "too" ? null : sql<boolean>`p.archived_at_ms ${sql.raw(state)} null`;
	const all = db.selectFrom("partners").selectAll();
	if (isPartnerId(search)) {
		return readListPage(walkNewest(db, all.where("public_id", "=", search), "partners.id"), request);
	}
	if (search === "") {
		const listed = archived === "too" ? all : all.where("archived_at_ms", state, null);
		return readListPage(walkNewest(db, listed, "partners.id"), request);
	}
	const find = (beforeId: number, limit: number) => findByName(db, "partners", only, search, beforeId, limit);
	return readNewestFirst(
		request,
		async (beforeId, limit) => {
			const ids = await find(beforeId, limit);
			return ids.length === 0 ? [] : all.where("id", "in", ids).orderBy("id", "desc").execute();
		},
		{ count: async (limit) => (await find(Number.MAX_SAFE_INTEGER, limit)).length },
	);
}

export async function countPartners(db: Db): Promise<number> {
	const { partners } = await db
		.selectFrom("partners")
		.select(({ fn }) => fn.countAll<number>().as("partners"))
		.executeTakeFirstOrThrow();
	return partners;
}
