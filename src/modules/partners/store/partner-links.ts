// Links of partners to a shop's pages. clicks.ts finds them for clicks and counts the clicks.

import type { Insertable } from "kysely";
import { NO_ID } from "#core/store/no-id.ts";
import { type ListPage, type PageRequest, readListPage, walkNewest } from "#core/store/queries/list-page.ts";
import type { Db } from "#core/store/store.ts";
import type { PartnerLink, PartnerLinksTable } from "./tables.ts";

/** Inserts a partner link. Returns undefined if its code is already in use. */
export function insertPartnerLink(
	db: Db,
	link: Insertable<PartnerLinksTable>,
): Promise<PartnerLink | undefined> {
	return db
		.insertInto("partner_links")
		.values(link)
		.onConflict((conflict) => conflict.column("code").doNothing())
		.returningAll()
		.executeTakeFirst();
}

/**
 * Inserts partner links, which must have different codes, and returns the inserted ones. A link whose code is
 * already in use is skipped.
 */
export async function insertPartnerLinks(
	db: Db,
	links: readonly Insertable<PartnerLinksTable>[],
): Promise<PartnerLink[]> {
	if (links.length === 0) return [];
	// Rows are inserted in the order of the unique index, so that two processes cannot deadlock.
	const sorted = links.toSorted((one, other) => (one.code < other.code ? -1 : 1));
	return db
		.insertInto("partner_links")
		.values(sorted)
		.onConflict((conflict) => conflict.column("code").doNothing())
		.returningAll()
		.execute();
}

/** Lists partner links, the newest first. */
export function pagePartnerLinks(
	db: Db,
	partnershipIds: readonly number[],
	request: PageRequest,
): Promise<ListPage<PartnerLink>> {
	const links = db
		.selectFrom("partner_links")
		.selectAll()
		.where("partnership_id", "in", [NO_ID, ...partnershipIds]);
	return readListPage(walkNewest(db, links, "partner_links.id"), request);
}

export async function countPartnerLinks(db: Db, partnershipId: number): Promise<number> {
	const links = db.selectFrom("partner_links").where("partnership_id", "=", partnershipId);
	return (await links.select(({ fn }) => fn.countAll<number>().as("links")).executeTakeFirstOrThrow()).links;
}

export function findPartnerLink(db: Db, column: "id" | "code", value: number | string) {
	return db.selectFrom("partner_links").selectAll().where(column, "=", value).executeTakeFirst();
}

export async function findLinkCodes(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
	const links = db.selectFrom("partner_links").select(["id", "code"]);
	const found = await links.where("id", "in", [NO_ID, ...ids]).execute();
	return new Map(found.map(({ id, code }) => [id, code]));
}

export async function findLinksByCode(db: Db, codes: readonly string[]): Promise<PartnerLink[]> {
	if (codes.length === 0) return [];
	return db.selectFrom("partner_links").selectAll().where("code", "in", codes).execute();
}
