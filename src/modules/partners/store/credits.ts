// Finds the credits of conversions, and sums the earnings of partnerships.

import type { NotNull } from "kysely";
import type { Status } from "#core/domain/conversion.ts";
import { zeroIn } from "#core/domain/money.ts";
import {
	type EffectiveRates,
	effectiveCommissions,
	type PartnershipRates,
	readByType,
	readRate,
	readRates,
} from "#core/domain/rate.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { readById } from "#core/store/module-parts.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { joinHalves, sumOf } from "#core/store/queries/conversion-tally.ts";
import type { Db } from "#core/store/store.ts";
import type { Credit } from "../domain/credit.ts";
import { listPartnerships, type NamedPartnership } from "./partnerships.ts";
import { CREDITS, type Partnership, type StoredCredit } from "./tables.ts";

export type { StoredCredit } from "./tables.ts";

/** Returns the commissions of a partnership in a programme with this currency. */
export function commissionsOf(
	{ commission_rate, event_rates }: Pick<Partnership, "commission_rate" | "event_rates">,
	currency: string,
): PartnershipRates {
	const zero = zeroIn(currency);
	return {
		commission: commission_rate === null ? null : readRate(commission_rate, zero),
		byType: readByType(event_rates, (text) => readRate(text, zero)),
	};
}

/** Returns the commissions that apply to a partnership, from its own rates and the programme's. */
export function agreedCommissions(partnership: NamedPartnership): EffectiveRates {
	const { programme_currency: currency, programme_rate, programme_event_rates } = partnership;
	const zero = zeroIn(currency);
	const programme = {
		commission: readRate(programme_rate, zero),
		byType: readByType(programme_event_rates, (text) => readRates(text, zero)),
	};
	return effectiveCommissions(programme, commissionsOf(partnership, currency));
}

export function creditOf(row: StoredCredit): Credit {
	return {
		partnershipId: row.partnership_id,
		word: row.word,
		linkId: row.link_id,
		clickedAtMs: row.clicked_at_ms,
		subIds: [row.sub_1, row.sub_2, row.sub_3],
	};
}

export function rowOfCredit({ partnershipId, word, linkId, clickedAtMs, subIds }: Credit) {
	const [sub_1, sub_2, sub_3] = subIds;
	return {
		partnership_id: partnershipId,
		word,
		link_id: linkId,
		clicked_at_ms: clickedAtMs,
		sub_1,
		sub_2,
		sub_3,
	};
}

/** Reads credits by the ids of their conversions, for a change of these conversions. */
export const CREDIT_OF_CONVERSION = readById<StoredCredit>(
	`select ${Object.keys(CREDITS.columns).join(", ")} from credits where conversion_id = :id`,
);

export async function findCredits(
	db: Db,
	conversionIds: readonly number[],
): Promise<ReadonlyMap<number, StoredCredit>> {
	if (conversionIds.length === 0) return new Map();
	const rows = await db
		.selectFrom("credits")
		.selectAll()
		.where("conversion_id", "in", conversionIds)
		.execute();
	return new Map(rows.map((row) => [row.conversion_id, row]));
}

/** Returns whether a sale of the partner, other than tests, waits for a decision. */
export async function hasOpenCredit(db: Db, partnerId: number): Promise<boolean> {
	const open = await db
		.selectFrom("partnerships")
		.innerJoin("credits", "credits.partnership_id", "partnerships.id")
		.innerJoin("conversions", "conversions.id", "credits.conversion_id")
		.select("conversions.id")
		.where("partnerships.partner_id", "=", partnerId)
		.where("conversions.status", "=", "RECORDED")
		.where("conversions.test", "=", 0)
		.limit(1)
		.executeTakeFirst();
	return open !== undefined;
}

export interface ClickOrders {
	link_id: number;
	clicked_at_ms: number;
	orders: number;
	/** Time of the newest of the sales from this click. */
	last_sold_at_ms: number;
}

/**
 * Number of newest sales in which clicks with several orders are searched. They are read from the index in some
 * milliseconds.
 */
export const SALES_COMPARED = 1_000;

/**
 * Finds clicks that brought several orders, among the newest sales of a partnership. A credit does not store the click
 * ID, so a click is identified by its link and time. Two clicks on one link in the same millisecond are unlikely.
 */
export async function findClicksWithOrders(
	db: Db,
	partnershipId: number,
	{ minOrders, limit }: { minOrders: number; limit: number },
): Promise<ClickOrders[]> {
	const newest = db
		.selectFrom("credits")
		.innerJoin("conversions", "conversions.id", "credits.conversion_id")
		.select(["link_id", "clicked_at_ms", "sold_at_ms"])
		.where("partnership_id", "=", partnershipId)
		.where("test", "=", 0)
		.orderBy("sold_at_ms", "desc")
		.limit(SALES_COMPARED)
		.as("newest");
	return db
		.selectFrom(newest)
		.select(({ fn }) => [
			"link_id",
			"clicked_at_ms",
			fn.countAll<number>().as("orders"),
			fn.max("sold_at_ms").as("last_sold_at_ms"),
		])
		.where("link_id", "is not", null)
		.where("clicked_at_ms", "is not", null)
		.$narrowType<{ link_id: NotNull; clicked_at_ms: NotNull }>()
		.groupBy(["link_id", "clicked_at_ms"])
		.having(({ fn, eb }) => eb(fn.countAll(), ">=", minOrders))
		.orderBy("orders", "desc")
		.limit(limit)
		.execute();
}

export interface NamedCredit extends StoredCredit {
	/** The partnership that is credited, or null for nobody. */
	partnership: NamedPartnership | null;
}

export async function findNamedCredits(
	db: Db,
	conversionIds: readonly number[],
): Promise<ReadonlyMap<number, NamedCredit>> {
	const credits = await findCredits(db, conversionIds);
	const ids = [...new Set([...credits.values()].flatMap((credit) => credit.partnership_id ?? []))];
	const partnerships = new Map(
		(await listPartnerships(db, "id", ids)).map((partnership) => [partnership.id, partnership]),
	);
	return new Map(
		[...credits].map(([id, credit]) => {
			const partnership = partnerships.get(credit.partnership_id ?? 0) ?? null;
			return [id, { ...credit, partnership }];
		}),
	);
}

export interface PartnershipTotal {
	partnershipId: number;
	status: Status;
	currency: string;
	count: number;
	/** Amounts in minor units of the currency. */
	basketMinor: bigint;
	commissionMinor: bigint;
}

export interface EarnedSpan {
	fromMs: number;
	beforeMs: number;
	partnershipIds: readonly number[];
}

/**
 * Maximum number of sales that one statement adds up, which takes some ten milliseconds. Other reads can run between
 * two statements.
 */
const MOST_AT_ONCE = 5_000;

/**
 * Returns the earnings of each partnership in the span, by status and currency, without tests. If the span has too many
 * sales, it is halved until each part is small enough. Ends early if the service stops.
 */
export async function sumByPartnership(
	db: Db,
	nowMs: number,
	span: EarnedSpan,
	isStopping: () => boolean = () => false,
): Promise<PartnershipTotal[]> {
	const totals = new Map<string, PartnershipTotal>();
	const inAll = db.selectFrom("credits").where("partnership_id", "in", [NO_ID, ...span.partnershipIds]);
	// No sale can be dated later than tomorrow.
	const parts = [{ fromMs: span.fromMs, beforeMs: Math.min(span.beforeMs, nowMs + DAY_MS) }];
	for (let part = parts.pop(); part !== undefined && !isStopping(); part = parts.pop()) {
		const { fromMs, beforeMs } = part;
		const middleMs = Math.floor((fromMs + beforeMs) / 2);
		const credits = inAll.where("sold_at_ms", ">=", fromMs).where("sold_at_ms", "<", beforeMs);
		const next = await credits.select("conversion_id").limit(1).offset(MOST_AT_ONCE).executeTakeFirst();
		if (next !== undefined && middleMs > fromMs) {
			parts.push({ fromMs, beforeMs: middleMs }, { fromMs: middleMs, beforeMs });
			continue;
		}
		const rows = await credits
			.innerJoin("conversions", "conversions.id", "credits.conversion_id")
			.select(({ fn }) => ["partnership_id", "status", "currency", fn.countAll<number>().as("count")])
			.select([...sumOf("basket_value"), ...sumOf("commission")])
			.where("test", "=", 0)
			.groupBy(["partnership_id", "status", "currency"])
			.execute();
		for (const { partnership_id, status, currency, count, ...sums } of rows) {
			const key = `${partnership_id} ${status} ${currency}`;
			const before = totals.get(key);
			totals.set(key, {
				...{ partnershipId: partnership_id ?? NO_ID, status, currency },
				count: count + (before?.count ?? 0),
				basketMinor: joinHalves(sums.basket_value_high, sums.basket_value_low) + (before?.basketMinor ?? 0n),
				commissionMinor:
					joinHalves(sums.commission_high, sums.commission_low) + (before?.commissionMinor ?? 0n),
			});
		}
	}
	return [...totals.values()];
}
