// Audits the accounts of partners, the statements, the payments and the rates of sales (invariants 9 to 12 of
// ARCHITECTURE.md). The auditor gets plain rows and adds them up itself, so that it does not repeat a mistake of the
// service's queries. It copies each statement when it first sees it, and later compares the statement with the copy.

import { demand } from "./broken.ts";
import { coinsOf } from "./lifecycle-model.ts";

const ADDS_UP = "9 entries add up to what a conversion owes";
const IN_ONE_PLACE = "10 an entry is open or in one statement";
const STATEMENT = "11 a statement adds up, has the next number and never changes";
const RATES = "12 amounts follow from the rates of the sale";

/** Columns of an entry that its open row repeats. */
const REPEATED = ["partner_id", "programme_id", "kind", "amount", "currency", "at_ms"] as const;

interface EntryRow {
	id: number;
	partner_id: number;
	programme_id: number | null;
	conversion_id: number | null;
	kind: string;
	amount: string;
	currency: string;
	statement_id: number | null;
	at_ms: number;
}

interface StatementRow {
	id: number;
	number: string;
	year: number;
	seq: number;
	partner_id: number;
	currency: string;
	month: string;
	time_zone: string;
	opening: string;
	earned: string;
	changed: string;
	adjusted: string;
	total: string;
	is_carried: number;
}

/** Conversion with the partner to whom it is credited. */
interface OwingRow {
	id: number;
	programme_id: number;
	status: string;
	test: number;
	basket_value: string;
	commission: string;
	network_fee: string;
	currency: string;
	rates: string | null;
	fee_rate: string | null;
	partner_id: number | null;
	partnership_id: number | null;
	first_partnership_id: number | null;
	first_commission: string | null;
}

interface OpenRow extends Pick<EntryRow, (typeof REPEATED)[number]> {
	entry_id: number;
}

interface ContainedRow {
	partner_id: number;
	entry_id: number;
	statement_id: number;
}

interface LineRow {
	statement_id: number;
	programme_id: number;
	earned: string;
	changed: string;
}

interface PaymentRow {
	statement_id: number;
	entry_id: number;
}

/** All rows about money at one moment. Entries and statements are in the order of their ids. */
export interface MoneyRows {
	conversions: readonly OwingRow[];
	entries: readonly EntryRow[];
	open: readonly OpenRow[];
	contained: readonly ContainedRow[];
	statements: readonly StatementRow[];
	lines: readonly LineRow[];
	numbers: readonly { year: number; last: number }[];
	payments: readonly PaymentRow[];
}

/** Minimum payout of each currency in the smallest coins. */
export type Minimums = ReadonlyMap<string, bigint>;

/** Copies of the statements that were seen before, by their ids. */
export type StatementCopies = Map<number, string>;

/** Throws a Broken error if the rows break a promise about money. Adds new statements to `copies`. */
export function auditMoney(rows: MoneyRows, minimums: Minimums, copies: StatementCopies): void {
	const { entries, statements } = rows;
	for (const conversion of rows.conversions) auditRates(conversion);
	auditOwing(rows.conversions, entries);
	auditPlaces(entries, rows.open, rows.contained);
	const entryOf = new Map(entries.map((entry) => [entry.id, entry]));
	const containedIn = Map.groupBy(rows.contained, ({ statement_id }) => statement_id);
	const linesOf = Map.groupBy(rows.lines, ({ statement_id }) => statement_id);
	for (const [index, statement] of statements.entries()) {
		const own = (containedIn.get(statement.id) ?? []).flatMap(({ entry_id }) => entryOf.get(entry_id) ?? []);
		const lines = linesOf.get(statement.id) ?? [];
		auditAmounts(statement, own, lines, minimums);
		auditOpening(statement, statements.slice(0, index));
		const copy = JSON.stringify([statement, own, lines]);
		const before = copies.get(statement.id) ?? copy;
		demand(copy === before, STATEMENT, () => `${before} was issued and is now ${copy}`);
		copies.set(statement.id, copy);
	}
	demand(copies.size === statements.length, STATEMENT, () => "a statement is gone");
	auditNumbers(statements, rows.numbers);
	auditPayments(statements, entries, rows.payments);
}

function auditAmounts(
	statement: StatementRow,
	own: readonly EntryRow[],
	lines: readonly LineRow[],
	minimums: Minimums,
): void {
	const { number, partner_id, currency, month, time_zone, opening, total } = statement;
	const endMs = Temporal.PlainYearMonth.from(month)
		.add({ months: 1 })
		.toPlainDate({ day: 1 })
		.toZonedDateTime(time_zone).epochMilliseconds;
	const strangers = own.filter(
		(entry) => entry.partner_id !== partner_id || entry.currency !== currency || entry.at_ms >= endMs,
	);
	demand(strangers.length === 0, STATEMENT, () => `${number} contains ${JSON.stringify(strangers)}`);
	for (const part of ["earned", "changed", "adjusted"] as const) {
		const ofKind = own.filter(({ kind }) => kind === part.toUpperCase());
		const isSum = sumOf(ofKind) === coinsOf(statement[part]);
		demand(isSum, STATEMENT, () => `${number} has ${part} ${statement[part]} for ${JSON.stringify(ofKind)}`);
		if (part === "adjusted") continue;
		for (const [programmeId, ofProgramme] of Map.groupBy(ofKind, ({ programme_id }) => programme_id)) {
			const line = lines.find(({ programme_id }) => programme_id === programmeId);
			const isListed = coinsOf(line?.[part] ?? "0") === sumOf(ofProgramme);
			demand(isListed, STATEMENT, () => `${number} lists ${JSON.stringify(line)} for ${programmeId}`);
		}
	}
	const isTotal = coinsOf(opening) + sumOf(own) === coinsOf(total);
	demand(isTotal, STATEMENT, () => `${number} has the total ${total} for ${JSON.stringify(own)}`);
	const isTooSmall = coinsOf(total) <= 0n || coinsOf(total) < (minimums.get(currency) ?? 0n);
	demand(
		(statement.is_carried === 1) === isTooSmall,
		STATEMENT,
		() => `${number} over ${total} ${currency} is ${isTooSmall ? "to be paid" : "carried forward"}`,
	);
}

/**
 * Checks three rules. The amounts follow from the basket value and the rates. The rate of the fee is the recorded one,
 * unless nothing is charged. The first partner has the commission that was recorded. Imported amounts have no rates.
 */
function auditRates(conversion: OwingRow): void {
	const { basket_value, commission, network_fee, rates, fee_rate } = conversion;
	if (rates === null || rates.includes("/")) return;
	const [ofPartner = "", ofNetwork = ""] = rates.split(" ");
	const isComputed =
		coinsOf(commission) === coinsAt(basket_value, ofPartner) &&
		coinsOf(network_fee) === coinsAt(basket_value, ofNetwork);
	const isKept = fee_rate === null || ofNetwork === fee_rate || rates === "0 0";
	const isFirst = conversion.partnership_id === conversion.first_partnership_id;
	const isBack =
		!isFirst || conversion.first_commission === null || ofPartner === conversion.first_commission;
	demand(isComputed && isKept && isBack, RATES, () => JSON.stringify(conversion));
}

/** Returns the amount for a basket at a rate such as "7.5" or "0+5.00", rounded half up, in the smallest coins. */
function coinsAt(basketValue: string, rate: string): bigint {
	const [percent = "", fixed = "0"] = rate.split("+");
	const [whole = "0", decimals = ""] = percent.split(".");
	const product = coinsOf(basketValue) * BigInt(whole + decimals.padEnd(4, "0"));
	return (product * 2n + 1_000_000n) / 2_000_000n + coinsOf(fixed);
}

/** Checks that the entries of every conversion add up, for each partner, to what is owed to that partner. */
function auditOwing(conversions: readonly OwingRow[], entries: readonly EntryRow[]): void {
	const entriesOf = Map.groupBy(entries, ({ conversion_id }) => conversion_id);
	for (const conversion of conversions) {
		const own = entriesOf.get(conversion.id) ?? [];
		entriesOf.delete(conversion.id);
		const isOwed = conversion.status === "APPROVED" && conversion.test === 0;
		for (const partnerId of new Set([conversion.partner_id, ...own.map(({ partner_id }) => partner_id)])) {
			if (partnerId === null) continue;
			const owed = isOwed && partnerId === conversion.partner_id ? coinsOf(conversion.commission) : 0n;
			const sum = sumOf(own.filter(({ partner_id }) => partner_id === partnerId));
			demand(
				sum === owed,
				ADDS_UP,
				() => `partner ${partnerId} has ${sum} for ${JSON.stringify(conversion)}, not ${owed}`,
			);
		}
		const strangers = own.filter(
			({ currency, programme_id }) =>
				currency !== conversion.currency || programme_id !== conversion.programme_id,
		);
		demand(strangers.length === 0, ADDS_UP, () => `${JSON.stringify(strangers)} of ${conversion.id}`);
	}
	entriesOf.delete(null);
	demand(entriesOf.size === 0, ADDS_UP, () => `there are no conversions ${[...entriesOf.keys()]}`);
}

/** Checks that every entry is open or in exactly one statement. An entry of a payment is neither. */
function auditPlaces(
	entries: readonly EntryRow[],
	open: readonly OpenRow[],
	contained: readonly ContainedRow[],
): void {
	const openOf = Map.groupBy(open, ({ entry_id }) => entry_id);
	const placesOf = Map.groupBy(contained, ({ entry_id }) => entry_id);
	for (const entry of entries) {
		const rows = openOf.get(entry.id) ?? [];
		const places = placesOf.get(entry.id) ?? [];
		const isRight = rows.length + places.length === (entry.kind === "PAID" ? 0 : 1);
		demand(isRight, IN_ONE_PLACE, () => `${JSON.stringify({ entry, open: rows, statements: places })}`);
		const isSame =
			rows.every((row) => REPEATED.every((column) => row[column] === entry[column])) &&
			places.every(({ partner_id }) => partner_id === entry.partner_id);
		demand(isSame, IN_ONE_PLACE, () => `${JSON.stringify({ entry, open: rows, statements: places })}`);
		openOf.delete(entry.id);
		placesOf.delete(entry.id);
	}
	const strays = [...openOf.keys(), ...placesOf.keys()];
	demand(strays.length === 0, IN_ONE_PLACE, () => `there are no entries ${strays}`);
}

/**
 * Checks that a statement opens with the balance that the partner's previous statement carried forward, and is for a
 * later month.
 */
function auditOpening(statement: StatementRow, earlier: readonly StatementRow[]): void {
	const last = earlier.findLast(
		({ partner_id, currency }) => partner_id === statement.partner_id && currency === statement.currency,
	);
	const carried = last?.is_carried === 1 ? coinsOf(last.total) : 0n;
	const isNext = coinsOf(statement.opening) === carried && (last?.month ?? "") < statement.month;
	demand(isNext, STATEMENT, () => `${JSON.stringify(statement)} follows ${JSON.stringify(last)}`);
}

/** Checks that the numbers of each year are 1, 2, 3 and so on, in the order in which the statements were issued. */
function auditNumbers(
	statements: readonly StatementRow[],
	numbers: readonly { year: number; last: number }[],
): void {
	for (const [year, issued] of Map.groupBy(statements, (statement) => statement.year)) {
		const wrong = issued.find(
			({ number, seq }, index) =>
				seq !== index + 1 || number !== `${year}-${String(index + 1).padStart(4, "0")}`,
		);
		demand(wrong === undefined, STATEMENT, () => `${year} has a gap before ${wrong?.number}`);
		const last = numbers.find((row) => row.year === year)?.last;
		demand(last === issued.length, STATEMENT, () => `${year} has ${issued.length} statements, not ${last}`);
	}
}

/** Checks that the payments of statements are those that their entries record. */
function auditPayments(
	statements: readonly StatementRow[],
	entries: readonly EntryRow[],
	payments: readonly PaymentRow[],
): void {
	const paidBy = new Map(payments.map(({ statement_id, entry_id }) => [statement_id, entry_id]));
	const entriesOf = Map.groupBy(
		entries.filter(({ kind }) => kind === "PAID"),
		({ statement_id }) => statement_id,
	);
	for (const { id, number, partner_id, currency, total, is_carried } of statements) {
		const own = entriesOf.get(id) ?? [];
		const entryId = paidBy.get(id);
		entriesOf.delete(id);
		paidBy.delete(id);
		// The entries alternate between minus and plus the total. A paid statement ends with minus.
		const isRight =
			own.every(
				(entry, index) =>
					entry.partner_id === partner_id &&
					entry.currency === currency &&
					coinsOf(entry.amount) === (index % 2 === 0 ? -coinsOf(total) : coinsOf(total)),
			) &&
			(own.length % 2 === 1 ? entryId === own.at(-1)?.id : entryId === undefined) &&
			(is_carried === 0 || own.length === 0);
		demand(isRight, STATEMENT, () => `${number} over ${total}, paid by ${entryId}: ${JSON.stringify(own)}`);
	}
	const strays = [...paidBy.keys(), ...entriesOf.keys()];
	demand(strays.length === 0, STATEMENT, () => `there are no statements ${strays}`);
}

function sumOf(entries: readonly Pick<EntryRow, "amount">[]): bigint {
	return entries.reduce((sum, { amount }) => sum + coinsOf(amount), 0n);
}
