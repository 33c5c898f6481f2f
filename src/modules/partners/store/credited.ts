// Lists a partner's conversions as the partner may see them. They have no order IDs, and no basket values unless the
// programme shows them. The latest sale comes first. Tests are left out, because nobody is paid for them.

import { NO_ID } from "#core/store/no-id.ts";
import {
	type ConversionFilter,
	listConversions,
	readAllConversions,
} from "#core/store/queries/conversion-list.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { countRows, type ListPage, MOST_COUNTED, type PageRequest } from "#core/store/queries/list-page.ts";
import type { Db } from "#core/store/store.ts";
import { findCredits, type StoredCredit } from "./credits.ts";
import type { NamedPartnership } from "./partnerships.ts";

export interface CreditedConversion
	extends Pick<StoredCredit, "word" | "sub_1" | "sub_2" | "sub_3">,
		Pick<
			Conversion,
			| "public_id"
			| "status"
			| "event_type"
			| "commission"
			| "currency"
			| "occurred_at_ms"
			| "decided_at_ms"
			| "reason"
		> {
	programme_name: string;
	programme_public_id: string;
	/** The basket value, or null if the programme does not show it to partners. */
	basket_value: string | null;
}

export interface CreditedFilter
	extends Pick<
		ConversionFilter,
		"status" | "soldFromMs" | "soldBeforeMs" | "decidedFromMs" | "decidedBeforeMs"
	> {
	partnerships: readonly NamedPartnership[];
}

export async function listCredited(
	db: Db,
	filter: CreditedFilter,
	request: PageRequest,
): Promise<ListPage<CreditedConversion>> {
	const page = await listConversions(db, { ...toFilter(filter), ...request });
	const rows = await asSeen(db, filter.partnerships, page.rows);
	const isCounted = request.isCounted === true && request.after === undefined;
	return { ...page, rows, count: page.count ?? (isCounted ? await countCredited(db, filter) : undefined) };
}

/**
 * Counts the conversions of a list if the time of the sale is its only filter. With any other filter, the
 * database might read very many conversions to count a few.
 */
async function countCredited(
	db: Db,
	{ partnerships, soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER, ...others }: CreditedFilter,
): Promise<number | undefined> {
	if (Object.values(others).some((value) => value !== undefined)) return undefined;
	const ids = partnerships.map(({ id }) => id);
	const credits = db
		.selectFrom("credits")
		.innerJoin("conversions", "conversions.id", "credits.conversion_id")
		.where("credits.partnership_id", "in", [NO_ID, ...ids])
		.where("credits.sold_at_ms", ">=", soldFromMs)
		.where("credits.sold_at_ms", "<", soldBeforeMs)
		.where("conversions.test", "=", 0)
		.limit(MOST_COUNTED + 1);
	return countRows(db, credits);
}

export async function* readAllCredited(
	db: Db,
	filter: CreditedFilter,
	batchRows: number,
): AsyncGenerator<readonly CreditedConversion[]> {
	for await (const rows of readAllConversions(db, toFilter(filter), batchRows))
		yield asSeen(db, filter.partnerships, rows);
}

function toFilter({ partnerships, ...filter }: CreditedFilter): ConversionFilter {
	return { ...filter, partnershipIds: partnerships.map(({ id }) => id), isTest: false };
}

async function asSeen(
	db: Db,
	partnerships: readonly NamedPartnership[],
	rows: readonly Conversion[],
): Promise<CreditedConversion[]> {
	const credits = await findCredits(
		db,
		rows.map(({ id }) => id),
	);
	return rows.flatMap((row) => {
		const { public_id, status, event_type, commission, currency, occurred_at_ms, decided_at_ms, reason } =
			row;
		const credit = credits.get(row.id);
		const partnership = partnerships.find(({ id }) => id === credit?.partnership_id);
		// The sale was credited to another partner after this list found it, so it is left out.
		if (credit === undefined || partnership === undefined) return [];
		const { word, sub_1, sub_2, sub_3 } = credit;
		return {
			...{ public_id, status, event_type, commission, currency, occurred_at_ms, decided_at_ms, reason },
			...{ word, sub_1, sub_2, sub_3 },
			programme_name: partnership.programme_name,
			programme_public_id: partnership.programme_public_id,
			basket_value: partnership.programme_shows_baskets === 1 ? row.basket_value : null,
		};
	});
}
