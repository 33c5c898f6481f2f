// Calls of the network's API about money: totals of the network, and the accounts and statements of partners.

import * as z from "zod";
import { AMOUNT, UTC_TIME } from "#core/api/answer-fields.ts";
import { dayOf, type NetworkTally } from "#core/conversions/tally.ts";
import { STATUSES } from "#core/domain/conversion.ts";
import { type Result, refusalOf, refuse, succeed } from "#core/domain/fault.ts";
import { decimalCount, formatMinor, zeroIn } from "#core/domain/money.ts";
import { isoTime } from "#core/domain/time.ts";
import { ENTRY_KINDS } from "#modules/accounts/domain/ledger.ts";
import { parseMonth, STATEMENT_STATES, stateOfStatement } from "#modules/accounts/domain/statement.ts";
import { findBalances, type ListedEntry, listEntries } from "#modules/accounts/store/entries.ts";
import {
	findStatement,
	type ListedStatement,
	listStatementLines,
	listStatements,
	type StatementFilter,
} from "#modules/accounts/store/statements.ts";
import { refuseUncompared } from "#modules/accounts/use-cases/compared-payments.ts";
import { PARTNER_ID } from "#modules/partners/api/partner-id.ts";
import { EXAMPLE, SIGNED_AMOUNT, STATEMENT_ID } from "./fields.ts";
import { list, type OpenedList } from "./list-route.ts";
import { findNamedPartner } from "./partner-calls.ts";
import { route, type TokenApiDeps, type TokenRoute } from "./route.ts";

export const STATEMENT = z
	.strictObject({
		id: STATEMENT_ID,
		number: z.string().meta({ examples: ["2026-0042"] }),
		partnerId: PARTNER_ID,
		month: z.string().meta({ description: "The month up to whose end it counts.", examples: ["2026-02"] }),
		currency: z.string().meta({ examples: ["EUR"] }),
		opening: SIGNED_AMOUNT.describe("What was carried forward from the statement before."),
		earned: SIGNED_AMOUNT,
		changed: SIGNED_AMOUNT.describe("What became of sales that were approved earlier."),
		adjusted: SIGNED_AMOUNT.describe("Bonuses and corrections."),
		total: SIGNED_AMOUNT,
		state: z.enum(STATEMENT_STATES),
		paidOn: z
			.string()
			.nullable()
			.meta({ description: "The day of the payment.", examples: ["2026-03-15"] }),
		paymentReference: z.string().nullable(),
		issuedAt: UTC_TIME,
	})
	.meta({
		id: "Statement",
		description: "A statement that was issued to a partner.",
		examples: [
			{
				id: EXAMPLE.statementId,
				number: "2026-0042",
				partnerId: EXAMPLE.partnerId,
				month: "2026-02",
				currency: "EUR",
				opening: "0.00",
				earned: "120.00",
				changed: "-8.00",
				adjusted: "0.00",
				total: "112.00",
				state: "to_pay",
				paidOn: null,
				paymentReference: null,
				issuedAt: EXAMPLE.time,
			},
		],
	});

const STATEMENT_LINE = z
	.strictObject({
		programmeName: z.string(),
		sales: z.int(),
		earned: SIGNED_AMOUNT,
		changed: SIGNED_AMOUNT,
	})
	.meta({ examples: [{ programmeName: "Nordlicht", sales: 11, earned: "120.00", changed: "-8.00" }] });

export const WHOLE_STATEMENT = z.strictObject({
	statement: STATEMENT,
	lines: z.array(STATEMENT_LINE).describe("One for each programme."),
});

function showStatement(statement: ListedStatement): z.output<typeof STATEMENT> {
	const { number, month, currency, opening, earned, changed, adjusted, total } = statement;
	return {
		id: statement.public_id,
		number,
		partnerId: statement.partner_public_id,
		...{ month, currency, opening, earned, changed, adjusted, total },
		state: stateOfStatement(statement, statement.paid_on !== null),
		paidOn: statement.paid_on,
		paymentReference: statement.reference,
		issuedAt: isoTime(statement.issued_at_ms),
	};
}

/** Returns the list of statements, of all partners or of one. */
export function openStatements(
	{ store }: Pick<TokenApiDeps, "store">,
	filter: StatementFilter,
): OpenedList<z.output<typeof STATEMENT>> {
	return {
		name: `statements ${JSON.stringify(filter)}`,
		async read(page) {
			const { rows, next } = await listStatements(store.reader, filter, page);
			return { items: rows.map(showStatement), next };
		},
	};
}

/**
 * Answers one statement with its lines. If `partnerId` is given, the statement must belong to that partner.
 */
export async function answerStatement(
	{ store }: Pick<TokenApiDeps, "store">,
	publicId: string,
	partnerId?: number,
): Promise<Result<{ body: z.output<typeof WHOLE_STATEMENT> }>> {
	const statement = await findStatement(store.db, publicId, partnerId);
	if (statement === undefined) return refusalOf("unknown_statement", { id: publicId });
	const lines = await listStatementLines(store.db, statement.id);
	return succeed({
		body: {
			statement: showStatement(statement),
			lines: lines.map(({ programme_name: programmeName, sales, earned, changed }) => ({
				...{ programmeName, sales, earned, changed },
			})),
		},
	});
}

export const STATEMENT_FILTERS = {
	month: z
		.string()
		.meta({ description: "Only statements of this month.", examples: ["2026-02"] })
		.optional(),
	state: z.enum(STATEMENT_STATES).optional(),
};

/** Parses the month of a query. The refusal names the parameter, because the sentence of `parseMonth` is for a form. */
export function readMonth(month: string | undefined): Result<string | undefined> {
	if (month === undefined) return succeed(undefined);
	const parsed = parseMonth(month);
	return parsed.ok ? parsed : refuse("invalid_field", "month must be a month such as 2026-10.", "month");
}

export const BALANCES = z.strictObject({
	items: z.array(
		z
			.strictObject({
				currency: z.string(),
				open: SIGNED_AMOUNT.describe("Entries that no statement contains yet."),
				due: SIGNED_AMOUNT.describe("Statements that are to be paid and are not paid yet."),
				carried: SIGNED_AMOUNT.describe("The total of the newest statement, if it was carried forward."),
			})
			.meta({
				id: "Balance",
				description: "A partner's account in one currency.",
				examples: [{ currency: "EUR", open: "35.00", due: "112.00", carried: "0.00" }],
			}),
	),
});

const ENTRY = z
	.strictObject({
		kind: z.enum(ENTRY_KINDS),
		amount: SIGNED_AMOUNT,
		currency: z.string(),
		programmeName: z.string().nullable(),
		conversionId: z.string().nullable(),
		statementId: z
			.string()
			.nullable()
			.describe("The statement that contains or pays it. Null while it is open."),
		reason: z.string().nullable(),
		at: UTC_TIME,
	})
	.meta({
		id: "Entry",
		description: "A line in a partner's account.",
		examples: [
			{
				kind: "EARNED",
				amount: "10.39",
				currency: "EUR",
				programmeName: "Nordlicht",
				conversionId: null,
				statementId: null,
				reason: null,
				at: EXAMPLE.time,
			},
		],
	});

function showEntry(entry: ListedEntry): z.output<typeof ENTRY> {
	const { kind, amount, currency, reason } = entry;
	return {
		...{ kind, amount, currency },
		programmeName: entry.programme_name,
		conversionId: entry.conversion_public_id,
		statementId: entry.statement_public_id,
		reason,
		at: isoTime(entry.at_ms),
	};
}

/** Periods for which the page shows the network's totals, in days. */
const PERIODS = ["7", "30", "90", "365"] as const;

const STATUS_TOTAL = z
	.strictObject({
		status: z.enum(STATUSES),
		count: z.int(),
		basketValue: AMOUNT,
		commission: AMOUNT,
		networkFee: AMOUNT,
	})
	.meta({ id: "StatusTotal", description: "The sum of conversions with one status." });

const TOTALS = z.strictObject({
	countedAt: UTC_TIME.describe("The time of the count. Totals are counted in the background."),
	currencies: z.array(z.strictObject({ currency: z.string(), totals: z.array(STATUS_TOTAL) })),
	days: z
		.array(
			z.strictObject({
				day: z.string().meta({ examples: ["2026-03-01"] }),
				counts: z.array(z.strictObject({ status: z.enum(STATUSES), count: z.int() })),
			}),
		)
		.describe("Number of conversions by the day on which they were recorded, in the network's time zone."),
});

function showTotals({ countedAtMs, currencies, days }: NetworkTally): z.output<typeof TOTALS> {
	return {
		countedAt: isoTime(countedAtMs),
		currencies: [...currencies].map(([currency, totals]) => {
			const amount = (minor: bigint) => formatMinor(minor, decimalCount(zeroIn(currency)));
			return {
				currency,
				totals: [...totals].map(([status, total]) => ({
					status,
					count: total.count,
					basketValue: amount(total.basketMinor),
					commission: amount(total.commissionMinor),
					networkFee: amount(total.feeMinor),
				})),
			};
		}),
		days: [...days]
			.sort(([one], [other]) => one - other)
			.map(([day, counts]) => ({
				day: dayOf(day),
				counts: [...counts].map(([status, count]) => ({ status, count })),
			})),
	};
}

/** Returns the count. Until the first count is complete, returns a refusal with 503. */
export function requireCount<Count>({ count }: { count: Count | null }): Result<Count> {
	if (count !== null) return succeed(count);
	return refuse("unavailable", "The totals are being counted. Ask again after the time in Retry-After.");
}

// After a restore, a program that pays what these calls answer could pay something twice. Until staff have compared the
// payments with the bank, calls that say what is to be paid are refused.
export const MONEY_ROUTES: readonly TokenRoute[] = [
	route({
		method: "GET",
		path: "/v1/network/totals",
		right: "read",
		operationId: "showTotals",
		summary: "Show the totals of the network",
		description:
			"Sums of all conversions that were recorded in the last days, with the status that they have now. Tests are left out. While the first count runs, the answer is 503 with `Retry-After`.",
		query: z.strictObject({
			days: z.enum(PERIODS).meta({ description: "Length of the period. 30 by default." }).optional(),
		}),
		answer: {
			description: "The totals.",
			schema: TOTALS,
			example: { countedAt: EXAMPLE.time, currencies: [], days: [] },
		},
		faults: [],
		async handle({ query }, deps) {
			const { timeZone: zone } = await deps.network.read();
			const look = await deps.networkTallies.look({ days: Number(query.days ?? "30"), zone });
			const tally = requireCount(look);
			return tally.ok ? succeed({ body: showTotals(tally.value) }) : tally;
		},
	}),
	list({
		path: "/v1/network/statements",
		right: "read",
		operationId: "listStatements",
		summary: "List statements of all partners, the newest first",
		description: "Lists the statements that were issued.",
		filters: {
			partnerId: z
				.string()
				.meta({ examples: [EXAMPLE.partnerId] })
				.optional(),
			...STATEMENT_FILTERS,
		},
		item: STATEMENT,
		noun: "statements",
		faults: ["resource", "payments"],
		async open({ query: { partnerId, state, month } }, deps) {
			const saysDue = state === undefined || state === "to_pay";
			const compared = saysDue ? await refuseUncompared(deps.store.db) : succeed(true);
			if (!compared.ok) return compared;
			const partner = partnerId === undefined ? null : await findNamedPartner(deps.store.db, partnerId);
			if (partner?.ok === false) return partner;
			const read = readMonth(month);
			if (!read.ok) return read;
			return succeed(openStatements(deps, { month: read.value, state, partnerId: partner?.value.id }));
		},
	}),
	route({
		method: "GET",
		path: "/v1/network/statements/{statementId}",
		right: "read",
		operationId: "showStatement",
		summary: "Show a statement",
		description: "Shows a statement with the part of each programme.",
		isResource: true,
		answer: { description: "The statement.", schema: WHOLE_STATEMENT },
		faults: ["resource", "payments"],
		async handle({ path }, deps) {
			const answer = await answerStatement(deps, path["statementId"] ?? "");
			if (!answer.ok || answer.value.body.statement.state !== "to_pay") return answer;
			const compared = await refuseUncompared(deps.store.db);
			return compared.ok ? answer : compared;
		},
	}),
	route({
		method: "GET",
		path: "/v1/network/partners/{partnerId}/balances",
		right: "read",
		operationId: "showBalances",
		summary: "Show what a partner is owed",
		description: "Shows the account of a partner by currency.",
		answer: { description: "The balances.", schema: BALANCES },
		faults: ["resource", "payments"],
		async handle({ path }, { store }) {
			const partner = await findNamedPartner(store.db, path["partnerId"] ?? "");
			if (!partner.ok) return partner;
			const compared = await refuseUncompared(store.db);
			if (!compared.ok) return compared;
			return succeed({ body: { items: await findBalances(store.reader, partner.value.id) } });
		},
	}),
	list({
		path: "/v1/network/partners/{partnerId}/entries",
		right: "read",
		operationId: "listEntries",
		summary: "List the entries of a partner's account, the newest first",
		description: "Everything that changed what the partner is owed.",
		filters: { kind: z.enum(ENTRY_KINDS).optional() },
		item: ENTRY,
		noun: "entries",
		faults: ["resource"],
		async open({ path, query: { kind } }, { store }) {
			const partner = await findNamedPartner(store.db, path["partnerId"] ?? "");
			if (!partner.ok) return partner;
			const { id: partnerId } = partner.value;
			return succeed({
				name: `entries of partner:${partnerId} ${kind ?? "all"}`,
				async read(page) {
					const { rows, next } = await listEntries(store.reader, { partnerId, kind }, page);
					return { items: rows.map(showEntry), next };
				},
			});
		},
	}),
];
