// The callbacks to partners in the OpenAPI document, in both forms: POST with a JSON body, and GET with macros.

import * as z from "zod";
import { AMOUNT, UTC_TIME } from "#core/api/answer-fields.ts";
import { CALLBACK_FIELDS } from "#core/api/conversion-fields.ts";
import { exampleConversion, exampleSentAtMs } from "#core/api/openapi/examples.ts";
import { jsonSchema } from "#core/api/openapi/json-schema.ts";
import type { ApiTag, Operation } from "#core/api/openapi/specification.ts";
import {
	type DescribedWebhook,
	EXAMPLE_PATH,
	type ExampleRequest,
	headerParameters,
	receiverAnswers,
} from "#core/api/openapi/webhooks.ts";
import { REASONS } from "#core/domain/conversion.ts";
import { EVENT_NAMES, type EventName } from "#core/domain/event-name.ts";
import { fillMacros } from "#core/domain/macro-url.ts";
import {
	composePartnerEvent,
	PARTNER_FIELDS,
	partnerBodySentAt,
	REASSIGNED,
	readPartnerEvent,
} from "#core/domain/partner-event.ts";
import { CREDIT_WORDS } from "../domain/credit.ts";
import { EXAMPLE_PARTNER_ID, PARTNER_ID } from "./partner-id.ts";

export const PARTNER_CALLBACK_TAG: ApiTag = {
	name: "Partner callbacks",
	description:
		"The service sends a callback to a partner's URL for each status change of a sale that is credited to the partner.",
};

const { event, conversionId, programId, status, eventType, currency, test, occurredAt, sentAt } =
	CALLBACK_FIELDS;

function subId(example: string | null) {
	return z
		.string()
		.nullable()
		.meta({ description: "A sub ID of the click, or null.", examples: [example] });
}

const PARTNER_CALLBACK = z
	.strictObject({
		event,
		conversionId,
		programId,
		partnerId: PARTNER_ID.describe("The partner to which the sale is credited."),
		linkId: z
			.string()
			.nullable()
			.meta({ description: "The code of the link, or null without a click.", examples: ["summer"] }),
		status,
		eventType,
		basketValue: AMOUNT.nullable().describe("Null unless the programme shows basket values."),
		commission: AMOUNT.describe("The partner's commission."),
		currency,
		reason: z
			.enum([...REASONS, REASSIGNED])
			.nullable()
			.describe(
				`Set for rejections and reversals only. \`${REASSIGNED}\`: the sale is credited to somebody else now, and nothing more follows about it.`,
			),
		creditedBy: z.enum(CREDIT_WORDS).describe("Why the sale is credited to the partner."),
		sub1: subId("newsletter"),
		sub2: subId(null),
		sub3: subId(null),
		test,
		clickedAt: UTC_TIME.nullable().describe("The time of the click, or null without a click."),
		occurredAt,
		sentAt,
	})
	.meta({
		id: "PartnerCallback",
		description: "The fields of every callback to a partner. It never has an order ID or a customer.",
	});

export const PARTNER_WEBHOOK: DescribedWebhook = {
	name: "partnerCallback",
	bodies: [PARTNER_CALLBACK],
	describe: ({ brand }) => ({ post: jsonCallback(brand), get: macroCallback(brand) }),
};

const SHARED_RULES =
	"The partner chooses the events. A callback can arrive more than once, and two events of one sale can arrive in any order, so deduplicate on `conversionId` and `event`.";

function jsonCallback(brand: string): Operation {
	const [first] = EVENT_NAMES;
	const example: ExampleRequest = {
		event: first,
		method: "POST",
		target: EXAMPLE_PATH,
		body: exampleBody(first),
	};
	const examples = Object.fromEntries(
		EVENT_NAMES.map((event) => [event.split(".").at(-1), { value: JSON.parse(exampleBody(event)) }]),
	);
	return {
		operationId: "partnerCallback",
		summary: "A sale of a partner changed its status (JSON)",
		description: `Sent to the partner's URL for each status change of a sale that is credited to the partner. ${SHARED_RULES} Nothing is sent about a part of an order that is refunded; the next event has the commission that is left.`,
		tags: [PARTNER_CALLBACK_TAG.name],
		// Callbacks carry no credentials of the partner. Their signature is described as headers.
		security: [],
		parameters: headerParameters(brand, EVENT_NAMES, example),
		requestBody: {
			required: true,
			description:
				"The signature covers these bytes as they were received. A body that was parsed and serialised again has other bytes.",
			content: { "application/json": { schema: jsonSchema(PARTNER_CALLBACK), examples } },
		},
		responses: receiverAnswers("partner"),
	};
}

/** A URL as a partner may enter it for a tracker. */
const EXAMPLE_MACRO_TARGET = `${EXAMPLE_PATH}?cid={sub1}&payout={commission}&status={status}`;

function macroCallback(brand: string): Operation {
	const [first] = EVENT_NAMES;
	const values = readPartnerEvent(first, composeExample(first), exampleSentAtMs(first));
	const target = fillMacros(EXAMPLE_MACRO_TARGET, values);
	const macros = PARTNER_FIELDS.map((field) => `\`{${field}}\``).join(", ");
	return {
		operationId: "partnerCallbackByGet",
		summary: "A sale of a partner changed its status (GET, for trackers)",
		description: `Sent instead of the JSON form if the partner has chosen GET. The partner's URL has macros in its query, such as \`${EXAMPLE_MACRO_TARGET}\`, and each is replaced with the value of the field, percent-encoded: \`${target}\`. A value that the sale does not have is empty. The macros are ${macros}. Another macro, and a macro in the host or the path, is refused when the URL is saved. Without \`{test}\`, test conversions are not sent, because a tracker would count them. ${SHARED_RULES}`,
		tags: [PARTNER_CALLBACK_TAG.name],
		security: [],
		parameters: headerParameters(brand, EVENT_NAMES, { event: first, method: "GET", target, body: "" }),
		responses: receiverAnswers("partner"),
	};
}

/** Returns the body of a callback, made by the same code that makes the real ones. */
function exampleBody(event: EventName): string {
	return partnerBodySentAt(event, composeExample(event), exampleSentAtMs(event));
}

/** Time between the click and the sale of the example order. */
const EXAMPLE_VISIT_MS = 20 * 60_000;

function composeExample(event: EventName): string {
	const { id, occurredAt, ...fields } = exampleConversion(event);
	const occurredAtMs = Date.parse(occurredAt);
	return composePartnerEvent({
		...fields,
		conversionId: id,
		partnerId: EXAMPLE_PARTNER_ID,
		linkId: "summer",
		basketValue: null,
		creditedBy: "CLICK",
		subIds: ["newsletter", "", ""],
		clickedAtMs: occurredAtMs - EXAMPLE_VISIT_MS,
		occurredAtMs,
	});
}
