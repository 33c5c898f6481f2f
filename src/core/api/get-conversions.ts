// GET /v1/conversions and GET /v1/conversions/{id}. The list has pages and starts with the newest conversion. If it is
// filtered by the time of the sale, it is also sorted by it. A list of changed conversions starts with the oldest change,
// so that a shop that reads page after page also finds what changes meanwhile.

import * as z from "zod";
import { REFUND, refundBody } from "#modules/refunds/api/refund-fields.ts";
import { listRefunds } from "#modules/refunds/store/refunds.ts";
import { STATUSES, type Status } from "../domain/conversion.ts";
import { type Cursor, type CursorSeal, readCursor, writeCursor } from "../domain/cursor.ts";
import { checkAll, type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import { parseKnownOrderId } from "../domain/order-id.ts";
import {
	type ConversionListRequest,
	type ConversionSort,
	listConversions,
} from "../store/queries/conversion-list.ts";
import { findByPublicId } from "../store/queries/conversions.ts";
import { CONVERSION, conversionBody } from "./answers.ts";
import type { AppDeps } from "./deps.ts";
import { exampleConversion } from "./openapi/examples.ts";
import { checkFields, parseQuery } from "./read-request.ts";
import { answer, type SignedRoute } from "./route.ts";
import {
	EXAMPLE_CONVERSION_ID,
	EXAMPLE_CURSOR,
	mentionedOrderId,
	momentField,
	ORDER_ID,
	parseMoment,
} from "./sale-fields.ts";
import { type Endpoint, refusedPlan } from "./signed-call.ts";

const DEFAULT_PAGE_ROWS = 50;
/** Maximum number of conversions on a page, about 100 KB of JSON, which a shop's server can easily read. */
const MAX_PAGE_ROWS = 200;

/**
 * Form of a public id. No other text is looked up, because a path may contain characters that a database
 * refuses.
 */
const PUBLIC_ID = /^[0-9A-Za-z_]{1,64}$/;

const CONVERSIONS_QUERY = z.strictObject({
	status: z
		.string()
		.meta({ enum: STATUSES, description: "Only conversions with this status now.", examples: ["RECORDED"] })
		.optional(),
	orderId: ORDER_ID.optional(),
	recordedFrom: momentField("Only conversions that were recorded at this time or later.").optional(),
	recordedBefore: momentField("Only conversions that were recorded before this time.").optional(),
	occurredFrom: momentField(
		"Only sales at this time or later, by their `occurredAt`. The list is then in the order of the sales.",
	).optional(),
	occurredBefore: momentField(
		"Only sales before this time, by their `occurredAt`. The list is then in the order of the sales.",
	).optional(),
	changedFrom: momentField(
		"Only conversions that changed after they were recorded, at this time or later, by their `updatedAt`. The list is then in the order of the changes, the oldest first. It cannot be combined with `occurredFrom` and `occurredBefore`.",
	).optional(),
	limit: z
		.string()
		.meta({
			type: "integer",
			minimum: 1,
			maximum: MAX_PAGE_ROWS,
			default: DEFAULT_PAGE_ROWS,
			description: "Maximum number of conversions on a page.",
		})
		.optional(),
	cursor: z
		.string()
		.meta({
			description:
				"The unchanged `nextCursor` of the previous page, with the same filters. Left out for the first page.",
			examples: [EXAMPLE_CURSOR],
		})
		.optional(),
});

const CONVERSION_PAGE = z
	.strictObject({
		conversions: z.array(CONVERSION).describe("At most `limit`."),
		nextCursor: z
			.string()
			.nullable()
			.meta({
				description: "Send it as `cursor` to get the next page. Null on the last page.",
				examples: [EXAMPLE_CURSOR],
			}),
	})
	.meta({ id: "ConversionPage", description: "A page of conversions, the newest first." });
export type ConversionPage = z.output<typeof CONVERSION_PAGE>;

export const LIST_CONVERSIONS: SignedRoute = {
	caller: "shop",
	method: "GET",
	path: "/v1/conversions",
	tag: "Conversions",
	operationId: "listConversions",
	summary: "List conversions, the newest first",
	description:
		"Answers one page. Send `nextCursor` back as `cursor`, with the same filters, until it is null. A page may have fewer conversions than `limit` before that. Conversions that are recorded meanwhile do not shift the pages. With `occurredFrom` or `occurredBefore` the list is in the order of the sales, otherwise in the order in which they were recorded.",
	query: CONVERSIONS_QUERY,
	sampleQuery: "status=RECORDED&limit=50",
	answers: {
		200: answer("The page.", CONVERSION_PAGE, {
			conversions: [exampleConversion("conversion.recorded")],
			nextCursor: null,
		}),
	},
	faults: ["fields", "cursor"],
	plan: listEndpoint,
};

function listEndpoint({ store, ...seal }: CursorSeal & Pick<AppDeps, "store">): Endpoint {
	return ({ programme, query }) => {
		const names = parseQuery(query);
		if (!names.ok) return refusedPlan(names);
		const orderId = mentionedOrderId(names.value);
		const sort = sortOf(names.value);
		const list = `conversions of programme:${programme.id}${sort === undefined ? "" : ` by ${sort.by}`}`;
		const asked = parseRequest(names.value, (text) => readCursor(seal, list, text));
		if (!asked.ok) return refusedPlan(asked, orderId);
		return {
			orderId,
			runsAlone: true,
			requests: [],
			async answer(trx) {
				// Without statistics, PostgreSQL would read and sort all changes of the programme for each page.
				if (sort?.by === "change") await store.forceIndexes(trx);
				const { rows, next } = await listConversions(trx, {
					...asked.value,
					programmeId: programme.id,
					sort,
				});
				const conversions = rows.map((conversion) => conversionBody(conversion, programme));
				const nextCursor = next === null ? null : writeCursor(seal, list, next);
				const body: ConversionPage = { conversions, nextCursor };
				return succeed({ outcome: "LISTED", httpStatus: 200, body, conversionId: null });
			},
		};
	};
}

const ONE_CONVERSION = z
	.strictObject({
		conversion: CONVERSION,
		refunds: z.array(REFUND).describe("The refunds of the conversion, the oldest first."),
	})
	.meta({ id: "OneConversion", description: "One conversion with its refunds." });
type OneConversion = z.output<typeof ONE_CONVERSION>;

export const SHOW_CONVERSION: SignedRoute = {
	caller: "shop",
	method: "GET",
	path: "/v1/conversions/{id}",
	pathParameters: { id: { description: "The conversion's ID.", example: EXAMPLE_CONVERSION_ID } },
	tag: "Conversions",
	operationId: "showConversion",
	summary: "Show one conversion",
	description:
		"Finds the conversion by our ID, with its refunds. To find it by your order ID, list with `orderId`.",
	answers: {
		200: answer("The conversion.", ONE_CONVERSION, {
			conversion: exampleConversion("conversion.approved"),
			refunds: [],
		}),
	},
	faults: ["one conversion"],
	plan: () => showConversion,
};

const showConversion: Endpoint = ({ programme, id }) => ({
	orderId: null,
	runsAlone: true,
	requests: [],
	async answer(trx) {
		const conversion = PUBLIC_ID.test(id) ? await findByPublicId(trx, programme.id, id) : undefined;
		if (conversion === undefined) return refusalOf("unknown_conversion", {});
		return succeed({
			outcome: "SHOWN",
			httpStatus: 200,
			body: {
				conversion: conversionBody(conversion, programme),
				refunds: (await listRefunds(trx, conversion.id)).map(refundBody),
			} satisfies OneConversion,
			conversionId: conversion.public_id,
			orderId: conversion.order_id,
		});
	},
});

/** Returns how a list with these filters is sorted, or undefined for the order of recording. */
function sortOf(query: Readonly<Record<string, string>>): ConversionSort | undefined {
	if ("changedFrom" in query) return { by: "change", direction: "asc" };
	return "occurredFrom" in query || "occurredBefore" in query ? { by: "sale", direction: "desc" } : undefined;
}

type MomentName = "recordedFrom" | "recordedBefore" | "occurredFrom" | "occurredBefore" | "changedFrom";

function parseRequest(
	query: Record<string, string>,
	findCursor: (text: string) => Cursor | undefined,
): Result<ConversionListRequest> {
	const fields = checkFields(CONVERSIONS_QUERY, query);
	if (!fields.ok) return fields;
	const { status, orderId, limit, cursor, occurredFrom, occurredBefore, changedFrom } = fields.value;
	if (changedFrom !== undefined && (occurredFrom !== undefined || occurredBefore !== undefined)) {
		return refuse(
			"invalid_field",
			"changedFrom cannot be combined with occurredFrom or occurredBefore, because a list has one order. Leave one of them out.",
			"changedFrom",
		);
	}
	const moment = (name: MomentName) => given(fields.value[name], (text) => parseMoment(name, text));
	return checkAll<ConversionListRequest>({
		status: given(status, parseStatus),
		orderId: given(orderId, parseKnownOrderId),
		fromMs: moment("recordedFrom"),
		beforeMs: moment("recordedBefore"),
		soldFromMs: moment("occurredFrom"),
		soldBeforeMs: moment("occurredBefore"),
		changedFromMs: moment("changedFrom"),
		limit: parseLimit(limit ?? String(DEFAULT_PAGE_ROWS)),
		after: given(cursor, (text) => {
			const found = findCursor(text);
			return found === undefined ? refusalOf("malformed_cursor", {}) : succeed(found);
		}),
	});
}

function given<Value>(
	text: string | undefined,
	parse: (text: string) => Result<Value>,
): Result<Value | undefined> {
	return text === undefined ? succeed(undefined) : parse(text);
}

function parseStatus(text: string): Result<Status> {
	const status = STATUSES.find((one) => one === text);
	if (status !== undefined) return succeed(status);
	return refuse("invalid_field", `status must be one of ${STATUSES.join(", ")}.`, "status");
}

function parseLimit(text: string): Result<number> {
	const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
	if (limit >= 1 && limit <= MAX_PAGE_ROWS) return succeed(limit);
	return refuse("invalid_field", `limit must be a whole number from 1 to ${MAX_PAGE_ROWS}.`, "limit");
}
