// Partners and their people, partnerships, partner links, coupon codes, landing hosts and applications.

import { type Insertable, type NotNull, type Selectable, sql } from "kysely";
import { isPartnerId } from "#core/domain/id.ts";
import { type Locked, lockRow, lockRows } from "#core/store/locked.ts";
import { type ListPage, type PageRequest, readNewestFirst } from "#core/store/queries/list-page.ts";
import { findByName } from "#core/store/queries/programme-list.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { notePartnershipRates } from "#core/store/queries/rate-history.ts";
import type { Db } from "#core/store/store.ts";
import type { ProgrammesTable } from "#core/store/tables/programmes.ts";
import type { LandingHost } from "../domain/click.ts";
import type {
	Application,
	ApplicationsTable,
	CouponCodesTable,
	LandingHostsTable,
	Partner,
	PartnerLink,
	PartnerLinksTable,
	Partnership,
	PartnershipsTable,
	PartnersTable,
} from "./tables.ts";

export type { Application, Partner, PartnerLink, Partnership } from "./tables.ts";

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

/** Finds partners by their whole name, without archived ones. Names are not unique, so one can find several partners. */
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
	/** Whether archived partners are listed. By default they are not. */
	archived?: "no" | "only" | "too" | undefined;
}

/** An id that no row has. It fills lists that may be empty, because `in ()` is not valid SQL. */
export const NO_ID = 0;

/**
 * Lists partners, the newest first. `search` is a part of the name, or a whole public id, which also finds a partner
 * that is archived.
 */
export function listPartners(
	db: Db,
	{ search = "", archived = "no", ...request }: PageRequest & PartnerFilter,
): Promise<ListPage<Partner>> {
	const state = archived === "only" ? "is not" : "is";
	const only = archived === "too" ? null : sql<boolean>`p.archived_at_ms ${sql.raw(state)} null`;
	return readNewestFirst(request, async (beforeId, limit) => {
		const all = db.selectFrom("partners").selectAll().where("id", "<", beforeId);
		const isById = isPartnerId(search);
		const named =
			search === "" || isById ? null : await findByName(db, "partners", only, search, beforeId, limit);
		if (named?.length === 0) return [];
		const listed = archived === "too" ? all : all.where("archived_at_ms", state, null);
		const found = isById ? all.where("public_id", "=", search) : listed;
		return (named === null ? found : found.where("id", "in", named))
			.orderBy("id", "desc")
			.limit(limit)
			.execute();
	});
}

/** Finds partnerships by a part of the partner's name or by its public id, in all programmes or in one. */
export async function findPartnerships(
	db: Db,
	{ programmeId, search, limit }: { programmeId?: number | undefined; search: string; limit: number },
): Promise<NamedPartnership[]> {
	const isHere = sql<boolean>`p.id in (select partner_id from partnerships where programme_id = ${programmeId})`;
	const here = programmeId === undefined ? null : isHere;
	const ids = isPartnerId(search)
		? [(await findPartner(db, search))?.id ?? 0]
		: await findByName(db, "partners", here, search, Number.MAX_SAFE_INTEGER, limit);
	if (ids.length === 0) return [];
	const theirs = named(db).where("partnerships.partner_id", "in", ids);
	return (programmeId === undefined ? theirs : theirs.where("partnerships.programme_id", "=", programmeId))
		.orderBy("partnerships.id", "desc")
		.limit(limit)
		.execute();
}

export async function addPartnerPerson(db: Db, partnerId: number, personId: number): Promise<void> {
	await db
		.insertInto("partner_people")
		.values({ partner_id: partnerId, person_id: personId })
		.onConflict((conflict) => conflict.doNothing())
		.execute();
}

/** Returns the e-mail addresses of the people who sign in for a partner. */
export async function listPartnerEmails(db: Db, partnerId: number): Promise<string[]> {
	const people = await db
		.selectFrom("partner_people")
		.innerJoin("people", "people.id", "partner_people.person_id")
		.select("people.email")
		.where("partner_id", "=", partnerId)
		.orderBy("people.id")
		.execute();
	return people.map(({ email }) => email);
}

/** Removes a person from a partner. Returns false if the person did not sign in for the partner. */
export async function removePartnerPerson(db: Db, partnerId: number, personId: number): Promise<boolean> {
	const people = db.deleteFrom("partner_people").where("partner_id", "=", partnerId);
	const { numDeletedRows } = await people.where("person_id", "=", personId).executeTakeFirst();
	return numDeletedRows > 0n;
}

/** Returns the ids of the people who sign in for a partner. */
export async function listPartnerPeopleIds(db: Db, partnerId: number): Promise<number[]> {
	const people = db.selectFrom("partner_people").select("person_id").where("partner_id", "=", partnerId);
	return (await people.orderBy("person_id").execute()).map(({ person_id }) => person_id);
}

/** Returns the number of people who sign in for a partner. */
export async function countPartnerPeople(db: Db, partnerId: number): Promise<number> {
	const people = db.selectFrom("partner_people").where("partner_id", "=", partnerId);
	return (await people.select(({ fn }) => fn.countAll<number>().as("people")).executeTakeFirstOrThrow())
		.people;
}

export async function signsInFor(db: Db, partnerId: number, personId: number): Promise<boolean> {
	const people = db.selectFrom("partner_people").select("person_id").where("partner_id", "=", partnerId);
	return (await people.where("person_id", "=", personId).executeTakeFirst()) !== undefined;
}

/** Returns whether the person has a role in a programme that the partner brings sales to, or brought sales to. */
export async function hasRoleInProgrammeOf(db: Db, partnerId: number, personId: number): Promise<boolean> {
	const found = await db
		.selectFrom("partnerships")
		.innerJoin("programme_people", "programme_people.programme_id", "partnerships.programme_id")
		.select("partnerships.id")
		.where("partnerships.partner_id", "=", partnerId)
		.where("programme_people.person_id", "=", personId)
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}

/** Returns whether the person signs in for a partner that brings sales to the programme, or brought sales to it. */
export async function signsInForPartnerOf(db: Db, programmeId: number, personId: number): Promise<boolean> {
	const found = await db
		.selectFrom("partner_people")
		.innerJoin("partnerships", "partnerships.partner_id", "partner_people.partner_id")
		.select("partnerships.id")
		.where("partner_people.person_id", "=", personId)
		.where("partnerships.programme_id", "=", programmeId)
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}

/**
 * Returns the partners that this person signs in for, including those whose partnerships have all ended. Archived
 * partners come last.
 */
export function listPartnersOf(db: Db, personId: number): Promise<Partner[]> {
	return db
		.selectFrom("partner_people")
		.innerJoin("partners", "partners.id", "partner_people.partner_id")
		.selectAll("partners")
		.where("partner_people.person_id", "=", personId)
		.orderBy((eb) => eb.case().when("partners.archived_at_ms", "is", null).then(0).else(1).end())
		.orderBy("partners.id")
		.execute();
}

/** Returns whether the person, or somebody who signs in for one of the partners, has a role in the programme. */
export async function hasPersonOf(
	db: Db,
	programmeId: number,
	personId: number,
	partnerIds: readonly number[],
): Promise<boolean> {
	const colleagues = db
		.selectFrom("partner_people")
		.select("person_id")
		.where("partner_id", "in", [NO_ID, ...partnerIds]);
	const found = await db
		.selectFrom("programme_people")
		.select("person_id")
		.where("programme_id", "=", programmeId)
		.where((eb) => eb.or([eb("person_id", "=", personId), eb("person_id", "in", colleagues)]))
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
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

/**
 * Key of a partnership within one programme or one partner. An id from a page of another programme or partner finds
 * nothing.
 */
export type PartnershipKey =
	| Pick<Partnership, "programme_id" | "public_id">
	| Pick<Partnership, "partner_id" | "public_id">
	| Pick<Partnership, "id">;

export function lockPartnership(trx: Db, key: PartnershipKey): Promise<Locked<Partnership> | undefined> {
	const query = trx.selectFrom("partnerships").selectAll();
	return lockRow(
		trx,
		query.where((eb) => eb.and({ ...key })),
	);
}

export function lockPartnershipsById(trx: Db, ids: readonly number[]): Promise<Locked<Partnership>[]> {
	const query = trx
		.selectFrom("partnerships")
		.selectAll()
		.where("id", "in", [NO_ID, ...ids]);
	return lockRows(trx, query.orderBy("id"));
}

/** Locks all partnerships of a partner. */
export function lockPartnershipsOf(trx: Db, partnerId: number): Promise<Locked<Partnership>[]> {
	const query = trx.selectFrom("partnerships").selectAll().where("partner_id", "=", partnerId);
	return lockRows(trx, query.orderBy("id"));
}

export async function changePartnership(
	trx: Db,
	{ id }: Locked<Partnership>,
	change: Pick<Partial<Partnership>, "ended_at_ms" | "ended_by_staff" | "clicks_ended_at_ms">,
): Promise<void> {
	await trx.updateTable("partnerships").set(change).where("id", "=", id).execute();
}

/** Changes the commission of a partnership, which applies from `atMs` on. */
export async function changeCommission(
	trx: Db,
	{ id }: Locked<Partnership>,
	commission: Pick<Partnership, "commission_rate" | "event_rates">,
	atMs: number,
): Promise<void> {
	await notePartnershipRates(trx, id, commission, atMs);
	await trx.updateTable("partnerships").set(commission).where("id", "=", id).execute();
}

/**
 * A partnership with the names of both sides, and with the programme's rates, which apply if it has none of its own.
 * `agreedCommissions` in credits.ts combines them.
 */
export type NamedPartnership = NonNullable<Awaited<ReturnType<typeof findPartnership>>>;

function named(db: Db) {
	return db
		.selectFrom("partnerships")
		.innerJoin("partners", "partners.id", "partnerships.partner_id")
		.innerJoin("programmes", "programmes.id", "partnerships.programme_id")
		.selectAll("partnerships")
		.select([
			"partners.name as partner_name",
			"partners.public_id as partner_public_id",
			"partners.archived_at_ms as partner_archived_at_ms",
			"programmes.name as programme_name",
			"programmes.currency as programme_currency",
			"programmes.commission_rate as programme_rate",
			"programmes.event_rates as programme_event_rates",
			"programmes.public_id as programme_public_id",
			"programmes.shows_baskets as programme_shows_baskets",
			"programmes.credits_partners as programme_credits_partners",
			"programmes.click_days as programme_click_days",
		]);
}

export function findPartnership(db: Db, publicId: string) {
	return named(db).where("partnerships.public_id", "=", publicId).executeTakeFirst();
}

/** Finds partnerships by their own ids or by those of their partners, the newest partner first. */
export function listPartnerships(
	db: Db,
	column: "id" | "partner_id",
	ids: readonly number[],
): Promise<NamedPartnership[]> {
	const partnerships = named(db).orderBy("partnerships.partner_id", "desc").orderBy("partnerships.id");
	return partnerships.where(`partnerships.${column}`, "in", [NO_ID, ...ids]).execute();
}

/** Finds the partnerships of these partners in these programmes. */
export async function findPartnershipsBetween(
	db: Db,
	programmeIds: readonly number[],
	partnerIds: readonly number[],
): Promise<NamedPartnership[]> {
	if (programmeIds.length === 0 || partnerIds.length === 0) return [];
	return named(db)
		.where("partnerships.programme_id", "in", programmeIds)
		.where("partnerships.partner_id", "in", partnerIds)
		.execute();
}

export interface PartnershipFilter {
	programmeId?: number | undefined;
	partnerId?: number | undefined;
}

/** Lists partnerships of a programme, of a partner or of the whole network, the newest first. */
export function pagePartnerships(
	db: Db,
	{ programmeId, partnerId }: PartnershipFilter,
	request: PageRequest,
): Promise<ListPage<NamedPartnership>> {
	let partnerships = named(db);
	if (programmeId !== undefined)
		partnerships = partnerships.where("partnerships.programme_id", "=", programmeId);
	if (partnerId !== undefined) partnerships = partnerships.where("partnerships.partner_id", "=", partnerId);
	return readNewestFirst(request, (beforeId, limit) =>
		partnerships
			.where("partnerships.id", "<", beforeId)
			.orderBy("partnerships.id", "desc")
			.limit(limit)
			.execute(),
	);
}

/** A programme without its receiver, which partners have nothing to do with. */
export type OpenProgramme = Selectable<ProgrammesTable>;

/** Lists the programmes for which a partner can apply, because it has never been a partner of them. */
export function pageOpenProgrammes(
	db: Db,
	partnerId: number,
	request: PageRequest,
): Promise<ListPage<OpenProgramme>> {
	const programmes = db
		.selectFrom("programmes")
		.selectAll()
		.where("is_listed", "=", 1)
		.where("takes_applications", "=", 1)
		.where("archived_at_ms", "is", null)
		.where(({ not, exists, selectFrom }) =>
			not(
				exists(
					selectFrom("partnerships")
						.select("partnerships.id")
						.whereRef("partnerships.programme_id", "=", "programmes.id")
						.where("partnerships.partner_id", "=", partnerId),
				),
			),
		);
	return readNewestFirst(request, (beforeId, limit) =>
		programmes.where("id", "<", beforeId).orderBy("id", "desc").limit(limit).execute(),
	);
}

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
	return readNewestFirst(request, (beforeId, limit) =>
		links.where("id", "<", beforeId).orderBy("id", "desc").limit(limit).execute(),
	);
}

/** Counts all partners, including archived ones. */
export async function countPartners(db: Db): Promise<number> {
	const { partners } = await db
		.selectFrom("partners")
		.select(({ fn }) => fn.countAll<number>().as("partners"))
		.executeTakeFirstOrThrow();
	return partners;
}

export async function countPartnerLinks(db: Db, partnershipId: number): Promise<number> {
	const links = db.selectFrom("partner_links").where("partnership_id", "=", partnershipId);
	return (await links.select(({ fn }) => fn.countAll<number>().as("links")).executeTakeFirstOrThrow()).links;
}

export function findPartnerLink(db: Db, column: "id" | "code", value: number | string) {
	return db.selectFrom("partner_links").selectAll().where(column, "=", value).executeTakeFirst();
}

/** Inserts partner links, which must have different codes. Returns those whose code was not in use before. */
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

/** Finds the codes of partner links by their ids. */
export async function findLinkCodes(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
	const links = db.selectFrom("partner_links").select(["id", "code"]);
	const found = await links.where("id", "in", [NO_ID, ...ids]).execute();
	return new Map(found.map(({ id, code }) => [id, code]));
}

export async function findLinksByCode(db: Db, codes: readonly string[]): Promise<PartnerLink[]> {
	if (codes.length === 0) return [];
	return db.selectFrom("partner_links").selectAll().where("code", "in", codes).execute();
}

/** Finds the partnership that a coupon code belongs to. */
export function findByCode(db: Db, programmeId: number, folded: string) {
	return named(db)
		.innerJoin("coupon_codes", "coupon_codes.partnership_id", "partnerships.id")
		.where("coupon_codes.programme_id", "=", programmeId)
		.where("folded", "=", folded)
		.executeTakeFirst();
}

/** Finds coupon codes of these programmes by the form in which they are compared. */
export async function findCodes(db: Db, programmeIds: readonly number[], folded: readonly string[]) {
	if (programmeIds.length === 0 || folded.length === 0) return [];
	return db
		.selectFrom("coupon_codes")
		.selectAll()
		.where("programme_id", "in", programmeIds)
		.where("folded", "in", folded)
		.execute();
}

/** Returns the oldest coupon code of the programme, which its test conversions use. */
export function findFirstCode(db: Db, programmeId: number) {
	const codes = db.selectFrom("coupon_codes").selectAll().where("programme_id", "=", programmeId);
	return codes.orderBy("created_at_ms").limit(1).executeTakeFirst();
}

export async function insertCode(db: Db, code: Insertable<CouponCodesTable>): Promise<void> {
	await db.insertInto("coupon_codes").values(code).execute();
}

/** Inserts coupon codes. Returns those that no partnership of their programme had before. */
export async function insertCodes(
	db: Db,
	codes: readonly Insertable<CouponCodesTable>[],
): Promise<Selectable<CouponCodesTable>[]> {
	if (codes.length === 0) return [];
	// Rows are inserted in the order of the key, so that two processes cannot deadlock.
	const sorted = codes.toSorted(
		(one, other) => one.programme_id - other.programme_id || (one.folded < other.folded ? -1 : 1),
	);
	return db
		.insertInto("coupon_codes")
		.values(sorted)
		.onConflict((conflict) => conflict.columns(["programme_id", "folded"]).doNothing())
		.returningAll()
		.execute();
}

export async function countCodes(
	db: Db,
	partnershipIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
	const counts = await db
		.selectFrom("coupon_codes")
		.select(({ fn }) => ["partnership_id", fn.countAll<number>().as("codes")])
		.where("partnership_id", "in", [NO_ID, ...partnershipIds])
		.groupBy("partnership_id")
		.execute();
	return new Map(counts.map(({ partnership_id, codes }) => [partnership_id, Number(codes)]));
}

export async function removeCode(
	trx: Db,
	{ id, programme_id }: Locked<Partnership>,
	folded: string,
): Promise<void> {
	const codes = trx.deleteFrom("coupon_codes").where("programme_id", "=", programme_id);
	await codes.where("folded", "=", folded).where("partnership_id", "=", id).execute();
}

/** Changes how a coupon code is written. Codes are compared in their folded form, so no credit changes. */
export async function respellCode(
	trx: Db,
	{ id, programme_id }: Locked<Partnership>,
	folded: string,
	code: string,
): Promise<void> {
	const codes = trx.updateTable("coupon_codes").set({ code }).where("programme_id", "=", programme_id);
	await codes.where("folded", "=", folded).where("partnership_id", "=", id).execute();
}

export function listCodes(db: Db, partnershipIds: readonly number[]) {
	const codes = db.selectFrom("coupon_codes").selectAll().orderBy("folded");
	return codes.where("partnership_id", "in", [NO_ID, ...partnershipIds]).execute();
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

/** Inserts an application. Returns false if another one from the same partner or e-mail address is waiting. */
export async function insertApplication(
	db: Db,
	application: Insertable<ApplicationsTable>,
): Promise<boolean> {
	const { numInsertedOrUpdatedRows } = await db
		.insertInto("applications")
		.values(application)
		.onConflict((conflict) => conflict.doNothing())
		.executeTakeFirst();
	return numInsertedOrUpdatedRows !== 0n;
}

export async function countApplications(db: Db, programmeId: number): Promise<number> {
	const applications = db.selectFrom("applications").where("programme_id", "=", programmeId);
	return (
		await applications.select(({ fn }) => fn.countAll<number>().as("waiting")).executeTakeFirstOrThrow()
	).waiting;
}

/** Returns those of the programmes to which a partner has applied without an answer yet. */
export async function findAppliedTo(
	db: Db,
	partnerId: number,
	programmeIds: readonly number[],
): Promise<ReadonlySet<number>> {
	const rows = await db
		.selectFrom("applications")
		.select("programme_id")
		.where("partner_id", "=", partnerId)
		.where("programme_id", "in", [NO_ID, ...programmeIds])
		.execute();
	return new Set(rows.map(({ programme_id }) => programme_id));
}

/** Lists all open applications, the newest first. The file use-cases/applications.ts limits their number. */
export function listApplications(db: Db, programmeId: number): Promise<Application[]> {
	const applications = db.selectFrom("applications").selectAll().where("programme_id", "=", programmeId);
	return applications.orderBy("id", "desc").execute();
}

/** Finds an application that nobody has answered yet. An answered application no longer exists. */
export function findApplication(
	db: Db,
	programmeId: number,
	publicId: string,
): Promise<Application | undefined> {
	return selectApplication(db, programmeId, publicId).executeTakeFirst();
}

export function lockApplication(
	trx: Db,
	programmeId: number,
	publicId: string,
): Promise<Locked<Application> | undefined> {
	return lockRow(trx, selectApplication(trx, programmeId, publicId));
}

export function lockApplications(trx: Db, programmeId: number): Promise<Locked<Application>[]> {
	const query = trx.selectFrom("applications").selectAll().where("programme_id", "=", programmeId);
	return lockRows(trx, query.orderBy("id"));
}

function selectApplication(db: Db, programmeId: number, publicId: string) {
	const query = db.selectFrom("applications").selectAll().where("programme_id", "=", programmeId);
	return query.where("public_id", "=", publicId);
}

/** Removes an application that was answered, because what strangers say about themselves is not needed any longer. */
export async function removeApplication(trx: Db, { id }: Locked<Application>): Promise<void> {
	await trx.deleteFrom("applications").where("id", "=", id).execute();
}
