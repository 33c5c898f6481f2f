// What happened to one conversion: its moves and who made them, and the deliveries that told the shop.

import type { Selectable } from "kysely";
import type { EventName } from "../domain/event-name.ts";
import type { Delivery } from "./deliveries.ts";
import type { MovesTable, Role } from "./schema.ts";
import type { Db } from "./store.ts";

export interface HistoryMove extends Selectable<MovesTable> {
	person_email: string | null;
	person_role: Role | null;
}

export interface ConversionDelivery extends Delivery {
	event: EventName;
}

/** The oldest first. */
export async function listMoves(db: Db, conversionId: number): Promise<HistoryMove[]> {
	return db
		.selectFrom("moves")
		.leftJoin("people", "people.id", "moves.person_id")
		.selectAll("moves")
		.select(["people.email as person_email", "people.role as person_role"])
		.where("moves.conversion_id", "=", conversionId)
		.orderBy("moves.id")
		.execute();
}

/** In the order of their events. */
export async function listDeliveriesOf(db: Db, conversionId: number): Promise<ConversionDelivery[]> {
	return db
		.selectFrom("events")
		.innerJoin("deliveries", "deliveries.id", "events.id")
		.selectAll("deliveries")
		.select("events.name as event")
		.where("events.conversion_id", "=", conversionId)
		.orderBy("events.id")
		.execute();
}
