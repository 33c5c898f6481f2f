// POST /v1/conversions: the shop's server reports a sale, or confirms what a pixel reported.

import * as z from "zod";
import { type Report, reportRequest } from "../conversions/record.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { postEndpoint, type SignedCall } from "./endpoint.ts";
import { checkFields } from "./read-request.ts";
import { OCCURRED_AT, parseOccurredAt, parseSale, SALE, TEST } from "./sale-fields.ts";

export const SALE_BODY = z.strictObject({
	...SALE,
	occurredAt: OCCURRED_AT.optional(),
	test: TEST.default(false),
});

export const postConversions = postEndpoint(parseReport, reportRequest);

export function parseReport(json: unknown, { programme, nowMs }: SignedCall): Result<Report> {
	const fields = checkFields(SALE_BODY, json);
	if (!fields.ok) return fields;
	const { occurredAt, test: isTest } = fields.value;
	const sale = parseSale(programme, fields.value);
	if (!sale.ok) return sale;
	const occurredAtMs = occurredAt === undefined ? succeed(null) : parseOccurredAt(occurredAt, nowMs);
	if (!occurredAtMs.ok) return occurredAtMs;
	return succeed({ source: "postback", ...sale.value, occurredAtMs: occurredAtMs.value, isTest });
}
