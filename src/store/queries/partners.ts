// Partners, their people, what they agreed with programmes, their links and coupon codes.

import { type Insertable, sql } from "kysely";
import type { LandingHost } from "../../domain/click.ts";
import type { Cursor } from "../../domain/cursor.ts";
import type { Db } from "../store.ts";
import type {
	ApplicationsTable,
	CouponCodesTable,
	Partner,
	PartnerLink,
	PartnerLinksTable,
	Partnership,
	PartnershipsTable,
	PartnersTable,
} from "../tables/partners.ts";
import { type ListPage, type PageRequest, readNewestFirst } from "./list-page.ts";
import { findByName } from "./programme-list.ts";

export type { Partner, PartnerLink, Partnership } from "../tables/partners.ts";

export function insertPartner(db: Db, partner: Insertable<PartnersTable>): Promise<Partner> {
	return db.insertInto("partners").values(partner).returningAll().executeTakeFirstOrThrow();
}

export function findPartner(db: Db, publicId: string): Promise<Partner | undefined> {
	return db.selectFrom("partners").selectAll().where("public_id", "=", publicId).executeTakeFirst();
}

const PARTNER_PREFIX = "ptn_";

/** The newest first. `search`: part of the name, or a whole id. */
export function listPartners(
	db: Db,
	{ search = "", ...request }: PageRequest & { search?: string | undefined },
): Promise<ListPage<Partner>> {
	return readNewestFirst(request, async (beforeId, limit) => {
		const all = db.selectFrom("partners").selectAll().where("id", "<", beforeId);
		const isById = search.startsWith(PARTNER_PREFIX);
		const named =
			search === "" || isById ? null : await findByName(db, "partners", null, search, beforeId, limit);
		if (named?.length === 0) return [];
		const found = isById ? all.where("public_id", "=", search) : all;
		return (named === null ? found : found.where("id", "in", named))
			.orderBy("id", "desc")
			.limit(limit)
			.execute();
	});
}

/** Of partners with this in their name, or with this id; at most `limit`. Of one programme where it is named. */
export async function findPartnerships(
	db: Db,
	{ programmeId, search, limit }: { programmeId?: number | undefined; search: string; limit: number },
): Promise<NamedPartnership[]> {
	const isHere = sql<boolean>`p.id in (select partner_id from partnerships where programme_id = ${programmeId})`;
	const here = programmeId === undefined ? null : isHere;
	const ids = search.startsWith(PARTNER_PREFIX)
		? [(await findPartner(db, search))?.id ?? 0]
		: await findByName(db, "partners", here, search, Number.MAX_SAFE_INTEGER, limit);
	if (ids.length === 0) return [];
	const theirs = named(db).where("partnerships.partner_id", "in", ids);
	return (programmeId === undefined ? theirs : theirs.where("partnerships.programme_id", "=", programmeId))
		.orderBy("partnerships.id", "desc")
		.limit(limit)
		.execute();
}

export async function setPartnerEnded(db: Db, partnerId: number, nowMs: number | null): Promise<void> {
	await db.updateTable("partners").set({ ended_at_ms: nowMs }).where("id", "=", partnerId).execute();
}

export async function addPartnerPerson(db: Db, partnerId: number, personId: number): Promise<void> {
	await db
		.insertInto("partner_people")
		.values({ partner_id: partnerId, person_id: personId })
		.onConflict((conflict) => conflict.doNothing())
		.execute();
}

export async function removePartnerPerson(db: Db, partnerId: number, personId: number): Promise<boolean> {
	const { numDeletedRows } = await db
		.deleteFrom("partner_people")
		.where("partner_id", "=", partnerId)
		.where("person_id", "=", personId)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

/** For whom somebody signs in, those that have ended included: they keep what they earned. */
export function listPartnersOf(db: Db, personId: number): Promise<Partner[]> {
	return db
		.selectFrom("partner_people")
		.innerJoin("partners", "partners.id", "partner_people.partner_id")
		.selectAll("partners")
		.where("partner_people.person_id", "=", personId)
		.orderBy("partners.id")
		.execute();
}

export function insertPartnership(
	db: Db,
	partnership: Insertable<PartnershipsTable>,
): Promise<Partnership | undefined> {
	return db
		.insertInto("partnerships")
		.values(partnership)
		.onConflict((conflict) => conflict.columns(["programme_id", "partner_id"]).doNothing())
		.returningAll()
		.executeTakeFirst();
}

export async function changePartnership(
	db: Db,
	id: number,
	change: Pick<Partial<Partnership>, "commission_rate" | "ended_at_ms" | "terms">,
): Promise<void> {
	await db.updateTable("partnerships").set(change).where("id", "=", id).execute();
}

/** With the names that people know both sides by. */
export interface NamedPartnership extends Partnership {
	partner_name: string;
	partner_public_id: string;
	partner_ended_at_ms: number | null;
	programme_name: string;
	/** Which holds where the partnership has none of its own. */
	programme_rate: string;
	programme_public_id: string;
	programme_shows_baskets: 0 | 1;
}

function named(db: Db) {
	return db
		.selectFrom("partnerships")
		.innerJoin("partners", "partners.id", "partnerships.partner_id")
		.innerJoin("programmes", "programmes.id", "partnerships.programme_id")
		.selectAll("partnerships")
		.select([
			"partners.name as partner_name",
			"partners.public_id as partner_public_id",
			"partners.ended_at_ms as partner_ended_at_ms",
			"programmes.name as programme_name",
			"programmes.commission_rate as programme_rate",
			"programmes.public_id as programme_public_id",
			"programmes.shows_baskets as programme_shows_baskets",
		]);
}

export function findPartnership(db: Db, publicId: string): Promise<NamedPartnership | undefined> {
	return named(db).where("partnerships.public_id", "=", publicId).executeTakeFirst();
}

export async function findPartnershipsById(
	db: Db,
	ids: readonly number[],
): Promise<ReadonlyMap<number, NamedPartnership>> {
	if (ids.length === 0) return new Map();
	const rows = await named(db).where("partnerships.id", "in", ids).execute();
	return new Map(rows.map((row) => [row.id, row]));
}

/** The same a page at a time. */
export function pagePartnerships(
	db: Db,
	programmeId: number,
	request: PageRequest,
): Promise<ListPage<NamedPartnership>> {
	const own = named(db).where("partnerships.programme_id", "=", programmeId);
	return readNewestFirst(request, (beforeId, limit) =>
		own.where("partnerships.id", "<", beforeId).orderBy("partnerships.id", "desc").limit(limit).execute(),
	);
}

export function listPartnershipsOfPartner(db: Db, partnerId: number): Promise<NamedPartnership[]> {
	return named(db).where("partnerships.partner_id", "=", partnerId).orderBy("partnerships.id").execute();
}

/** Of all partners, those of one partner together, the newest partner first. */
export function listPartnerships(
	db: Db,
	after: Cursor | undefined,
	limit: number,
): Promise<NamedPartnership[]> {
	const { at, id } = after ?? { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };
	return named(db)
		.where(sql<boolean>`(partnerships.partner_id, partnerships.id) < (${at}, ${id})`)
		.orderBy("partnerships.partner_id", "desc")
		.orderBy("partnerships.id", "desc")
		.limit(limit)
		.execute();
}

/** Undefined when somebody has the code already. */
export function insertLink(db: Db, link: Insertable<PartnerLinksTable>): Promise<PartnerLink | undefined> {
	return db
		.insertInto("partner_links")
		.values(link)
		.onConflict((conflict) => conflict.column("code").doNothing())
		.returningAll()
		.executeTakeFirst();
}

export function listLinks(db: Db, partnershipIds: readonly number[]): Promise<PartnerLink[]> {
	if (partnershipIds.length === 0) return Promise.resolve([]);
	return db
		.selectFrom("partner_links")
		.selectAll()
		.where("partnership_id", "in", partnershipIds)
		.orderBy("id", "desc")
		.execute();
}

export function findLink(db: Db, id: number): Promise<PartnerLink | undefined> {
	return db.selectFrom("partner_links").selectAll().where("id", "=", id).executeTakeFirst();
}

export function findCode(db: Db, programmeId: number, folded: string) {
	return db
		.selectFrom("coupon_codes")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("folded", "=", folded)
		.executeTakeFirst();
}

/** The first that was added: a test of the programme is credited by it. */
export function findFirstCode(db: Db, programmeId: number) {
	const codes = db.selectFrom("coupon_codes").selectAll().where("programme_id", "=", programmeId);
	return codes.orderBy("created_at_ms").limit(1).executeTakeFirst();
}

/** False when it belongs to a partnership already. */
export async function insertCode(db: Db, code: Insertable<CouponCodesTable>): Promise<boolean> {
	const { numInsertedOrUpdatedRows = 0n } = await db
		.insertInto("coupon_codes")
		.values(code)
		.onConflict((conflict) => conflict.doNothing())
		.executeTakeFirst();
	return numInsertedOrUpdatedRows > 0n;
}

export async function removeCode(db: Db, programmeId: number, folded: string): Promise<boolean> {
	const { numDeletedRows } = await db
		.deleteFrom("coupon_codes")
		.where("programme_id", "=", programmeId)
		.where("folded", "=", folded)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

export async function listCodes(db: Db, partnershipIds: readonly number[]) {
	if (partnershipIds.length === 0) return [];
	return db
		.selectFrom("coupon_codes")
		.selectAll()
		.where("partnership_id", "in", partnershipIds)
		.orderBy("folded")
		.execute();
}

export async function replaceLandingHosts(
	trx: Db,
	programmeId: number,
	hosts: readonly LandingHost[],
): Promise<void> {
	await trx.deleteFrom("landing_hosts").where("programme_id", "=", programmeId).execute();
	if (hosts.length === 0) return;
	const rows = hosts.map(({ host, withSubdomains }) => ({
		programme_id: programmeId,
		host,
		with_subdomains: withSubdomains ? (1 as const) : (0 as const),
	}));
	await trx.insertInto("landing_hosts").values(rows).execute();
}

export function insertApplication(db: Db, application: Insertable<ApplicationsTable>) {
	return db.insertInto("applications").values(application).returningAll().executeTakeFirstOrThrow();
}

export function findApplication(db: Db, publicId: string) {
	return db.selectFrom("applications").selectAll().where("public_id", "=", publicId).executeTakeFirst();
}

/** Those that wait for an answer, the oldest first. */
export function listOpenApplications(db: Db, programmeId: number, limit: number) {
	return db
		.selectFrom("applications")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("decided_at_ms", "is", null)
		.orderBy("id")
		.limit(limit)
		.execute();
}

/** False when somebody was faster. */
export async function decideApplication(
	db: Db,
	id: number,
	accepted: boolean,
	nowMs: number,
): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("applications")
		.set({ decided_at_ms: nowMs, accepted: accepted ? 1 : 0 })
		.where("id", "=", id)
		.where("decided_at_ms", "is", null)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}
