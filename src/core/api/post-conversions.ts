// POST /v1/conversions, with which a shop's server reports a sale or confirms a pixel's report, alone and in batches.

import * as z from "zod";
import {
	CLICK_ID,
	COUPON_CODE,
	COUPON_CODES,
	CREDIT,
	mentionedCodes,
	openerOf,
	parseCouponCodes,
} from "#modules/partners/api/sale-signals.ts";
import { type ClickSealer, createClickSealer } from "#modules/partners/domain/click-token.ts";
import type { InTransaction } from "../conversions/deps.ts";
import { reportRequest } from "../conversions/record.ts";
import type { Report } from "../conversions/report.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { DIFFERS, outcomeAnswer } from "./answers.ts";
import type { AppDeps } from "./deps.ts";
import { exampleConversion } from "./openapi/examples.ts";
import { ABOUT_ITEMS, batch, type Parse, single } from "./order-call.ts";
import { checkFields } from "./read-request.ts";
import { answer } from "./route.ts";
import { OCCURRED_AT, parseOccurredAt, parseSale, SALE, TEST } from "./sale-fields.ts";
import type { SignedCall } from "./signed-call.ts";

const SALE_BODY = z.strictObject({
	...SALE,
	occurredAt: OCCURRED_AT.optional(),
	test: TEST.default(false),
	clickId: CLICK_ID.optional(),
	couponCode: COUPON_CODE.optional(),
	couponCodes: COUPON_CODES.optional(),
});

const RECORDED = { outcome: "RECORDED", conversion: exampleConversion("conversion.recorded") } as const;
const { orderId, basketValue } = RECORDED.conversion;

export const RECORD_CONVERSION = single({
	path: "/v1/conversions",
	tag: "Conversions",
	operationId: "recordConversion",
	summary: "Report a sale, or confirm a pixel's report",
	description:
		"Records the conversion and announces it with `conversion.recorded`. If a browser's pixel reported the order before, and its conversion is parked or not decided yet, the conversion is confirmed with the amount and time sent here. No event is sent for that, because this answer says it. If the pixel's report has expired, or was rejected or reversed, the order is recorded as a new sale. If your server reported the order before, or if it was approved, nothing changes and the answer has the existing conversion. Only a better `clickId` or coupon code still counts until the conversion is decided. So the call may be repeated after a lost answer, signed again.",
	body: SALE_BODY,
	answers: {
		201: answer(
			"`RECORDED`: the conversion is new.",
			outcomeAnswer(["RECORDED"], "The conversion is new.").extend(CREDIT),
			RECORDED,
		),
		200: answer(
			"`CONFIRMED`: a pixel had reported the order, and the amount and time sent here count now. `DUPLICATE`: the conversion existed, and its amount and time did not change. `differs` names the fields in which the request differs.",
			outcomeAnswer(["CONFIRMED", "DUPLICATE"], "Nothing new was recorded.").extend({
				...DIFFERS,
				...CREDIT,
			}),
			{ ...RECORDED, outcome: "DUPLICATE" },
		),
	},
	faults: ["fields", "sale", "coupon codes", "archived", "event type"],
	parser: saleParser,
	codesOf: mentionedCodes,
});

export const RECORD_CONVERSIONS = batch({
	path: "/v1/conversions/batch",
	tag: "Conversions",
	operationId: "recordConversions",
	summary: "Report many sales in one call",
	description: `Each item has the fields of \`POST /v1/conversions\` and the same effect. ${ABOUT_ITEMS}`,
	item: SALE_BODY,
	sampleItem: { orderId, basketValue },
	result: RECORDED,
	parser: saleParser,
});

function saleParser(deps: InTransaction & Pick<AppDeps, "keyRing">): Parse {
	const sealer = createClickSealer(deps.keyRing);
	return (json, call) => {
		const report = parseReport(json, call, sealer);
		return report.ok ? succeed(reportRequest(deps, call.programme, report.value)) : report;
	};
}

function parseReport(json: unknown, { programme, nowMs }: SignedCall, sealer: ClickSealer): Result<Report> {
	const fields = checkFields(SALE_BODY, json);
	if (!fields.ok) return fields;
	const { occurredAt, test: isTest } = fields.value;
	const sale = parseSale(programme, fields.value);
	if (!sale.ok) return sale;
	const occurredAtMs = occurredAt === undefined ? succeed(null) : parseOccurredAt(occurredAt, nowMs);
	if (!occurredAtMs.ok) return occurredAtMs;
	const couponCodes = parseCouponCodes(fields.value);
	if (!couponCodes.ok) return couponCodes;
	return succeed({
		source: "postback",
		...sale.value,
		occurredAtMs: occurredAtMs.value,
		isTest,
		openClicks: openerOf(fields.value.clickId, sealer),
		couponCodes: couponCodes.value,
	});
}
