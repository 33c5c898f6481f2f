// The calls of the signed API: a shop's server reports sales, looks at them, decides about them by its own order id,
// and follows the events.

import type { DecisionOutcome } from "../../conversions/decide.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { ApiFaultCode } from "../../domain/fault.ts";
import type { JsonSchema, Operation, PathItem } from "../../openapi.ts";
import {
	ANSWERS_KEPT_BODY,
	CONVERSION_PAGE,
	type Listening,
	ONE_CONVERSION,
	outcomeAnswer,
} from "../answers.ts";
import { CONVERSIONS_QUERY } from "../get-conversions.ts";
import { EVENTS_QUERY } from "../get-events.ts";
import { SALE_BODY } from "../post-conversions.ts";
import { APPROVAL_BODY, REASONED_BODY } from "../post-decisions.ts";
import { ANSWERS_BODY, MAX_ANSWERS } from "../post-event-answers.ts";
import { EXAMPLE_CONVERSION_ID, EXAMPLE_ORDER_ID, EXAMPLE_PROGRAM_ID } from "../sale-fields.ts";
import { decideBatch, recordBatch } from "./batch-operations.ts";
import { exampleCallback, exampleConversion } from "./example-values.ts";
import { queryParameters, requestSchema } from "./json-schema.ts";
import { jsonAnswer, signedOperation } from "./operation.ts";
import type { Instance } from "./signing.ts";

const QUERY_CODES: readonly ApiFaultCode[] = ["invalid_field", "unknown_field", "malformed_cursor"];

export function signedPaths(instance: Instance): Record<string, PathItem> {
	return {
		"/v1/conversions": { post: recordConversion(instance), get: listConversions(instance) },
		"/v1/conversions/batch": { post: recordBatch(instance) },
		"/v1/conversions/{id}": { get: showConversion(instance) },
		...Object.fromEntries(DECISIONS.map((decision) => [decision.path, { post: decide(instance, decision) }])),
		"/v1/decisions/batch": { post: decideBatch(instance) },
		"/v1/events": { get: streamEvents(instance) },
		"/v1/events/answers": { post: tellAnswers(instance) },
	};
}

function recordConversion(instance: Instance): Operation {
	const sale = { orderId: EXAMPLE_ORDER_ID, basketValue: "129.90" };
	const conversion = exampleConversion("conversion.recorded");
	const everything = {
		...sale,
		eventType: "SALE",
		currency: "EUR",
		occurredAt: "2026-03-01T12:30:00+01:00",
		test: true,
	};
	return signedOperation(instance, {
		operationId: "recordConversion",
		summary: "Report a sale, or confirm what a pixel reported",
		description:
			"Records the conversion and announces it with `conversion.recorded`. If a browser's pixel reported the order before, and it is parked or not decided yet, it is confirmed with the amount and time sent here, and no event is sent: this answer says it. If the pixel's report has expired, the order is recorded as a new sale. If your server reported the order before, or it is decided, nothing changes and the existing conversion is answered. So the call may be repeated after a lost answer, signed anew.",
		tag: "Conversions",
		body: {
			description: "The sale.",
			schema: requestSchema(SALE_BODY, "A sale as the shop's server reports it."),
			examples: {
				sale: { summary: "A sale", value: sale },
				everything: { summary: "Every field", value: everything },
			},
		},
		responses: {
			"201": jsonAnswer("`RECORDED`: it is new.", outcomeAnswer(["RECORDED"], "It is new."), "recorded", {
				outcome: "RECORDED",
				conversion,
			}),
			"200": jsonAnswer(
				"`CONFIRMED`: a pixel had reported it; the amount and time sent here count now. `DUPLICATE`: it was there already, and nothing changed.",
				outcomeAnswer(["CONFIRMED", "DUPLICATE"], "Nothing new was recorded."),
				"duplicate",
				{ outcome: "DUPLICATE", conversion },
			),
		},
		codes: [
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
		],
		sampleTarget: "/v1/conversions",
	});
}

function listConversions(instance: Instance): Operation {
	return signedOperation(instance, {
		operationId: "listConversions",
		summary: "List conversions, the newest first",
		description:
			"A page at a time: send `nextCursor` back as `cursor`, with the same filters, until it is null; a page may hold fewer than `limit` before that. Conversions that come in meanwhile do not shift the pages. With `occurredFrom` or `occurredBefore` the list is in the order of the sales, otherwise in that of their recording.",
		tag: "Conversions",
		parameters: queryParameters(CONVERSIONS_QUERY),
		responses: {
			"200": jsonAnswer("The page.", CONVERSION_PAGE, "page", {
				conversions: [exampleConversion("conversion.recorded")],
				nextCursor: null,
			}),
		},
		codes: QUERY_CODES,
		sampleTarget: "/v1/conversions?status=RECORDED&limit=50",
	});
}

function showConversion(instance: Instance): Operation {
	return signedOperation(instance, {
		operationId: "showConversion",
		summary: "Show one conversion",
		description: "By our id of it. To look by order, list with `orderId`.",
		tag: "Conversions",
		parameters: [
			{
				name: "id",
				in: "path",
				required: true,
				description: "The conversion's id.",
				schema: { type: "string" },
				example: EXAMPLE_CONVERSION_ID,
			},
		],
		responses: {
			"200": jsonAnswer("The conversion.", ONE_CONVERSION, "shown", {
				conversion: exampleConversion("conversion.approved"),
			}),
		},
		codes: ["unknown_conversion"],
		sampleTarget: `/v1/conversions/${EXAMPLE_CONVERSION_ID}`,
	});
}

interface Decision {
	path: string;
	operationId: string;
	summary: string;
	description: string;
	event: EventName;
	outcome: DecisionOutcome;
	schema: JsonSchema;
	/** Sent with the example's order. */
	reason?: string;
}

const REASONED = REASONED_BODY.required({ reason: true });

const DECISIONS: readonly Decision[] = [
	{
		path: "/v1/approvals",
		operationId: "approveConversion",
		summary: "Approve a conversion",
		description:
			"For one that is `RECORDED`, before its approval window ends. Announced with `conversion.approved`.",
		event: "conversion.approved",
		outcome: "APPROVED",
		schema: requestSchema(APPROVAL_BODY, "Which order is approved."),
	},
	{
		path: "/v1/rejections",
		operationId: "rejectConversion",
		summary: "Reject a conversion",
		description: "For one that is `RECORDED`. Announced with `conversion.rejected`, and final.",
		event: "conversion.rejected",
		outcome: "REJECTED",
		schema: requestSchema(REASONED, "Which order is rejected, and why."),
		reason: "CANCELLED",
	},
	{
		path: "/v1/reversals",
		operationId: "reverseConversion",
		summary: "Report a reversal",
		description:
			"For one that is `RECORDED` or `APPROVED`: the goods came back, the payment failed. Announced with `conversion.reversed`, and final.",
		event: "conversion.reversed",
		outcome: "REVERSED",
		schema: requestSchema(REASONED, "Which order is reversed, and why."),
		reason: "RETURN",
	},
];

function decide(instance: Instance, decision: Decision): Operation {
	const { path, operationId, summary, description, event, outcome, schema, reason } = decision;
	const example = { orderId: EXAMPLE_ORDER_ID, ...(reason === undefined ? {} : { reason }) };
	return signedOperation(instance, {
		operationId,
		summary,
		description: `${description} Repeating it answers as before, changes nothing and sends nothing.`,
		tag: "Decisions",
		body: {
			description: "The order, and where one is needed the reason.",
			schema,
			examples: { order: { value: example } },
		},
		responses: {
			"200": jsonAnswer(
				`\`${outcome}\`: it is done, now or before.`,
				outcomeAnswer([outcome], "It is done, now or before."),
				outcome.toLowerCase(),
				{ outcome, conversion: exampleConversion(event) },
			),
		},
		codes: [
			"unknown_order",
			"move_not_allowed",
			"invalid_field",
			"unknown_field",
			"unknown_event_type",
			...(reason === undefined ? [] : (["missing_reason", "unknown_reason"] as const)),
		],
		sampleTarget: path,
	});
}

function streamEvents(instance: Instance): Operation {
	return signedOperation(instance, {
		operationId: "streamEvents",
		summary: "Follow the programme's events as they happen",
		description:
			"Server-sent events, whether or not a Postback URL is saved: what `ringback listen` reads. It changes nothing of what is delivered to the saved URL. The stream ends after a while, and when the service stops: come back with `after`, signed anew.",
		tag: "Events",
		parameters: queryParameters(EVENTS_QUERY),
		responses: {
			"200": {
				description:
					"First a message `listening` whose `data` says what is listened to (schema `Listening`); then a message for each event, with `event` (its name), `id` (a cursor for `after`), `data` (the body of its callback, schema `Event`) and, while a secret is active, `signed` (schema `SignedEvent`), with which it can be checked as a callback is. Lines that begin with a colon, and messages without `data`, only keep the connection and the cursor.",
				content: {
					"text/event-stream": {
						schema: { type: "string" },
						examples: { stream: { value: exampleStream() } },
					},
				},
			},
		},
		codes: [...QUERY_CODES, "too_many_streams"],
		sampleTarget: "/v1/events?test=true",
	});
}

function tellAnswers(instance: Instance): Operation {
	const answer = {
		conversionId: EXAMPLE_CONVERSION_ID,
		event: "conversion.recorded",
		outcome: "answered",
		status: 204,
		tookMs: 12,
	};
	return signedOperation(instance, {
		operationId: "tellAnswers",
		summary: "Tell what came of events on your machine",
		description: `What \`ringback listen\` sends while it forwards events, so that the Integration page shows it: up to ${MAX_ANSWERS} answers in a call. It changes nothing of what is delivered to a saved Postback URL.`,
		tag: "Events",
		body: {
			description: "The answers.",
			schema: requestSchema(ANSWERS_BODY, "What came of events."),
			examples: { answers: { value: { answers: [answer] } } },
		},
		responses: { "200": jsonAnswer("How many were kept.", ANSWERS_KEPT_BODY, "kept", { kept: 1 }) },
		codes: ["invalid_field", "unknown_field"],
		sampleTarget: "/v1/events/answers",
	});
}

function exampleStream(): string {
	const message = (event: string, id: string, data: string) =>
		`event: ${event}\nid: ${id}\ndata: ${data}\n\n`;
	const greeting: Listening = { programId: EXAMPLE_PROGRAM_ID, testOnly: false, hasPostbackUrl: true };
	return [
		message("listening", "q5mYV0Yb3O6kZyXo0l9kVYVn", JSON.stringify(greeting)),
		message("conversion.recorded", "p6N7Qb2ZrA2fPjX0p6N7Qb2Z", exampleCallback("conversion.recorded")),
	].join("");
}
