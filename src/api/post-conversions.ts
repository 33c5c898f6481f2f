// POST /v1/conversions: the shop's server reports a sale, or confirms what a pixel reported.

import * as z from "zod";
import type { Report } from "../conversions/record.ts";
import { recordConversion } from "../conversions/record.ts";
import { parseEventType } from "../domain/conversion.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { parseOrderId } from "../domain/order-id.ts";
import type { Programme } from "../store/programmes.ts";
import { decidedAnswer } from "./answers.ts";
import { checkFields, parseJson } from "./fields.ts";
import { mentionedOrderId } from "./mentioned-order.ts";
import { parseBasket, parseOccurredAt } from "./sale-fields.ts";
import type { Endpoint } from "./signed-call.ts";
import { BASKET_VALUE, CURRENCY, EVENT_TYPE, OCCURRED_AT, ORDER_ID, TEST } from "./wire-fields.ts";

export const SALE_BODY = z.strictObject({
	orderId: ORDER_ID,
	eventType: EVENT_TYPE.default("SALE"),
	basketValue: BASKET_VALUE,
	currency: CURRENCY.optional(),
	occurredAt: OCCURRED_AT.optional(),
	test: TEST.default(false),
});

export const postConversions: Endpoint = async (trx, deps, call) => {
	const json = parseJson(call);
	if (!json.ok) return { result: json, orderId: null };
	const orderId = mentionedOrderId(json.value);
	const report = parseReport(json.value, call.programme, deps.clock.nowMs());
	if (!report.ok) return { result: report, orderId };
	const recorded = await recordConversion(trx, deps, call.programme, report.value);
	if (!recorded.ok) return { result: recorded, orderId };
	return { result: succeed(decidedAnswer(recorded.value, call.programme)), orderId };
};

function parseReport(json: unknown, programme: Programme, nowMs: number): Result<Report> {
	const fields = checkFields(SALE_BODY, json);
	if (!fields.ok) return fields;
	const { currency, occurredAt, test: isTest } = fields.value;
	const orderId = parseOrderId(fields.value.orderId);
	if (!orderId.ok) return orderId;
	const eventType = parseEventType(fields.value.eventType);
	if (!eventType.ok) return eventType;
	const basketValue = parseBasket(programme, fields.value.basketValue, currency);
	if (!basketValue.ok) return basketValue;
	const occurredAtMs = occurredAt === undefined ? succeed(null) : parseOccurredAt(occurredAt, nowMs);
	if (!occurredAtMs.ok) return occurredAtMs;
	return succeed({
		source: "postback",
		orderId: orderId.value,
		eventType: eventType.value,
		basketValue: basketValue.value,
		occurredAtMs: occurredAtMs.value,
		isTest,
	});
}
