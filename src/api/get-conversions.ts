// GET /v1/conversions and GET /v1/conversions/{id}: the shop looks, a page at a time, the newest first.

import * as z from "zod";
import { STATUSES, type Status } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { parseOrderId } from "../domain/order-id.ts";
import { type ConversionFilter, findByPublicId, listConversions } from "../store/conversions.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import { type Answer, conversionBody } from "./answers.ts";
import { checkFields, parseQuery } from "./fields.ts";
import { mentionedOrderId } from "./mentioned-order.ts";
import type { Endpoint } from "./signed-call.ts";
import { ORDER_ID } from "./wire-fields.ts";

const DEFAULT_PAGE_ROWS = 50;
/** About 100 KB of JSON: a page that a shop's server reads in one piece. */
const MAX_PAGE_ROWS = 200;

/** Ours are shorter. Others are not looked for: a database may choke on what a stranger puts in a path. */
const PUBLIC_ID = /^[0-9A-Za-z_]{1,64}$/;

export const CONVERSIONS_QUERY = z.strictObject({
	status: z
		.string()
		.meta({ enum: STATUSES, description: "Only those that have this status now.", examples: ["RECORDED"] })
		.optional(),
	orderId: ORDER_ID.optional(),
	limit: z
		.string()
		.meta({
			type: "integer",
			minimum: 1,
			maximum: MAX_PAGE_ROWS,
			default: DEFAULT_PAGE_ROWS,
			description: "How many to a page.",
			examples: [DEFAULT_PAGE_ROWS],
		})
		.optional(),
	cursor: z
		.string()
		.meta({
			description: "`nextCursor` of the page before, as it is; left out for the newest page.",
			examples: ["cnv_01KJ9XMZ00ABCDEFGHJKMNPQRS"],
		})
		.optional(),
});

export const getConversions: Endpoint = async (trx, _deps, { programme, query }) => {
	const names = parseQuery(query);
	if (!names.ok) return { result: names, orderId: null };
	const orderId = mentionedOrderId(names.value);
	const filter = await parseFilter(trx, programme, names.value);
	if (!filter.ok) return { result: filter, orderId };
	return { result: succeed(await readPage(trx, programme, filter.value)), orderId };
};

export const getConversion: Endpoint = async (trx, _deps, { programme, id }) => {
	const conversion = PUBLIC_ID.test(id) ? await findByPublicId(trx, programme.id, id) : undefined;
	if (conversion === undefined) {
		const result = refuse(
			"unknown_conversion",
			"This programme has no conversion with that id. Ids start with cnv_; to look by order, use GET /v1/conversions?orderId=…",
		);
		return { result, orderId: null };
	}
	const body = { conversion: conversionBody(conversion, programme) };
	return {
		result: succeed({
			outcome: "SHOWN",
			httpStatus: 200,
			body,
			conversionId: conversion.id,
			owedProgrammeIds: [],
		}),
		orderId: conversion.order_id,
	};
};

async function parseFilter(
	trx: Db,
	programme: Programme,
	query: Record<string, string>,
): Promise<Result<ConversionFilter>> {
	const fields = checkFields(CONVERSIONS_QUERY, query);
	if (!fields.ok) return fields;
	const { status, orderId, limit, cursor } = fields.value;
	const parsedStatus = status === undefined ? succeed(undefined) : parseStatus(status);
	if (!parsedStatus.ok) return parsedStatus;
	const parsedOrderId = orderId === undefined ? succeed(undefined) : parseOrderId(orderId);
	if (!parsedOrderId.ok) return parsedOrderId;
	const parsedLimit = limit === undefined ? succeed(DEFAULT_PAGE_ROWS) : parseLimit(limit);
	if (!parsedLimit.ok) return parsedLimit;
	const beforeId = cursor === undefined ? succeed(undefined) : await parseCursor(trx, programme, cursor);
	if (!beforeId.ok) return beforeId;
	return succeed({
		programmeId: programme.id,
		status: parsedStatus.value,
		orderId: parsedOrderId.value,
		beforeId: beforeId.value,
		limit: parsedLimit.value,
	});
}

/** One row more than the page is read: it tells whether there is a next page. */
async function readPage(trx: Db, programme: Programme, filter: ConversionFilter): Promise<Answer> {
	const rows = await listConversions(trx, { ...filter, limit: filter.limit + 1 });
	const page = rows.slice(0, filter.limit);
	const nextCursor = rows.length > page.length ? (page.at(-1)?.public_id ?? null) : null;
	const conversions = page.map((conversion) => conversionBody(conversion, programme));
	return {
		outcome: "LISTED",
		httpStatus: 200,
		body: { conversions, nextCursor },
		conversionId: null,
		owedProgrammeIds: [],
	};
}

function parseStatus(text: string): Result<Status> {
	const status = STATUSES.find((known) => known === text);
	if (status !== undefined) return succeed(status);
	return refuse("invalid_field", `status must be one of ${STATUSES.join(", ")}.`, "status");
}

function parseLimit(text: string): Result<number> {
	const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
	if (limit >= 1 && limit <= MAX_PAGE_ROWS) return succeed(limit);
	return refuse("invalid_field", `limit must be a whole number from 1 to ${MAX_PAGE_ROWS}.`, "limit");
}

/** A cursor is the public id of the page's last row: row numbers would tell a shop how many others sell. */
async function parseCursor(trx: Db, programme: Programme, cursor: string): Promise<Result<number>> {
	const last = PUBLIC_ID.test(cursor) ? await findByPublicId(trx, programme.id, cursor) : undefined;
	if (last !== undefined) return succeed(last.id);
	return refuse(
		"malformed_cursor",
		"This cursor is not one of ours, or its conversion was removed since. Take nextCursor from the page before, as it is, or leave it out to start again.",
		"cursor",
	);
}
