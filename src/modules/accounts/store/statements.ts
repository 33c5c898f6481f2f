// Statements, their lines and entries, payments, and the payment details of partners.

import { type Insertable, type JoinBuilder, type Selectable, sql } from "kysely";
import { type Locked, lockRow, lockRows } from "#core/store/locked.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { joinHalves, sumOf } from "#core/store/queries/conversion-tally.ts";
import { type ListPage, type PageRequest, readListPage, walkNewest } from "#core/store/queries/list-page.ts";
import { CAN_SIGN_IN, MAIL_ZONE } from "#core/store/queries/people.ts";
import { isSqlite, type Schema } from "#core/store/schema/tables.ts";
import type { Db } from "#core/store/store.ts";
import type { NetworkTable } from "#core/store/tables/network.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import type { StatementState } from "../domain/statement.ts";
import { isOfKind } from "./entries.ts";
import type {
	Entry,
	Payment,
	PaymentDetailsTable,
	PaymentsTable,
	Statement,
	StatementLinesTable,
	StatementNumbersTable,
	StatementsTable,
} from "./tables.ts";

export type { Payment, Statement } from "./tables.ts";
export type StatementLine = Selectable<StatementLinesTable>;

/** The settings of the network that statements depend on. */
export type StatementSettings = Pick<
	NetworkTable,
	"name" | "brand" | "time_zone" | "postal_address" | "minimum_payouts"
>;

export function findStatementSettings(db: Db): Promise<StatementSettings> {
	return db
		.selectFrom("network")
		.select(["name", "brand", "time_zone", "postal_address", "minimum_payouts"])
		.executeTakeFirstOrThrow();
}

/**
 * Makes PostgreSQL find the few rows of a batch by their keys until the transaction ends. New rows are not in its
 * statistics, and it would otherwise read all open entries to find a thousand.
 */
export async function forceKeyLookups(trx: Db): Promise<void> {
	if (isSqlite(trx)) return;
	await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
		set_config('enable_mergejoin', 'off', true)`.execute(trx);
}

export function listPartnersAfter(db: Db, afterId: number, limit: number): Promise<Partner[]> {
	const partners = db.selectFrom("partners").selectAll().where("id", ">", afterId);
	return partners.orderBy("id").limit(limit).execute();
}

/** Finds the newest statement of each of these partners in each currency. */
export function findNewestStatements(db: Db, partnerIds: readonly number[]): Promise<Statement[]> {
	return db
		.selectFrom("statements")
		.selectAll()
		.where("partner_id", "in", [NO_ID, ...partnerIds])
		.where(({ not, exists, selectFrom }) =>
			not(
				exists(
					selectFrom("statements as later")
						.select("later.id")
						.whereRef("later.partner_id", "=", "statements.partner_id")
						.whereRef("later.currency", "=", "statements.currency")
						.whereRef("later.id", ">", "statements.id"),
				),
			),
		)
		.execute();
}

type StatementNumbers = Selectable<StatementNumbersTable>;

/**
 * Locks the counter of a year's numbers. The network's row is locked first, so that one transaction at a time issues
 * statements, also in the night in which the year changes.
 */
export async function lockNumbers(trx: Db, year: number): Promise<Locked<StatementNumbers>> {
	await lockRow(trx, trx.selectFrom("network").selectAll());
	const lockYear = () =>
		lockRow(trx, trx.selectFrom("statement_numbers").selectAll().where("year", "=", year));
	const row = await lockYear();
	if (row !== undefined) return row;
	await trx.insertInto("statement_numbers").values({ year, last: 0 }).execute();
	const first = await lockYear();
	if (first === undefined) throw new Error("the row was inserted just now");
	return first;
}

export async function saveLastNumber(
	trx: Db,
	{ year }: Locked<StatementNumbers>,
	last: number,
): Promise<void> {
	await trx.updateTable("statement_numbers").set({ last }).where("year", "=", year).execute();
}

export function insertStatements(
	trx: Db,
	statements: readonly Insertable<StatementsTable>[],
): Promise<Statement[]> {
	return trx.insertInto("statements").values(statements).returningAll().execute();
}

/**
 * Moves the open entries before `beforeMs` into the new statements of their partners and currencies. Returns the number
 * of entries.
 */
export async function takeOpenEntries(
	trx: Db,
	statements: readonly Pick<Statement, "id" | "partner_id" | "currency">[],
	beforeMs: number,
): Promise<number> {
	if (!isSqlite(trx)) return takeAtOnce(trx, statements, beforeMs);
	let count = 0;
	for (const { id, partner_id: partnerId, currency } of statements) {
		const isTaken = sql`partner_id = ${partnerId} and currency = ${currency} and at_ms < ${beforeMs}`;
		const { numAffectedRows = 0n } =
			await sql`insert into statement_entries (partner_id, entry_id, statement_id)
			select partner_id, entry_id, ${id} from open_entries where ${isTaken}`.execute(trx);
		// SQLite has a single writer, so the same rows match again.
		await sql`delete from open_entries where ${isTaken}`.execute(trx);
		count += Number(numAffectedRows);
	}
	return count;
}

/**
 * Moves the entries in a single SQL statement on PostgreSQL, because another transaction may commit an entry
 * at the same moment. Exactly the deleted entries are inserted.
 */
async function takeAtOnce(
	trx: Db,
	statements: readonly Pick<Statement, "id" | "partner_id" | "currency">[],
	beforeMs: number,
): Promise<number> {
	const ids = [NO_ID, ...statements.map(({ id }) => id)];
	const { numAffectedRows = 0n } = await sql`with taken as (
			delete from open_entries o using statements s
			where s.id in (${sql.join(ids)}) and o.partner_id = s.partner_id and o.currency = s.currency
				and o.at_ms < ${beforeMs}
			returning o.partner_id, o.entry_id, s.id as statement_id
		)
		insert into statement_entries (partner_id, entry_id, statement_id)
		select partner_id, entry_id, statement_id from taken`.execute(trx);
	return Number(numAffectedRows);
}

export async function insertStatementLines(
	trx: Db,
	lines: readonly Insertable<StatementLinesTable>[],
): Promise<void> {
	if (lines.length > 0) await trx.insertInto("statement_lines").values(lines).execute();
}

export interface ListedStatement extends Statement {
	partner_name: string;
	partner_public_id: string;
	/** The day and the reference of the payment, or null if the statement was not paid. */
	paid_on: string | null;
	reference: string | null;
	/** 1 if the partner has payment details now. They are removed only when the partner is erased. */
	has_details: 0 | 1;
}

export interface StatementFilter {
	month?: string | undefined;
	state?: StatementState | undefined;
	partnerId?: number | undefined;
	/** If set, only statements of partners who have payment details match. */
	hasDetails?: true;
}

function selectListed(db: Db, range: IdRange | null = null) {
	return db
		.selectFrom("statements")
		.innerJoin("partners", "partners.id", "statements.partner_id")
		.leftJoin("payments", (join) => joinPayments(join, range))
		.selectAll("statements")
		.select([
			"partners.name as partner_name",
			"partners.public_id as partner_public_id",
			"payments.paid_on",
			"payments.reference",
			HAS_DETAILS.as("has_details"),
		]);
}

const HAS_DETAILS = sql<0 | 1>`case when exists (select 1 from payment_details d
	where d.partner_id = statements.partner_id) then 1 else 0 end`;

function selectMatching(
	db: Db,
	{ month, state, partnerId, hasDetails }: StatementFilter,
	range: IdRange | null,
) {
	let statements = selectListed(db, range);
	if (month !== undefined) statements = statements.where("statements.month", "=", month);
	if (range !== null) {
		statements = statements
			.where("statements.id", ">=", range.first)
			.where("statements.id", "<=", range.last);
	}
	if (partnerId !== undefined) statements = statements.where("statements.partner_id", "=", partnerId);
	if (hasDetails === true) statements = statements.where(HAS_DETAILS, "=", 1);
	if (state === "carried") return statements.where("statements.is_carried", "=", 1);
	if (state === undefined) return statements;
	// The few unpaid statements of all months are found without reading the paid ones.
	if (state === "to_pay" && month === undefined) {
		return statements.where("statements.id", "in", db.selectFrom("unpaid_statements").select("statement_id"));
	}
	return statements
		.where("statements.is_carried", "=", 0)
		.where("payments.statement_id", state === "paid" ? "is not" : "is", null);
}

/** Range of ids that contains all statements of a month. */
interface IdRange {
	first: number;
	last: number;
}

/**
 * Finds the range of ids that contains all statements of the month. A month's statements are issued one after
 * the other. Without the range, PostgreSQL would walk from the newest statement down to an old month. The
 * comparisons are not written as an equation, so that PostgreSQL uses the index and not the primary key.
 */
async function findIdRange(db: Db, month: string | undefined): Promise<IdRange | null> {
	if (month === undefined) return null;
	const { rows } = await sql<{ first: number | null; last: number | null }>`select
		(select id from statements where month >= ${month} and month <= ${month} order by month, id limit 1) as first,
		(select id from statements where month >= ${month} and month <= ${month} order by month desc, id desc limit 1)
			as last`.execute(db);
	const [{ first = null, last = null } = {}] = rows;
	return { first: first ?? NO_ID, last: last ?? NO_ID };
}

/**
 * Joins the payments of statements. The range of the statements' ids is repeated for the payments, because
 * PostgreSQL does not deduce it when it plans the join.
 */
function joinPayments(join: JoinBuilder<Schema, "statements" | "payments">, range: IdRange | null) {
	const joined = join.onRef("payments.statement_id", "=", "statements.id");
	if (range === null) return joined;
	return joined.on("payments.statement_id", ">=", range.first).on("payments.statement_id", "<=", range.last);
}

/** Lists statements, the newest first. */
export async function listStatements(
	db: Db,
	filter: StatementFilter,
	request: PageRequest,
): Promise<ListPage<ListedStatement>> {
	const { month, state } = filter;
	const statements = selectMatching(db, filter, await findIdRange(db, month));
	// No index finds paid or carried statements. Counting them over all months might read every statement.
	const isCountable = month !== undefined || state === undefined || state === "to_pay";
	return readListPage(walkNewest(db, statements, "statements.id", { isCountable }), request);
}

/** Yields all statements that match, the oldest first. */
export async function* readStatements(
	db: Db,
	filter: StatementFilter,
	batchRows: number,
): AsyncGenerator<readonly ListedStatement[]> {
	const range = await findIdRange(db, filter.month);
	let lastId = 0;
	for (;;) {
		const rows: ListedStatement[] = await selectMatching(db, filter, range)
			.where("statements.id", ">", lastId)
			.orderBy("statements.id")
			.limit(batchRows)
			.execute();
		if (rows.length > 0) yield rows;
		if (rows.length < batchRows) return;
		lastId = rows.at(-1)?.id ?? lastId;
	}
}

/** Sum of statements in one state and currency. */
export interface StatementSum {
	state: StatementState;
	currency: string;
	count: number;
	/** Amount in minor units of the currency. */
	minor: bigint;
}

/** Adds up the statements by state and currency, of one month, one partner, or all. */
export async function sumStatements(db: Db, filter: Omit<StatementFilter, "state">): Promise<StatementSum[]> {
	const { month, partnerId } = filter;
	const range = await findIdRange(db, month);
	let statements = db
		.selectFrom("statements")
		.leftJoin("payments", (join) => joinPayments(join, range))
		.select(({ fn }) => [
			sql<StatementState>`case when is_carried = 1 then 'carried' when payments.statement_id is null then 'to_pay'
				else 'paid' end`.as("state"),
			"currency",
			fn.countAll<number>().as("count"),
		])
		.select(sumOf("total"))
		.groupBy(["state", "currency"])
		.orderBy("currency");
	if (month !== undefined) statements = statements.where("month", "=", month);
	if (partnerId !== undefined) statements = statements.where("partner_id", "=", partnerId);
	return (await statements.execute()).map(({ total_high, total_low, ...sum }) => ({
		...sum,
		minor: joinHalves(total_high, total_low),
	}));
}

/** Counts the statements that are to be paid, of all months. */
export async function countToPay(db: Db): Promise<number> {
	const unpaid = db.selectFrom("unpaid_statements").select(({ fn }) => fn.countAll<number>().as("count"));
	return (await unpaid.executeTakeFirstOrThrow()).count;
}

/** The statements that are to be paid to partners without payment details. */
export interface Unpayable {
	statements: number;
	/** The first partners by name. `partnerCount` is the number of all of them. */
	partners: readonly Pick<Partner, "public_id" | "name">[];
	partnerCount: number;
}

/** Finds statements that are to be paid to partners without payment details, of one month or of all. */
export async function findUnpayable(
	db: Db,
	month: string | undefined,
	namedPartners: number,
): Promise<Unpayable> {
	const isInMonth = month === undefined ? sql`true` : sql`s.month = ${month}`;
	// The number of statements and the number of partners cover all groups, and not only the groups that the
	// limit leaves.
	const { rows } = await sql<{ public_id: string; name: string; statements: number; partner_count: number }>`
		select p.public_id, p.name, cast(sum(count(*)) over () as bigint) as statements, count(*) over () as partner_count
		from unpaid_statements u join statements s on s.id = u.statement_id join partners p on p.id = s.partner_id
		where ${isInMonth} and not exists (select 1 from payment_details d where d.partner_id = s.partner_id)
		group by p.id, p.public_id, p.name order by p.name, p.id limit ${namedPartners}`.execute(db);
	const [{ statements = 0, partner_count: partnerCount = 0 } = {}] = rows;
	return { statements, partnerCount, partners: rows.map(({ public_id, name }) => ({ public_id, name })) };
}

/**
 * Returns the months that have statements, the newest first. Each step of the recursion is one look into the index
 * statements_by_month, because a month can have ten thousand statements.
 */
export async function listStatementMonths(db: Db, limit: number): Promise<string[]> {
	const { rows } = await sql<{ month: string }>`with recursive months (month) as (
			select max(month) from statements
			union all
			select (select max(s.month) from statements s where s.month < months.month) from months
			where months.month is not null
		)
		select month from months where month is not null limit ${limit}`.execute(db);
	return rows.map(({ month }) => month);
}

/** Finds a statement. If `partnerId` is given, the statement must belong to that partner. */
export function findStatement(
	db: Db,
	publicId: string,
	partnerId?: number,
): Promise<ListedStatement | undefined> {
	const statements = selectListed(db).where("statements.public_id", "=", publicId);
	return (
		partnerId === undefined ? statements : statements.where("statements.partner_id", "=", partnerId)
	).executeTakeFirst();
}

export function listStatementLines(db: Db, statementId: number): Promise<StatementLine[]> {
	const lines = db.selectFrom("statement_lines").selectAll().where("statement_id", "=", statementId);
	return lines.orderBy("programme_name").orderBy("programme_id").execute();
}

/** Maximum number of adjustments that a statement's page lists. The file with its entries has all of them. */
export const MAX_LISTED_ADJUSTMENTS = 200;

/**
 * Lists the bonuses and corrections of a statement in the order in which they were entered. They are found among those
 * of the partner, because a statement may have far more sales than the partner has adjustments.
 */
export function listAdjustments(
	db: Db,
	{ id, partner_id: partnerId }: Pick<Statement, "id" | "partner_id">,
): Promise<Entry[]> {
	return db
		.selectFrom("entries")
		.innerJoin("statement_entries", (join) =>
			join
				.onRef("statement_entries.partner_id", "=", "entries.partner_id")
				.onRef("statement_entries.entry_id", "=", "entries.id"),
		)
		.selectAll("entries")
		.where("entries.partner_id", "=", partnerId)
		.where(isOfKind("ADJUSTED"))
		.where("statement_entries.statement_id", "=", id)
		.orderBy("entries.id")
		.limit(MAX_LISTED_ADJUSTMENTS)
		.execute();
}

/** An entry of a statement, with its conversion as the partner may see it. */
export interface StatementEntry extends Entry {
	programme_name: string | null;
	conversion_public_id: string | null;
	event_type: string | null;
	occurred_at_ms: number | null;
}

/**
 * Yields the entries of a statement in the order in which they were written. Every download must be the same,
 * so the name of the programme is the one at the issue. The event type never changes, and the time of the
 * sale does not change after the approval.
 */
export async function* readStatementEntries(
	db: Db,
	statement: Pick<Statement, "id" | "partner_id" | "first_entry_id" | "last_entry_id">,
	batchRows: number,
): AsyncGenerator<readonly StatementEntry[]> {
	const { id, partner_id: partnerId, first_entry_id: firstEntryId, last_entry_id: lastEntryId } = statement;
	let lastId = (firstEntryId ?? 0) - 1;
	for (;;) {
		const { rows } = await sql<StatementEntry>`select e.*, l.programme_name,
				c.public_id as conversion_public_id, c.event_type, c.occurred_at_ms
			from statement_entries s
			join entries e on e.id = s.entry_id
			left join statement_lines l on l.statement_id = s.statement_id and l.programme_id = e.programme_id
			left join conversions c on c.id = e.conversion_id
			where s.partner_id = ${partnerId} and s.entry_id > ${lastId} and s.entry_id <= ${lastEntryId ?? NO_ID}
				and s.statement_id = ${id}
			order by s.entry_id limit ${batchRows}`.execute(db);
		if (rows.length > 0) yield rows;
		if (rows.length < batchRows) return;
		lastId = rows.at(-1)?.id ?? lastId;
	}
}

/** Locks statements, found by their public ids or their numbers, so that nobody else pays them meanwhile. */
export function lockStatements(
	trx: Db,
	column: "public_id" | "number",
	values: readonly string[],
): Promise<Locked<Statement>[]> {
	const statements = trx.selectFrom("statements").selectAll();
	return lockRows(trx, statements.where(column, "in", ["", ...values]).orderBy("id"));
}

export function findStatementsByNumber(db: Db, numbers: readonly string[]): Promise<Statement[]> {
	return db
		.selectFrom("statements")
		.selectAll()
		.where("number", "in", ["", ...numbers])
		.execute();
}

export function findPayments(db: Db, statementIds: readonly number[]): Promise<Payment[]> {
	return db
		.selectFrom("payments")
		.selectAll()
		.where("statement_id", "in", [NO_ID, ...statementIds])
		.execute();
}

export async function insertPayments(trx: Db, payments: readonly Insertable<PaymentsTable>[]): Promise<void> {
	if (payments.length > 0) await trx.insertInto("payments").values(payments).execute();
}

/** Removes the payment of a statement. The lock of the statement protects the payment. */
export async function removePayment(trx: Db, { id }: Locked<Statement>): Promise<void> {
	await trx.deleteFrom("payments").where("statement_id", "=", id).execute();
}

export function findSealedDetails(
	db: Db,
	partnerIds: readonly number[],
): Promise<Selectable<PaymentDetailsTable>[]> {
	const details = db.selectFrom("payment_details").selectAll();
	return details.where("partner_id", "in", [NO_ID, ...partnerIds]).execute();
}

/** Returns the ids of the given partners who have payment details. */
export async function findPartnersWithDetails(
	db: Db,
	partnerIds: readonly number[],
): Promise<ReadonlySet<number>> {
	const details = db.selectFrom("payment_details").select("partner_id");
	const found = await details.where("partner_id", "in", [NO_ID, ...partnerIds]).execute();
	return new Set(found.map(({ partner_id }) => partner_id));
}

/** Saves the payment details of a partner. The lock of the partner's row protects them. */
export async function saveSealedDetails(
	trx: Db,
	{ id }: Locked<Partner>,
	details: Omit<Selectable<PaymentDetailsTable>, "partner_id">,
): Promise<void> {
	await trx
		.insertInto("payment_details")
		.values({ partner_id: id, ...details })
		.onConflict((conflict) => conflict.column("partner_id").doUpdateSet(details))
		.execute();
}

export interface PartnerAddressee {
	partner_id: number;
	email: string;
	/** Time zone for times in the mail. */
	zone: string;
}

/** Lists the people of these partners who can sign in. */
export function listPartnerAddressees(db: Db, partnerIds: readonly number[]): Promise<PartnerAddressee[]> {
	return db
		.selectFrom("partner_people")
		.innerJoin("people", "people.id", "partner_people.person_id")
		.select(["partner_people.partner_id", "people.email", MAIL_ZONE.as("zone")])
		.where("partner_people.partner_id", "in", [NO_ID, ...partnerIds])
		.where(CAN_SIGN_IN)
		.orderBy("partner_people.partner_id")
		.orderBy("people.email")
		.execute();
}
