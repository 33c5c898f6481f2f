// Conversions by the names that shops know them by.

import { hotWrites, type OrderKey } from "../hot-writes.ts";
import type { Db } from "../store.ts";
import type { Conversion } from "./conversions.ts";

/** Every conversion of these orders, whatever its event type. In no order of its own. */
export async function findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]> {
	const distinct = new Map(orders.map((order) => [`${order.programme_id} ${order.order_id}`, order]));
	return distinct.size === 0 ? [] : hotWrites(db).findByOrders(db, [...distinct.values()]);
}
