// The accounts of partners. An entry is open until a statement contains it (docs/decisions/money.md).

import { type Insertable, type RawBuilder, type SqlBool, sql } from "kysely";
import { decimalCount, formatMinor, minorUnits, zeroIn } from "#core/domain/money.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { joinHalves, sumOf } from "#core/store/queries/conversion-tally.ts";
import {
	countFound,
	type ListPage,
	type PageRequest,
	readNewestFirst,
} from "#core/store/queries/list-page.ts";
import type { Db } from "#core/store/store.ts";
import type { EntryKind } from "../domain/ledger.ts";
import type { EntriesTable, Entry } from "./tables.ts";

export type { Entry } from "./tables.ts";

/** Sum of a partner's open entries of one programme, kind and currency. */
export interface OpenSum {
	partnerId: number;
	/** The programme of the sales, or null for adjustments. */
	programmeId: number | null;
	currency: string;
	kind: EntryKind;
	count: number;
	/** Amount in minor units of the currency. */
	minor: bigint;
	/** Lowest and highest id of the entries. */
	firstEntryId: number;
	lastEntryId: number;
}

/** Adds up the open entries of these partners that were written before `beforeMs`. */
export async function sumOpenEntries(
	db: Db,
	partnerIds: readonly number[],
	beforeMs: number,
): Promise<OpenSum[]> {
	const rows = await db
		.selectFrom("open_entries")
		.select(({ fn }) => [
			"partner_id as partnerId",
			"programme_id as programmeId",
			"currency",
			"kind",
			fn.countAll<number>().as("count"),
			fn.min("entry_id").as("firstEntryId"),
			fn.max("entry_id").as("lastEntryId"),
		])
		.select(sumOf("amount"))
		.where("partner_id", "in", [NO_ID, ...partnerIds])
		.where("at_ms", "<", beforeMs)
		.groupBy(["partner_id", "currency", "programme_id", "kind"])
		.execute();
	return rows.map(({ amount_high, amount_low, ...sum }) => ({
		...sum,
		minor: joinHalves(amount_high, amount_low),
	}));
}

/** The account of a partner in one currency. The three amounts add up to the sum of all entries. */
export interface Balance {
	currency: string;
	/** Sum of the entries that no statement contains yet. */
	open: string;
	/** Sum of the statements that are to be paid and are not paid yet. */
	due: string;
	/** Total of the newest statement, if that was carried forward. */
	carried: string;
}

/** Returns a partner's balances by currency. A currency in which the partner never had an entry is missing. */
export async function findBalances(db: Db, partnerId: number): Promise<Balance[]> {
	const open = await sumOpenEntries(db, [partnerId], Number.MAX_SAFE_INTEGER);
	const { rows: statements } = await sql<{ currency: string; total: string; is_carried: number }>`
		select s.currency, s.total, s.is_carried from statements s
		where s.partner_id = ${partnerId}
			and ((s.is_carried = 0 and not exists (select 1 from payments p where p.statement_id = s.id))
				or (s.is_carried = 1 and not exists (select 1 from statements later
					where later.partner_id = s.partner_id and later.currency = s.currency and later.id > s.id)))`.execute(
		db,
	);
	const paid = await db
		.selectFrom("statements")
		.select("currency")
		.distinct()
		.where("partner_id", "=", partnerId)
		.execute();
	const currencies = new Set([...open, ...paid].map(({ currency }) => currency));
	return [...currencies].sort().map((currency) => {
		const digits = decimalCount(zeroIn(currency));
		const sum = (amounts: readonly bigint[]) =>
			formatMinor(
				amounts.reduce((one, other) => one + other, 0n),
				digits,
			);
		const totals = (isCarried: number) =>
			statements
				.filter((row) => row.currency === currency && row.is_carried === isCarried)
				.map(({ total }) => minorUnits(total));
		return {
			currency,
			open: sum(open.filter((row) => row.currency === currency).map(({ minor }) => minor)),
			due: sum(totals(0)),
			carried: sum(totals(1)),
		};
	});
}

/**
 * An entry of an account, joined with the name of its programme, its statement and the person who caused it.
 */
export interface ListedEntry extends Entry {
	programme_name: string | null;
	conversion_public_id: string | null;
	/** The statement that contains the entry, or that a payment pays. Null while the entry is open. */
	statement_number: string | null;
	statement_public_id: string | null;
	/** Address of the person who caused the entry. Only staff may see it. */
	email: string | null;
}

export interface EntryFilter {
	partnerId: number;
	kind?: EntryKind | undefined;
}

/** Lists the account of a partner, the newest entry first. */
export function listEntries(
	db: Db,
	filter: EntryFilter,
	request: PageRequest,
): Promise<ListPage<ListedEntry>> {
	const count = (limit: number) => countFound(db, selectEntryIds(filter, Number.MAX_SAFE_INTEGER, limit));
	return readNewestFirst(
		request,
		async (beforeId, limit) => {
			const { rows } = await sql<ListedEntry>`
			select entries.*, programmes.name as programme_name, conversions.public_id as conversion_public_id,
				statements.number as statement_number, statements.public_id as statement_public_id, people.email
			from (${selectEntryIds(filter, beforeId, limit)}) as listed
			join entries on entries.id = listed.entry_id
			left join programmes on programmes.id = entries.programme_id
			left join conversions on conversions.id = entries.conversion_id
			left join statement_entries on statement_entries.partner_id = entries.partner_id
				and statement_entries.entry_id = entries.id
			left join statements on statements.id = coalesce(entries.statement_id, statement_entries.statement_id)
			left join people on people.id = entries.person_id
			order by entries.id desc limit ${limit}`.execute(db);
			return rows;
		},
		{ count },
	);
}

/**
 * Returns SQL for the ids of the newest entries of an account. An entry is open, or in a statement, or a payment
 * (invariant 10 of ARCHITECTURE.md), and each of these three sets is sorted by id. The rare kinds have their own index.
 */
function selectEntryIds(
	{ partnerId, kind }: EntryFilter,
	beforeId: number,
	limit: number,
): RawBuilder<unknown> {
	const newest = sql`entry_id < ${beforeId} order by entry_id desc limit ${limit}`;
	const ofKind = (rare: EntryKind) => sql`select * from (select entries.id as entry_id from entries
		where entries.partner_id = ${partnerId} and ${isOfKind(rare)} and entries.id < ${beforeId}
		order by entries.id desc limit ${limit}) as of_kind`;
	if (kind !== undefined && kind !== "EARNED") return ofKind(kind);
	const open = sql`select * from (select entry_id from open_entries
		where partner_id = ${partnerId} ${kind === undefined ? sql`` : sql`and kind = ${kind}`} and ${newest}) as open`;
	const isOfKindToo = sql`and exists (select 1 from entries where entries.id = entry_id and entries.kind = ${kind})`;
	const contained = sql`select * from (select entry_id from statement_entries
		where partner_id = ${partnerId} ${kind === undefined ? sql`` : isOfKindToo} and ${newest}) as contained`;
	return kind === undefined
		? sql`${open} union all ${contained} union all ${ofKind("PAID")}`
		: sql`${open} union all ${contained}`;
}

/**
 * Returns the condition that an entry is of this kind. It repeats the condition of the index entries_by_kind, because
 * SQLite does not deduce it from the kind and would read the whole account.
 */
export function isOfKind(kind: EntryKind): RawBuilder<SqlBool> {
	return kind === "EARNED"
		? sql`entries.kind = ${kind}`
		: sql`entries.kind = ${kind} and entries.kind <> 'EARNED'`;
}

/** Inserts entries of the kind PAID, which are never open. Returns their ids by the ids of the statements. */
export async function insertPaidEntries(
	trx: Db,
	entries: readonly (Omit<Insertable<EntriesTable>, "id" | "kind"> & { statement_id: number })[],
): Promise<Map<number, number>> {
	if (entries.length === 0) return new Map();
	const rows = await trx
		.insertInto("entries")
		.values(entries.map((entry) => ({ ...entry, kind: "PAID" as const })))
		.returning(["id", "statement_id"])
		.execute();
	return new Map(rows.map(({ id, statement_id }) => [statement_id ?? NO_ID, id]));
}

/** Returns whether a person has entered the same adjustment of an account since a time. */
export async function hasAdjustmentSince(
	trx: Db,
	entered: {
		partnerId: number;
		personId: number | null;
		currency: string;
		amount: string;
		reason: string;
	},
	sinceMs: number,
): Promise<boolean> {
	const found = await trx
		.selectFrom("entries")
		.select("id")
		.where("partner_id", "=", entered.partnerId)
		.where(isOfKind("ADJUSTED"))
		.where("at_ms", ">=", sinceMs)
		.where("currency", "=", entered.currency)
		.where("amount", "=", entered.amount)
		.where("reason", "=", entered.reason)
		.where("person_id", entered.personId === null ? "is" : "=", entered.personId)
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}
