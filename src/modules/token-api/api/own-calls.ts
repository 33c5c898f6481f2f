// Calls of the partners' API. The token says whose data is read, so no path names a partner, and nothing of another partner
// can be asked for.

import * as z from "zod";
import { AMOUNT, UTC_TIME } from "#core/api/answer-fields.ts";
import { CONVERSION_FIELDS } from "#core/api/conversion-fields.ts";
import { EXAMPLE_CONVERSION_ID, momentField, parseMoments, sayMissingDay } from "#core/api/sale-fields.ts";
import { EVENT_TYPES, STATUSES } from "#core/domain/conversion.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { decimalCount, formatMinor, zeroIn } from "#core/domain/money.ts";
import { DAY_MS, isoTime } from "#core/domain/time.ts";
import { dayEndMs, dayIn, dayStartMs, firstOfDays, isDay } from "#core/domain/zone-day.ts";
import { findBalances } from "#modules/accounts/store/entries.ts";
import { CREDIT_WORDS } from "#modules/partners/domain/credit.ts";
import { type CreditedConversion, listCredited } from "#modules/partners/store/credited.ts";
import { pagePartnerLinks } from "#modules/partners/store/partner-links.ts";
import { listPartnerships, type NamedPartnership } from "#modules/partners/store/partnerships.ts";
import {
	MAX_SUB_TOTAL_DAYS,
	SUB_TOTAL_KEYS,
	type SubTotalKey,
	type SubTotals,
} from "#modules/partners/use-cases/sub-totals.ts";
import { create } from "./create-route.ts";
import { EXAMPLE, PROGRAMME_ID, timeOrNull } from "./fields.ts";
import { LINK, LINK_INPUT, linkCreation, showPartnerLink } from "./link-calls.ts";
import { list } from "./list-route.ts";
import {
	answerStatement,
	BALANCES,
	openStatements,
	readMonth,
	requireCount,
	STATEMENT,
	STATEMENT_FILTERS,
	WHOLE_STATEMENT,
} from "./money-calls.ts";
import { route, type TokenApiDeps, type TokenCall, type TokenRoute } from "./route.ts";

function partnerIdOf({ token }: Pick<TokenCall<unknown, unknown>, "token">): number {
	if (token.partner_id === null) throw new Error("a call of a partner with a token of the network");
	return token.partner_id;
}

function partnershipsOf(
	{ store }: Pick<TokenApiDeps, "store">,
	call: Pick<TokenCall<unknown, unknown>, "token">,
): Promise<NamedPartnership[]> {
	return listPartnerships(store.db, "partner_id", [partnerIdOf(call)]);
}

/** Returns the partner's partnership in a programme, or a refusal that does not say whether the programme exists. */
function inProgramme(partnerships: readonly NamedPartnership[], programId: string): Result<NamedPartnership> {
	const found = partnerships.find(({ programme_public_id }) => programme_public_id === programId);
	if (found !== undefined) return succeed(found);
	const text = `You are no partner of a programme ${programId}. Check the ID: GET /v1/partner/programmes lists yours.`;
	return refuse("unknown_programme", text, "programId");
}

const OWN_PROGRAMME = z
	.strictObject({
		programId: PROGRAMME_ID,
		name: z.string(),
		currency: z.string(),
		clickDays: z.int().describe("Number of days after a click in which a sale is credited to it."),
		joinedAt: UTC_TIME,
		endedAt: UTC_TIME.nullable().describe("The time at which the partnership ended, or null."),
	})
	.meta({
		id: "PartnerProgramme",
		description: "A programme of the partner.",
		examples: [
			{
				programId: EXAMPLE.programmeId,
				name: "Nordlicht",
				currency: "EUR",
				clickDays: 30,
				joinedAt: EXAMPLE.time,
				endedAt: null,
			},
		],
	});

const OWN_CONVERSION = z
	.strictObject({
		id: CONVERSION_FIELDS.id,
		programId: PROGRAMME_ID,
		status: z.enum(STATUSES),
		eventType: z.enum(EVENT_TYPES),
		commission: AMOUNT,
		basketValue: AMOUNT.nullable().describe("Null unless the programme shows basket values."),
		currency: z.string(),
		reason: z.string().nullable().describe("Why it was rejected or reversed."),
		creditedBy: z.enum(CREDIT_WORDS),
		sub1: z.string(),
		sub2: z.string(),
		sub3: z.string(),
		occurredAt: UTC_TIME,
		decidedAt: UTC_TIME.nullable(),
	})
	.meta({
		id: "PartnerConversion",
		description: "A sale that is credited to the partner. It has no order ID.",
		examples: [
			{
				id: EXAMPLE_CONVERSION_ID,
				programId: EXAMPLE.programmeId,
				status: "APPROVED",
				eventType: "SALE",
				commission: "10.39",
				basketValue: null,
				currency: "EUR",
				reason: null,
				creditedBy: "CLICK",
				sub1: "newsletter",
				sub2: "",
				sub3: "",
				occurredAt: EXAMPLE.time,
				decidedAt: EXAMPLE.time,
			},
		],
	});

function showOwn(row: CreditedConversion): z.output<typeof OWN_CONVERSION> {
	return {
		id: row.public_id,
		programId: row.programme_public_id,
		status: row.status,
		eventType: row.event_type,
		commission: row.commission,
		basketValue: row.basket_value,
		currency: row.currency,
		reason: row.reason,
		creditedBy: row.word,
		sub1: row.sub_1,
		sub2: row.sub_2,
		sub3: row.sub_3,
		occurredAt: isoTime(row.occurred_at_ms),
		decidedAt: timeOrNull(row.decided_at_ms),
	};
}

const CONVERSION_FILTERS = {
	programId: z
		.string()
		.meta({ examples: [EXAMPLE.programmeId] })
		.optional(),
	status: z.enum(STATUSES).optional(),
	occurredFrom: momentField("Only sales at this time or later.").optional(),
	occurredBefore: momentField("Only sales before this time.").optional(),
	decidedFrom: momentField("Only sales that were decided at this time or later.").optional(),
	decidedBefore: momentField("Only sales that were decided before this time.").optional(),
};

const MOMENTS = ["occurredFrom", "occurredBefore", "decidedFrom", "decidedBefore"] as const;

const DEFAULT_DAYS = 30;

const TOTALS_QUERY = z.strictObject({
	from: z
		.string()
		.meta({ description: "First day, in the network's time zone.", examples: ["2026-02-01"] })
		.optional(),
	to: z
		.string()
		.meta({ description: "Last day, which is included. Today by default.", examples: ["2026-02-28"] })
		.optional(),
	by: z
		.string()
		.meta({
			description: `What the totals are grouped by, joined by commas: ${SUB_TOTAL_KEYS.join(", ")}. By day by default.`,
			examples: ["day,sub1"],
		})
		.optional(),
});

const TOTALS = z.strictObject({
	countedAt: UTC_TIME.meta({ examples: [EXAMPLE.time] }),
	items: z.array(
		z
			.strictObject({
				day: z.string().nullable(),
				sub1: z.string().nullable(),
				sub2: z.string().nullable(),
				sub3: z.string().nullable(),
				currency: z.string(),
				status: z.enum(STATUSES),
				count: z.int(),
				commission: AMOUNT,
			})
			.meta({
				id: "PartnerTotal",
				description: "The sum of a group. Fields that the totals are not grouped by are null.",
				examples: [
					{
						day: "2026-03-01",
						sub1: "newsletter",
						sub2: null,
						sub3: null,
						currency: "EUR",
						status: "APPROVED",
						count: 3,
						commission: "31.17",
					},
				],
			}),
	),
});

function readTotals(
	query: z.output<typeof TOTALS_QUERY>,
	zone: string,
	nowMs: number,
): Result<{ fromMs: number; beforeMs: number; by: readonly SubTotalKey[] }> {
	for (const name of ["from", "to"] as const) {
		const day = query[name];
		if (day === undefined || isDay(day)) continue;
		const rule = sayMissingDay(day) ?? "must be a day such as 2026-03-01.";
		return refuse("invalid_field", `${name} ${rule}`, name);
	}
	const to = query.to ?? dayIn(nowMs, zone);
	const from = query.from ?? firstOfDays(to, DEFAULT_DAYS);
	const span = { fromMs: dayStartMs(from, zone), beforeMs: dayEndMs(to, zone) };
	if (from > to) return refuse("invalid_field", "from must not be after to.", "from");
	const days = Math.round((span.beforeMs - span.fromMs) / DAY_MS);
	if (days > MAX_SUB_TOTAL_DAYS) {
		const text = `A period has at most ${MAX_SUB_TOTAL_DAYS} days, and this one has ${days}. Ask for one period after the other.`;
		return refuse("invalid_field", text, "from");
	}
	const words = (query.by ?? "day").split(",");
	const by = SUB_TOTAL_KEYS.filter((key) => words.includes(key));
	if (by.length !== words.length) {
		const text = `by must be one or more of ${SUB_TOTAL_KEYS.join(", ")}, joined by commas.`;
		return refuse("invalid_field", text, "by");
	}
	return succeed({ ...span, by });
}

function showSubTotals({ countedAtMs, groups }: SubTotals): z.output<typeof TOTALS> {
	return {
		countedAt: isoTime(countedAtMs),
		items: groups.map(({ commissionMinor, ...group }) => ({
			...group,
			commission: formatMinor(commissionMinor, decimalCount(zeroIn(group.currency))),
		})),
	};
}

export const OWN_ROUTES: readonly TokenRoute[] = [
	route({
		method: "GET",
		path: "/v1/partner/programmes",
		right: "partner",
		operationId: "listOwnProgrammes",
		summary: "List your programmes",
		description: "Lists all programmes that you are or were a partner of.",
		answer: {
			description: "The programmes.",
			schema: z.strictObject({ items: z.array(OWN_PROGRAMME) }),
		},
		faults: [],
		async handle(call, deps) {
			const partnerships = await partnershipsOf(deps, call);
			const items = partnerships.map((partnership) => ({
				programId: partnership.programme_public_id,
				name: partnership.programme_name,
				currency: partnership.programme_currency,
				clickDays: partnership.programme_click_days,
				joinedAt: isoTime(partnership.created_at_ms),
				endedAt: timeOrNull(partnership.ended_at_ms),
			}));
			return succeed({ body: { items } });
		},
	}),
	list({
		path: "/v1/partner/conversions",
		right: "partner",
		operationId: "listOwnConversions",
		summary: "List your conversions, the latest sale first",
		description: "Lists the sales that are credited to you. Tests are left out.",
		filters: CONVERSION_FILTERS,
		item: OWN_CONVERSION,
		noun: "conversions",
		faults: ["resource"],
		async open(call, deps) {
			const { query } = call;
			const all = await partnershipsOf(deps, call);
			const chosen = query.programId === undefined ? null : inProgramme(all, query.programId);
			if (chosen?.ok === false) return chosen;
			const times = parseMoments(MOMENTS, query);
			if (!times.ok) return times;
			const filter = {
				partnerships: chosen === null ? all : [chosen.value],
				status: query.status,
				soldFromMs: times.value.occurredFrom,
				soldBeforeMs: times.value.occurredBefore,
				decidedFromMs: times.value.decidedFrom,
				decidedBeforeMs: times.value.decidedBefore,
			};
			return succeed({
				name: `own conversions of partner:${partnerIdOf(call)} ${query.programId ?? "all"}`,
				async read(page) {
					const { rows, next } = await listCredited(deps.store.reader, filter, page);
					return { items: rows.map(showOwn), next };
				},
			});
		},
	}),
	route({
		method: "GET",
		path: "/v1/partner/totals",
		right: "partner",
		operationId: "showOwnTotals",
		summary: "Show your totals by day and sub ID",
		description: `Adds up the sales of at most ${MAX_SUB_TOTAL_DAYS} days, by status and currency. Totals are counted in the background. While the first count runs, the answer is 503 with \`Retry-After\`.`,
		query: TOTALS_QUERY,
		answer: { description: "The totals.", schema: TOTALS },
		faults: [],
		async handle(call, deps) {
			const { timeZone: zone } = await deps.network.read();
			const read = readTotals(call.query, zone, call.nowMs);
			if (!read.ok) return read;
			const partnershipIds = (await partnershipsOf(deps, call)).map(({ id }) => id);
			const counted = requireCount(await deps.subTotals.look({ ...read.value, partnershipIds, zone }));
			if (!counted.ok) return counted;
			const totals = counted.value;
			if (totals.isComplete) return succeed({ body: showSubTotals(totals) });
			const text = `There are more than ${totals.groups.length} groups. Choose a shorter period, or group by less.`;
			return refuse("invalid_field", text, "by");
		},
	}),
	list({
		path: "/v1/partner/links",
		right: "partner",
		operationId: "listOwnLinks",
		summary: "List your links, the newest first",
		description: "Lists the links of all your programmes.",
		item: LINK,
		noun: "links",
		async open(call, deps) {
			const partnerships = await partnershipsOf(deps, call);
			const ids = partnerships.map(({ id }) => id);
			const programIds = new Map(partnerships.map((each) => [each.id, each.programme_public_id]));
			return succeed({
				name: `own links of partner:${partnerIdOf(call)}`,
				async read(page) {
					const { rows, next } = await pagePartnerLinks(deps.store.db, ids, page);
					const items = rows.map((link) =>
						showPartnerLink(deps, link, programIds.get(link.partnership_id) ?? ""),
					);
					return { items, next };
				},
			});
		},
	}),
	create({
		path: "/v1/partner/links",
		right: "partner",
		operationId: "createOwnLink",
		summary: "Create a link",
		description: "The link leads to a page at one of the programme's confirmed hosts.",
		fields: {
			...LINK_INPUT,
			programId: z.string().meta({ examples: [EXAMPLE.programmeId] }),
		},
		sample: { programId: EXAMPLE.programmeId, target: "https://nordlicht.example/", code: "summer" },
		faults: ["resource"],
		answer: { description: "The link.", schema: LINK },
		async open(call, deps) {
			const found = inProgramme(await partnershipsOf(deps, call), call.body.programId);
			return found.ok ? succeed(linkCreation(deps, found.value, call.body)) : found;
		},
	}),
	list({
		path: "/v1/partner/statements",
		right: "partner",
		operationId: "listOwnStatements",
		summary: "List your statements, the newest first",
		description: "Lists what you earned up to the end of each month, and whether it was paid.",
		filters: STATEMENT_FILTERS,
		item: STATEMENT,
		noun: "statements",
		async open(call, deps) {
			const { month, state } = call.query;
			const read = readMonth(month);
			if (!read.ok) return read;
			return succeed(openStatements(deps, { month: read.value, state, partnerId: partnerIdOf(call) }));
		},
	}),
	route({
		method: "GET",
		path: "/v1/partner/statements/{statementId}",
		right: "partner",
		operationId: "showOwnStatement",
		summary: "Show one of your statements",
		description: "Shows a statement with the part of each programme.",
		isResource: true,
		answer: { description: "The statement.", schema: WHOLE_STATEMENT },
		faults: ["resource"],
		handle: (call, deps) => answerStatement(deps, call.path["statementId"] ?? "", partnerIdOf(call)),
	}),
	route({
		method: "GET",
		path: "/v1/partner/balances",
		right: "partner",
		operationId: "showOwnBalances",
		summary: "Show what you are owed",
		description: "Shows your account by currency.",
		answer: { description: "The balances.", schema: BALANCES },
		faults: [],
		async handle(call, { store }) {
			return succeed({ body: { items: await findBalances(store.reader, partnerIdOf(call)) } });
		},
	}),
];
