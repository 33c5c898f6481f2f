// Coupon codes, each of which belongs to one partnership of its programme.

import type { Insertable, Selectable } from "kysely";
import type { Locked } from "#core/store/locked.ts";
import { NO_ID } from "#core/store/no-id.ts";
import type { Db } from "#core/store/store.ts";
import type { CouponCodesTable, Partnership } from "./tables.ts";

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

/**
 * Inserts coupon codes and returns the inserted ones. A code that a partnership of the programme has already
 * is skipped.
 */
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
