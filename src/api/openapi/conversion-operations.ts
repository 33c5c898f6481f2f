// The calls by which a shop's server reports sales and looks at them.

import type { Operation, PathItem } from "../../openapi.ts";
import { CONVERSIONS_QUERY } from "../get-conversions.ts";
import { SALE_BODY } from "../post-conversions.ts";
import { jsonAnswer, problemAnswers } from "./answers.ts";
import { EXAMPLE_CONVERSION_ID, EXAMPLE_ORDER_ID, exampleConversion } from "./example-values.ts";
import { type ApiProblemCode, BODY_CODES, CALLER_CODES, OWN_CODES } from "./problem-list.ts";
import { queryParameters, requestSchema } from "./request-schemas.ts";
import { CONVERSION_ID, outcomeSchema, schemaRef } from "./schemas.ts";
import { type Instance, SIGNED, sampleRequest } from "./signing.ts";

const TAG = ["Conversions"];

const SALE_CODES: readonly ApiProblemCode[] = [
	"invalid_field",
	"unknown_field",
	"amount_not_a_string",
	"malformed_amount",
	"negative_amount",
	"amount_too_precise",
	"amount_too_large",
	"unknown_currency",
	"wrong_currency",
	"unknown_event_type",
];

export function conversionPaths(instance: Instance): Record<string, PathItem> {
	return {
		"/v1/conversions": { post: recordConversion(instance), get: listConversions(instance) },
		"/v1/conversions/{id}": { get: showConversion(instance) },
	};
}

function recordConversion(instance: Instance): Operation {
	const sale = { orderId: EXAMPLE_ORDER_ID, basketValue: "129.90" };
	const codes = [...BODY_CODES, ...CALLER_CODES, ...SALE_CODES, ...OWN_CODES] as const;
	const conversion = exampleConversion("conversion.recorded");
	const answer = outcomeSchema(["CONFIRMED", "DUPLICATE"], "Nothing new was recorded.");
	return {
		operationId: "recordConversion",
		summary: "Report a sale, or confirm what a pixel reported",
		description:
			"Records the conversion and announces it with `conversion.recorded`. If a browser's pixel reported the order before, and it is parked or not decided yet, it is confirmed with the amount and time sent here, and no event is sent: this answer says it. If the pixel's report has expired, the order is recorded as a new sale. If your server reported the order before, or it is decided, nothing changes and the existing conversion is answered. So the call may be repeated after a lost answer, signed anew.",
		tags: TAG,
		security: SIGNED,
		requestBody: {
			required: true,
			description: "The sale.",
			content: {
				"application/json": {
					schema: requestSchema(SALE_BODY, "A sale as the shop's server reports it."),
					examples: {
						sale: { summary: "A sale", value: sale },
						everything: {
							summary: "Every field",
							value: {
								...sale,
								eventType: "SALE",
								currency: "EUR",
								occurredAt: "2026-03-01T12:30:00+01:00",
								test: true,
							},
						},
					},
				},
			},
		},
		responses: {
			"201": jsonAnswer("`RECORDED`: it is new.", outcomeSchema(["RECORDED"], "It is new."), {
				recorded: { outcome: "RECORDED", conversion },
			}),
			"200": jsonAnswer(
				"`CONFIRMED`: a pixel had reported it; the amount and time sent here count now. `DUPLICATE`: it was there already, and nothing changed.",
				answer,
				{ duplicate: { outcome: "DUPLICATE", conversion } },
			),
			...problemAnswers(instance, codes),
		},
		"x-codeSamples": sampleRequest(instance, "POST", "/v1/conversions", JSON.stringify(sale)),
	};
}

function listConversions(instance: Instance): Operation {
	const codes = [
		...CALLER_CODES,
		"invalid_field",
		"unknown_field",
		"malformed_cursor",
		...OWN_CODES,
	] as const;
	return {
		operationId: "listConversions",
		summary: "List conversions, the newest first",
		description:
			"A page at a time: send `nextCursor` back as `cursor`, with the same filters. Conversions that come in meanwhile do not shift the pages.",
		tags: TAG,
		security: SIGNED,
		parameters: queryParameters(CONVERSIONS_QUERY),
		responses: {
			"200": jsonAnswer("The page.", schemaRef("ConversionPage"), {
				page: { conversions: [exampleConversion("conversion.recorded")], nextCursor: null },
			}),
			...problemAnswers(instance, codes),
		},
		"x-codeSamples": sampleRequest(instance, "GET", "/v1/conversions?status=RECORDED&limit=50"),
	};
}

function showConversion(instance: Instance): Operation {
	return {
		operationId: "showConversion",
		summary: "Show one conversion",
		description: "By our id of it. To look by order, list with `orderId`.",
		tags: TAG,
		security: SIGNED,
		parameters: [
			{
				name: "id",
				in: "path",
				required: true,
				description: "The conversion's id.",
				schema: { type: "string" },
				example: CONVERSION_ID.examples?.[0],
			},
		],
		responses: {
			"200": jsonAnswer("The conversion.", schemaRef("OneConversion"), {
				shown: { conversion: exampleConversion("conversion.approved") },
			}),
			...problemAnswers(instance, [...CALLER_CODES, "unknown_conversion", ...OWN_CODES]),
		},
		"x-codeSamples": sampleRequest(instance, "GET", `/v1/conversions/${EXAMPLE_CONVERSION_ID}`),
	};
}
