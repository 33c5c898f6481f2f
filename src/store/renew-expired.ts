// An expired conversion is recorded anew: its row gets a new number, so that it stands where a sale of today stands.
// Lists, totals and filters by day all rely on numbers in the order of recording. Its public id and history stay.

import { type Conversion, insertConversion, type NewConversion } from "./conversions.ts";
import type { Db } from "./store.ts";

/**
 * More than an honest browser makes for one order. Whoever calls the pixel a thousand times must not make the shop's
 * own request slow; the rest of the calls only lose their link to the conversion.
 */
const MAX_CALLS_LINKED = 100;

/** Undefined when it is not EXPIRED any more: somebody else was faster. */
export async function renewExpired(
	trx: Db,
	expiredId: number,
	change: Partial<NewConversion>,
): Promise<Conversion | undefined> {
	const expired = await trx
		.deleteFrom("conversions")
		.where("id", "=", expiredId)
		.where("status", "=", "EXPIRED")
		.returningAll()
		.executeTakeFirst();
	if (expired === undefined) return undefined;
	const { id: _, ...kept } = expired;
	const renewed = await insertConversion(trx, { ...kept, ...change });
	if (renewed === undefined) throw new Error("an order was taken while its row was being replaced");
	await trx
		.updateTable("moves")
		.set({ conversion_id: renewed.id })
		.where("conversion_id", "=", expired.id)
		.execute();
	await linkCalls(trx, expired, renewed.id);
	return renewed;
}

/** Along inbound_calls_by_order. */
async function linkCalls(trx: Db, expired: Conversion, newId: number): Promise<void> {
	const calls = await trx
		.selectFrom("inbound_calls")
		.select(["id", "conversion_id"])
		.where("programme_id", "=", expired.programme_id)
		.where("order_id", "=", expired.order_id)
		.orderBy("id")
		.limit(MAX_CALLS_LINKED)
		.execute();
	const ids = calls.filter((call) => call.conversion_id === expired.id).map(({ id }) => id);
	if (ids.length === 0) return;
	await trx.updateTable("inbound_calls").set({ conversion_id: newId }).where("id", "in", ids).execute();
}
