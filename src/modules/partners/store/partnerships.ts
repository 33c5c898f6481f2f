// Partnerships, which are the agreements between a partner and a programme.

import { type Insertable, sql } from "kysely";
import { isPartnerId } from "#core/domain/id.ts";
import { type Locked, lockRow, lockRows } from "#core/store/locked.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { type ListPage, type PageRequest, readListPage, walkNewest } from "#core/store/queries/list-page.ts";
import { findPartner } from "#core/store/queries/partners.ts";
import { findByName } from "#core/store/queries/programme-list.ts";
import { beginOfRates } from "#core/store/queries/rate-history.ts";
import type { Db } from "#core/store/store.ts";
import type { Partnership, PartnershipsTable } from "./tables.ts";

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
 * Key with which a page finds a partnership. It includes the programme or the partner of the page, so that
 * the id of another one's partnership finds nothing.
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

/**
 * Changes the commission of a partnership from `atMs` on. The rate on record is stored before the update,
 * because a trigger stores it for every update without one (core/store/schema/rates-on-record.ts).
 */
export async function changeCommission(
	trx: Db,
	{ id }: Locked<Partnership>,
	commission: Pick<Partnership, "commission_rate" | "event_rates">,
	atMs: number,
): Promise<void> {
	await storePartnershipRates(trx, id, commission, atMs);
	await trx.updateTable("partnerships").set(commission).where("id", "=", id).execute();
}

/** Stores the commission that applies from `atMs` on. The caller must hold the lock of the partnership. */
async function storePartnershipRates(
	trx: Db,
	partnership_id: number,
	{ commission_rate, event_rates }: Pick<Partnership, "commission_rate" | "event_rates">,
	atMs: number,
): Promise<void> {
	const newest = await trx
		.selectFrom("partnership_rates")
		.select("from_ms")
		.where("partnership_id", "=", partnership_id)
		.orderBy("from_ms", "desc")
		.limit(1)
		.executeTakeFirst();
	const row = { commission_rate, event_rates };
	await trx
		.insertInto("partnership_rates")
		.values({ partnership_id, from_ms: beginOfRates(newest, atMs), ...row })
		.onConflict((conflict) => conflict.columns(["partnership_id", "from_ms"]).doUpdateSet(row))
		.execute();
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

/** Finds the partnership that a coupon code belongs to. */
export function findByCode(db: Db, programmeId: number, folded: string) {
	return named(db)
		.innerJoin("coupon_codes", "coupon_codes.partnership_id", "partnerships.id")
		.where("coupon_codes.programme_id", "=", programmeId)
		.where("folded", "=", folded)
		.executeTakeFirst();
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
	return readListPage(walkNewest(db, partnerships, "partnerships.id"), request);
}
