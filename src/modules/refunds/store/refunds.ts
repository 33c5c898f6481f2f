// Lists refunds for pages, previews of files and the API. Also reads the refunds that a change of a
// conversion depends on.

import type { PersonKind } from "#core/domain/roles.ts";
import { readById } from "#core/store/module-parts.ts";
import type { Db } from "#core/store/store.ts";
import { type NewRefund, REFUNDS, type Refund } from "./tables.ts";

/** A refund and the person who entered it. */
export interface ListedRefund extends Refund {
	person_email: string | null;
	person_kind: PersonKind | null;
}

/** Lists the refunds of a conversion, the oldest first. There are at most MAX_REFUNDS (domain/refund.ts). */
export async function listRefunds(db: Db, conversionId: number): Promise<ListedRefund[]> {
	return db
		.selectFrom("refunds")
		.leftJoin("people", "people.id", "refunds.person_id")
		.selectAll("refunds")
		.select(["people.email as person_email", "people.kind as person_kind"])
		.where("refunds.conversion_id", "=", conversionId)
		.orderBy("refunds.id")
		.execute();
}

/** Returns the refunds of these conversions by conversion id. */
export async function findRefunds(
	db: Db,
	conversionIds: readonly number[],
): Promise<ReadonlyMap<number, readonly Refund[]>> {
	if (conversionIds.length === 0) return new Map();
	const found = await db
		.selectFrom("refunds")
		.selectAll()
		.where("conversion_id", "in", conversionIds)
		.execute();
	return Map.groupBy(found, ({ conversion_id }) => conversion_id);
}

/** Reads refunds by the ids of their conversions, the oldest first. */
export const REFUNDS_OF_CONVERSION = readById<NewRefund>(
	`select ${Object.keys(REFUNDS.columns).join(", ")} from refunds where conversion_id = :id order by id`,
);
