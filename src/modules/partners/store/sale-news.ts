// News about sales that are still to be mailed to the people of partners. A chore reads all moves from a
// stored position. The position moves in the transaction that stores the news, and the news is deleted in the
// transaction that queues its mail, so each move is mailed once.

import type { Selectable } from "kysely";
import type { Cursor } from "#core/domain/cursor.ts";
import { addAmounts } from "#core/domain/money.ts";
import type { SaleMails } from "#core/domain/notice.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { type MoveStore, selectMovesAfter } from "#core/store/queries/announced-moves.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { CAN_SIGN_IN } from "#core/store/queries/people.ts";
import type { Db } from "#core/store/store.ts";
import type { MovesTable } from "#core/store/tables/conversions.ts";
import type { SaleNewsTable } from "./tables.ts";

export type SaleNews = Selectable<SaleNewsTable>;

/** Returns the position after the last move that was read for news, or null if none was ever read. */
export async function readNewsPosition(db: Db): Promise<Cursor | null> {
	const row = await db
		.selectFrom("network")
		.select(["sales_read_at as at", "sales_read_id as id"])
		.executeTakeFirstOrThrow();
	return row.at === null || row.id === null ? null : { at: row.at, id: row.id };
}

/**
 * Stores the position after the moves that were read for news. Returns false if another process has changed
 * the position since it was read.
 */
export async function moveNewsPosition(trx: Db, from: Cursor | null, to: Cursor): Promise<boolean> {
	const { numUpdatedRows } = await trx
		.updateTable("network")
		.set({ sales_read_at: to.at, sales_read_id: to.id })
		.where((eb) =>
			from === null
				? eb("sales_read_at", "is", null)
				: eb.and([eb("sales_read_at", "=", from.at), eb("sales_read_id", "=", from.id)]),
		)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

const NEWS_COLUMNS = [
	"conversion_id",
	"move",
	"reason",
	"at_ms",
	"lost_partner_id",
	"lost_commission",
	"announced_body",
] as const satisfies readonly (keyof MovesTable)[];

export type ReadMove = Cursor & Pick<Selectable<MovesTable>, (typeof NEWS_COLUMNS)[number]>;

/** Returns the next moves of all programmes. */
export async function listMovesForNews(store: MoveStore, after: Cursor, limit: number): Promise<ReadMove[]> {
	return selectMovesAfter(store, after, limit).select(NEWS_COLUMNS).execute();
}

export interface CreditedSale
	extends Pick<Conversion, "id" | "public_id" | "programme_id" | "commission" | "currency" | "source"> {
	/** The partner to whom the conversion is credited now, or null for nobody. */
	partner_id: number | null;
}

/** Returns the conversions that have a credit, without tests. */
export async function findCreditedSales(db: Db, conversionIds: readonly number[]): Promise<CreditedSale[]> {
	return db
		.selectFrom("conversions as sale")
		.innerJoin("credits", "credits.conversion_id", "sale.id")
		.leftJoin("partnerships", "partnerships.id", "credits.partnership_id")
		.select([
			"sale.id",
			"sale.public_id",
			"sale.programme_id",
			"sale.commission",
			"sale.currency",
			"sale.source",
		])
		.select("partnerships.partner_id")
		.where("sale.id", "in", [NO_ID, ...conversionIds])
		.where("sale.test", "=", 0)
		.execute();
}

/** A move that credited a conversion to another partner, or from or to nobody. */
export type PartnerChange = Pick<
	Selectable<MovesTable>,
	"id" | "conversion_id" | "lost_partner_id" | "gained_partner_id"
>;

/** Returns the moves that changed the partner of these conversions, the newest first. */
export async function listPartnerChanges(db: Db, conversionIds: readonly number[]): Promise<PartnerChange[]> {
	return db
		.selectFrom("moves")
		.select(["id", "conversion_id", "lost_partner_id", "gained_partner_id"])
		.where("conversion_id", "in", [NO_ID, ...conversionIds])
		.where("move", "=", "credit")
		.where((eb) => eb.or([eb("lost_partner_id", "is not", null), eb("gained_partner_id", "is not", null)]))
		.orderBy("id", "desc")
		.execute();
}

export interface SaleReader {
	partner_id: number;
	person_id: number;
	mails_sales: Exclude<SaleMails, "none">;
}

/** Returns the people of the partners who can sign in and want mails about sales. */
export async function findSaleReaders(db: Db, partnerIds: readonly number[]): Promise<SaleReader[]> {
	const rows = await db
		.selectFrom("partner_people")
		.innerJoin("people", "people.id", "partner_people.person_id")
		.select(["partner_people.partner_id", "partner_people.person_id", "people.mails_sales"])
		.where("partner_people.partner_id", "in", [NO_ID, ...partnerIds])
		.where(CAN_SIGN_IN)
		.execute();
	return rows.flatMap(({ mails_sales, ...reader }) =>
		mails_sales === "none" ? [] : { ...reader, mails_sales },
	);
}

const KEY = ["person_id", "day", "partner_id", "programme_id", "kind", "reason", "currency"] as const;

/** Maximum number of sales that a mail names for each kind of news. */
const MAX_NAMED = 10;

/** Adds news to the stored news for the same person, day, programme, kind, reason and currency. */
export async function addSaleNews(trx: Db, added: readonly SaleNews[]): Promise<void> {
	const merged = new Map<string, SaleNews>();
	for (const news of added) {
		const key = KEY.map((name) => news[name]).join(" ");
		merged.set(key, mergeNews(merged.get(key), news));
	}
	for (const news of merged.values()) {
		const same = (db: Db) =>
			KEY.reduce((query, name) => query.where(name, "=", news[name]), db.deleteFrom("sale_news"));
		// The row is deleted and inserted again, because the sum of two amounts is computed in this process and
		// not in SQL.
		const stored = await same(trx).returningAll().executeTakeFirst();
		await trx.insertInto("sale_news").values(mergeNews(stored, news)).execute();
	}
}

function mergeNews(stored: SaleNews | undefined, news: SaleNews): SaleNews {
	if (stored === undefined) return news;
	return {
		...stored,
		sales: stored.sales + news.sales,
		commission: addAmounts(stored.commission, news.commission),
		named: [...stored.named.split("\n"), ...news.named.split("\n")].slice(0, MAX_NAMED).join("\n"),
		due_at_ms: Math.min(stored.due_at_ms, news.due_at_ms),
	};
}

/** Returns the person whose mail has been due longest. */
export async function findReaderToMail(
	db: Db,
	nowMs: number,
): Promise<{ personId: number; mails: SaleMails } | undefined> {
	return db
		.selectFrom("sale_news")
		.innerJoin("people", "people.id", "sale_news.person_id")
		.select(["sale_news.person_id as personId", "people.mails_sales as mails"])
		.where("sale_news.due_at_ms", "<=", nowMs)
		.orderBy("sale_news.due_at_ms")
		.limit(1)
		.executeTakeFirst();
}

export async function postponeSaleNews(
	trx: Db,
	personId: number,
	nowMs: number,
	untilMs: number,
): Promise<void> {
	await trx
		.updateTable("sale_news")
		.set({ due_at_ms: untilMs })
		.where("person_id", "=", personId)
		.where("due_at_ms", "<=", nowMs)
		.execute();
}

/** Takes the news of a person that is due, in the transaction that writes the mail about it. */
export async function takeSaleNews(trx: Db, personId: number, nowMs: number): Promise<SaleNews[]> {
	return trx
		.deleteFrom("sale_news")
		.where("person_id", "=", personId)
		.where("due_at_ms", "<=", nowMs)
		.returningAll()
		.execute();
}

/** Returns the network's time zone, as it is in this transaction. */
export async function findTimeZone(db: Db): Promise<string> {
	return (await db.selectFrom("network").select("time_zone").executeTakeFirstOrThrow()).time_zone;
}
