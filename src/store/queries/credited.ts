// A partner's conversions, as the partner may see them: no order id is read here, and no basket is handed on unless the
// programme shows them. The newest first, along credits_by_partnership. Tests are left out: nobody is paid for them.

import { type RawBuilder, sql } from "kysely";
import type { Status } from "../../domain/conversion.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import type { StoredCredit } from "../tables/partners.ts";
import { findStretch } from "./conversion-buckets.ts";
import type { Conversion } from "./conversions.ts";
import { endId, type ListWalk } from "./list-page.ts";
import type { NamedPartnership } from "./partners.ts";

interface CreditRow extends Pick<StoredCredit, "word" | "sub_1" | "sub_2" | "sub_3"> {
	/** Of the conversion. */
	id: number;
	partnership_id: number;
}

type ShownOfConversion = "public_id" | "status" | "commission" | "currency" | "test" | "occurred_at_ms";

export interface CreditedConversion extends CreditRow, Pick<Conversion, ShownOfConversion> {
	programme_name: string;
	/** Null where the programme does not show it. */
	basket_value: string | null;
}

export interface CreditedFilter {
	partnerships: readonly NamedPartnership[];
	status?: Status | undefined;
	soldFromMs?: number | undefined;
	soldBeforeMs?: number | undefined;
}

export async function walkCredited(db: Db, filter: CreditedFilter): Promise<ListWalk<CreditedConversion>> {
	const { partnerships, status, soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
	// A sale is reported after it happened, but for clocks that differ: what was recorded before needs no look.
	const aboveId = soldFromMs === 0 ? 0 : (await findStretch(db, { fromMs: soldFromMs - DAY_MS })).low.id;
	return {
		async read(after, limit) {
			const credits = await readCredits(db, partnerships, { aboveId, beforeId: endId(after), limit });
			const last = credits.at(-1);
			const next = credits.length < limit || last === undefined ? null : { at: last.id, id: last.id };
			return { rows: await readConversions(db, partnerships, credits), next };
		},
		matches: (row) =>
			row.test === 0 &&
			(status === undefined || row.status === status) &&
			row.occurred_at_ms >= soldFromMs &&
			row.occurred_at_ms < soldBeforeMs,
		cursorOf: ({ id }) => ({ at: id, id }),
	};
}

/** SQLite takes five hundred parts of a union at most. */
const PARTS_AT_ONCE = 100;

type Span = Readonly<Record<"aboveId" | "beforeId" | "limit", number>>;

async function readCredits(
	db: Db,
	partnerships: readonly NamedPartnership[],
	span: Span,
): Promise<CreditRow[]> {
	const found: CreditRow[] = [];
	for (let first = 0; first < partnerships.length; first += PARTS_AT_ONCE) {
		const parts = partnerships.slice(first, first + PARTS_AT_ONCE).map(({ id }) => creditsOf(id, span));
		const newest = sql<CreditRow>`${sql.join(parts, sql` union all `)} order by id desc limit ${span.limit}`;
		found.push(...(await newest.execute(db)).rows);
	}
	return found.toSorted((one, other) => other.id - one.id).slice(0, span.limit);
}

/** A stretch of the index, said twice: see readBucket in conversion-buckets. */
function creditsOf(partnershipId: number, { aboveId, beforeId, limit }: Span): RawBuilder<unknown> {
	return sql`select * from (select conversion_id as id, partnership_id, word, sub_1, sub_2, sub_3 from credits
		where (partnership_id, conversion_id) > (${partnershipId}, ${aboveId})
			and (partnership_id, conversion_id) < (${partnershipId}, ${beforeId})
			and partnership_id is not null and partnership_id is not distinct from ${partnershipId}
			and conversion_id > ${aboveId} and conversion_id < ${beforeId}
		order by partnership_id desc, conversion_id desc limit ${limit}) as ${sql.id(`of_${partnershipId}`)}`;
}

/** Apart from finding them, as in conversion-list. What was removed since is left out. */
async function readConversions(
	db: Db,
	partnerships: readonly NamedPartnership[],
	credits: readonly CreditRow[],
): Promise<CreditedConversion[]> {
	const ids = credits.map(({ id }) => id);
	if (ids.length === 0) return [];
	const columns = ["public_id", "status", "commission", "currency", "test", "occurred_at_ms"] as const;
	const conversions = db.selectFrom("conversions").select(["id", ...columns, "basket_value"]);
	const rows = await conversions.where("id", "in", ids).execute();
	const byId = new Map(rows.map((row) => [row.id, row]));
	const partnershipOf = new Map(partnerships.map((own) => [own.id, own]));
	return credits.flatMap((credit) => {
		const row = byId.get(credit.id);
		const own = partnershipOf.get(credit.partnership_id);
		if (row === undefined || own === undefined) return [];
		const basket_value = own.programme_shows_baskets === 1 ? row.basket_value : null;
		return { ...credit, ...row, programme_name: own.programme_name, basket_value };
	});
}
