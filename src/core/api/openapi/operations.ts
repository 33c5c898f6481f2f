// The operations of the API in the OpenAPI document. `signedCalls` describes each signed call. The properties
// that all signed calls share (security, refusals, an example request) are added to each of them. The schemas
// are the ones with which the handlers check requests, and from which the types of their answers are derived.

import type * as z from "zod";
import { EVENTS_QUERY } from "#modules/feeds/api/get-events.ts";
import { ANSWERS_BODY, MAX_ANSWERS } from "#modules/feeds/api/post-event-answers.ts";
import { CREDIT } from "#modules/partners/api/sale-signals.ts";
import { REFUNDED } from "#modules/refunds/api/refund-fields.ts";
import { REFUND_BODY } from "#modules/refunds/api/refund-request.ts";
import type { RefundOutcome } from "#modules/refunds/use-cases/refund.ts";
import type { DecisionOutcome } from "../../conversions/decide.ts";
import { basketSentence } from "../../domain/basket-rule.ts";
import type { EventName } from "../../domain/event-name.ts";
import {
	type ApiFaultCode,
	codesOf,
	exampleFault,
	explainFault,
	type FaultKind,
	problemBody,
} from "../../domain/fault.ts";
import {
	ALIVE,
	ANSWERS_KEPT_BODY,
	BATCH_BODY,
	CONVERSION_PAGE,
	DIFFERS,
	type Listening,
	ONE_CONVERSION,
	ONE_PROGRAMME,
	outcomeAnswer,
	READY,
} from "../answers.ts";
import { CONVERSIONS_QUERY } from "../get-conversions.ts";
import { PIXEL_QUERY } from "../pixel.ts";
import { batchBody, DECISION_ITEM, MAX_BATCH_BYTES, MAX_ITEMS, SALE_BODY } from "../post-conversions.ts";
import {
	APPROVAL_BODY,
	EXAMPLE_CONVERSION_ID,
	EXAMPLE_ORDER_ID,
	EXAMPLE_PROGRAM_ID,
	REASONED_BODY,
} from "../sale-fields.ts";
import {
	EXAMPLE_REFUND,
	exampleCallback,
	exampleConversion,
	exampleRefunded,
	type Instance,
	SIGNED,
	sampleRequest,
	UNSIGNED,
} from "./examples.ts";
import { jsonSchema } from "./json-schema.ts";
import type {
	ApiResponse,
	HttpMethod,
	JsonSchema,
	MediaType,
	Operation,
	Parameter,
	PathItem,
} from "./specification.ts";

interface SignedCall extends Pick<Operation, "operationId" | "summary" | "description" | "responses"> {
	tag: string;
	query?: z.ZodObject;
	parameters?: readonly Parameter[];
	/** Schema of a POST's body, and the body of the example request. */
	body?: { schema: z.ZodObject; sample: object };
	/** Kinds of faults that this call can be refused with, in addition to those of every signed call. */
	faults: readonly Exclude<FaultKind, "inbound log">[];
	/** Target of the example request. The default is the path of the operation. */
	sampleTarget?: string;
}

const SALE = { orderId: EXAMPLE_ORDER_ID, basketValue: "129.90" };

const IF_REPEATED = "If it is repeated, the answer is the same, nothing changes and nothing is sent.";
const ABOUT_ITEMS = `A call may have up to ${MAX_ITEMS} items, in a body of at most ${MAX_BATCH_BYTES / 1_024} KiB. They are handled in their order, also if several are about one order, and \`results\` has the outcome or the problem of each at the same place. A problem with one item does not affect the others. After a lost answer the call may be repeated, signed again. Nothing is done twice.`;

/** Returns the signed calls by method and path. */
function signedCalls(): Readonly<Record<`${HttpMethod} /v1/${string}`, SignedCall>> {
	const recorded = exampleConversion("conversion.recorded");
	const approved = exampleConversion("conversion.approved");
	return {
		"post /v1/conversions": {
			operationId: "recordConversion",
			summary: "Report a sale, or confirm a pixel's report",
			description:
				"Records the conversion and announces it with `conversion.recorded`. If a browser's pixel reported the order before, and its conversion is parked or not decided yet, the conversion is confirmed with the amount and time sent here. No event is sent for that, because this answer says it. If the pixel's report has expired, or was rejected or reversed, the order is recorded as a new sale. If your server reported the order before, or if it was approved, nothing changes and the answer has the existing conversion. Only a better `clickId` or coupon code still counts until the conversion is decided. So the call may be repeated after a lost answer, signed again.",
			tag: "Conversions",
			body: { schema: SALE_BODY, sample: SALE },
			responses: {
				"201": jsonAnswer(
					"`RECORDED`: the conversion is new.",
					outcomeAnswer(["RECORDED"], "The conversion is new.").extend(CREDIT),
					{
						outcome: "RECORDED",
						conversion: recorded,
					},
				),
				"200": jsonAnswer(
					"`CONFIRMED`: a pixel had reported the order, and the amount and time sent here count now. `DUPLICATE`: the conversion existed, and its amount and time did not change. `differs` names the fields in which the request differs.",
					outcomeAnswer(["CONFIRMED", "DUPLICATE"], "Nothing new was recorded.").extend({
						...DIFFERS,
						...CREDIT,
					}),
					{ outcome: "DUPLICATE", conversion: recorded },
				),
			},
			faults: ["fields", "sale", "coupon codes", "archived", "event type"],
		},
		"get /v1/conversions": {
			operationId: "listConversions",
			summary: "List conversions, the newest first",
			description:
				"Answers one page. Send `nextCursor` back as `cursor`, with the same filters, until it is null. A page may have fewer conversions than `limit` before that. Conversions that are recorded meanwhile do not shift the pages. With `occurredFrom` or `occurredBefore` the list is in the order of the sales, otherwise in the order in which they were recorded.",
			tag: "Conversions",
			query: CONVERSIONS_QUERY,
			responses: ok("The page.", CONVERSION_PAGE, { conversions: [recorded], nextCursor: null }),
			faults: ["fields", "cursor"],
			sampleTarget: "/v1/conversions?status=RECORDED&limit=50",
		},
		"post /v1/conversions/batch": {
			operationId: "recordConversions",
			summary: "Report many sales in one call",
			description: `Each item has the fields of \`POST /v1/conversions\` and the same effect. ${ABOUT_ITEMS}`,
			tag: "Conversions",
			body: { schema: batchBody(SALE_BODY), sample: { items: [SALE] } },
			responses: ok("The result of each item.", BATCH_BODY, {
				results: [{ outcome: "RECORDED", conversion: recorded }],
			}),
			faults: ["fields"],
		},
		"get /v1/conversions/{id}": {
			operationId: "showConversion",
			summary: "Show one conversion",
			description:
				"Finds the conversion by our ID, with its refunds. To find it by your order ID, list with `orderId`.",
			tag: "Conversions",
			parameters: [pathParameter("id", "The conversion's ID.", EXAMPLE_CONVERSION_ID)],
			responses: ok("The conversion.", ONE_CONVERSION, { conversion: approved, refunds: [] }),
			faults: ["one conversion"],
			sampleTarget: `/v1/conversions/${EXAMPLE_CONVERSION_ID}`,
		},
		"get /v1/programme": {
			operationId: "showOwnProgramme",
			summary: "Show the terms of the programme",
			description:
				"Shows the terms of the API key's programme that a shop's code depends on: the currency, what `basketValue` contains, the approval window, and for how long a click counts. Owners and staff can change them, so read them again from time to time.",
			tag: "Programme",
			responses: ok("The programme.", ONE_PROGRAMME, {
				programme: {
					id: EXAMPLE_PROGRAM_ID,
					name: "Garden Shop",
					currency: "EUR",
					basketRule: "GOODS_NET",
					basketRuleText: basketSentence("GOODS_NET"),
					approvalDays: 30,
					creditsPartners: true,
					clickParameter: "rbclick",
					clickDays: 30,
				},
			}),
			faults: [],
		},
		"post /v1/approvals": decisionCall({
			operationId: "approveConversion",
			summary: "Approve a conversion",
			description:
				"Approves a `RECORDED` conversion before its approval window ends, and announces it with `conversion.approved`. A key that may only report can approve test conversions only.",
			event: "conversion.approved",
			outcome: "APPROVED",
		}),
		"post /v1/rejections": decisionCall({
			operationId: "rejectConversion",
			summary: "Reject a conversion",
			description:
				"Rejects a `RECORDED` conversion, and announces it with `conversion.rejected`. A rejection is final. A key that may only report can reject test conversions only.",
			event: "conversion.rejected",
			outcome: "REJECTED",
		}),
		"post /v1/reversals": decisionCall({
			operationId: "reverseConversion",
			summary: "Report a reversal",
			description:
				"Reverses a `RECORDED` or `APPROVED` conversion, for example because the goods were returned or the payment failed, and announces it with `conversion.reversed`. A reversal is final.",
			event: "conversion.reversed",
			outcome: "REVERSED",
		}),
		"post /v1/refunds": {
			operationId: "refundConversion",
			summary: "Report a refund of a part of an order",
			description:
				"Lowers the value of a `RECORDED` or `APPROVED` conversion. Partner and rates stay, and commission and fee are computed again from the value that is left. The answer has the new amounts. No event announces them, because the events of a conversion are `recorded`, `approved`, `rejected` and `reversed`. If the conversion is approved later, `conversion.approved` has the new amounts. A refund of everything that is left is a reversal, which `conversion.reversed` announces. The same `refundId` with the same value is the same refund: nothing changes and the answer has the present conversion, also if it was reversed since. Every key may report refunds.",
			tag: "Decisions",
			body: {
				schema: REFUND_BODY.required({ reason: true }),
				sample: { orderId: EXAMPLE_ORDER_ID, refundId: "R-1", amount: "30.00", reason: "RETURN" },
			},
			responses: ok(
				"`REFUNDED`: a part was refunded, now or before. `REVERSED`: the refund left nothing, so the conversion is reversed.",
				outcomeAnswer(
					["REFUNDED", "REVERSED"],
					"The refund was stored now, or had been stored before.",
				).extend(REFUNDED),
				{ outcome: "REFUNDED", conversion: exampleRefunded(), refund: EXAMPLE_REFUND },
			),
			faults: ["decision", "fields", "sale", "event type", "reason", "refund"],
		},
		"post /v1/decisions/batch": {
			operationId: "decideConversions",
			summary: "Decide about many conversions in one call",
			description: `Each item has a decision, its order and, except for an approval, the reason. A refund also has a \`refundId\` and its amount. ${ABOUT_ITEMS} If a repeated call has several decisions about one order, the earlier ones are refused with \`move_not_allowed\`. With a key that may only report, approvals and rejections of real conversions are refused with \`key_may_not_decide\`.`,
			tag: "Decisions",
			body: {
				schema: batchBody(DECISION_ITEM),
				sample: { items: [{ decision: "approve", orderId: EXAMPLE_ORDER_ID }] },
			},
			responses: ok("The result of each item.", BATCH_BODY, {
				results: [{ outcome: "APPROVED", conversion: approved }],
			}),
			faults: ["fields"],
		},
		"get /v1/events": {
			operationId: "streamEvents",
			summary: "Follow the programme's events as they happen",
			description:
				"Answers server-sent events, whether or not a Postback URL is saved. `ringback listen` reads this stream. It does not affect the callbacks to the saved URL. The stream ends after a while, when the key ends, and when the service stops. Then request it again with `after`, signed again.",
			tag: "Events",
			query: EVENTS_QUERY,
			responses: {
				"200": {
					description:
						"The first message is `listening`, and its `data` describes the stream (schema `Listening`). Then comes a message for each event, with `event` (its name), `id` (a cursor for `after`), `data` (the body of its callback, schema `Event`) and, while a secret is active, `signed` (schema `SignedEvent`), with which the event can be verified like a callback. Lines that begin with a colon, and messages without `data`, only keep the connection open and the cursor up to date.",
					content: { "text/event-stream": media({ type: "string" }, exampleStream()) },
				},
			},
			faults: ["fields", "cursor", "archived", "stream"],
			sampleTarget: "/v1/events?test=true",
		},
		"post /v1/events/answers": {
			operationId: "tellAnswers",
			summary: "Report the results of events on your machine",
			description: `\`ringback listen\` sends these answers while it forwards events, so that the Integration page can show them. A call may have up to ${MAX_ANSWERS} answers. It does not affect the callbacks to a saved Postback URL.`,
			tag: "Events",
			body: { schema: ANSWERS_BODY, sample: { answers: [EXAMPLE_ANSWER] } },
			responses: ok("The number of stored answers.", ANSWERS_KEPT_BODY, { kept: 1 }),
			faults: ["fields"],
		},
	};
}

const EXAMPLE_ANSWER = {
	conversionId: EXAMPLE_CONVERSION_ID,
	event: "conversion.recorded",
	outcome: "answered",
	status: 204,
	tookMs: 12,
};

interface DecisionWords extends Pick<SignedCall, "operationId" | "summary" | "description"> {
	event: EventName;
	outcome: DecisionOutcome | RefundOutcome;
}

function decisionCall({ event, outcome, description, ...names }: DecisionWords): SignedCall {
	const conversion = exampleConversion(event);
	const { orderId, reason } = conversion;
	const done = "The decision was made now, or had been made before.";
	return {
		...names,
		description: `${description} ${IF_REPEATED}`,
		tag: "Decisions",
		body:
			reason === null
				? { schema: APPROVAL_BODY, sample: { orderId } }
				: { schema: REASONED_BODY.required({ reason: true }), sample: { orderId, reason } },
		responses: ok(
			`\`${outcome}\`: the decision was made now, or had been made before.`,
			outcomeAnswer([outcome], done),
			{
				outcome,
				conversion,
			},
		),
		faults: [
			...(outcome === "REVERSED" ? [] : (["key's right"] as const)),
			...(["decision", "fields", "event type"] as const),
			...(reason === null ? [] : (["reason"] as const)),
		],
	};
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

export function describePaths(instance: Instance): Record<string, PathItem> {
	const paths: Record<string, PathItem> = {};
	for (const [name, call] of Object.entries(signedCalls())) {
		const [method, path] = name.split(" ") as [HttpMethod, string];
		paths[path] = { ...paths[path], [method]: signedOperation(instance, method, path, call) };
	}
	return { ...paths, ...unsignedPaths(instance) };
}

function signedOperation(instance: Instance, method: HttpMethod, path: string, call: SignedCall): Operation {
	const { tag, query, body, faults, sampleTarget = path, responses, ...own } = call;
	const codes = codesOf(...(body === undefined ? [] : (["body"] as const)), "caller", ...faults, "own");
	const parameters = [...(own.parameters ?? []), ...(query === undefined ? [] : queryParameters(query))];
	const sample = body === undefined ? "" : JSON.stringify(body.sample);
	return {
		...own,
		tags: [tag],
		security: SIGNED,
		...(parameters.length === 0 ? {} : { parameters }),
		...(body === undefined ? {} : { requestBody: requestBody(body) }),
		responses: { ...responses, ...problemAnswers(instance, codes) },
		"x-codeSamples": sampleRequest(instance, method, sampleTarget, sample),
	};
}

/** Describes the body that a caller may send. Fields with a default may be left out. */
function requestBody({ schema, sample }: NonNullable<SignedCall["body"]>) {
	const content = { "application/json": media(jsonSchema(schema, "input"), sample) };
	return { required: true as const, content };
}

export function media(schema: JsonSchema, value: unknown): MediaType {
	return { schema, examples: { example: { value } } };
}

export function queryParameters(schema: z.ZodObject): Parameter[] {
	const { properties = {}, required = [] } = jsonSchema(schema, "input");
	return Object.entries(properties).map(([name, { description = "", examples, ...property }]) => ({
		name,
		in: "query",
		required: required.includes(name),
		description,
		schema: property,
		...(examples?.[0] === undefined ? {} : { example: examples[0] }),
	}));
}

function pathParameter(name: string, description: string, example: string): Parameter {
	return { name, in: "path", required: true, description, schema: { type: "string" }, example };
}

/** Describes a JSON answer. The type makes sure that the example fits the schema. */
function jsonAnswer<Schema extends z.ZodType>(
	description: string,
	schema: Schema,
	example: z.output<Schema>,
): ApiResponse {
	return { description, content: { "application/json": media(jsonSchema(schema), example) } };
}

function ok<Schema extends z.ZodType>(description: string, schema: Schema, example: z.output<Schema>) {
	return { "200": jsonAnswer(description, schema, example) };
}

/**
 * Returns the error responses of an operation, one for each status, with the fault codes that it can answer.
 */
export function problemAnswers(
	instance: Instance,
	codes: readonly ApiFaultCode[],
): Record<string, ApiResponse> {
	const byStatus = [...Map.groupBy(codes, (code) => explainFault(code).status)];
	return Object.fromEntries(
		byStatus.map(([status, ofStatus]) => [String(status), problemAnswer(instance, status, ofStatus)]),
	);
}

function problemAnswer(instance: Instance, status: number, codes: readonly ApiFaultCode[]): ApiResponse {
	const [first = "internal", ...others] = codes;
	const headers = HEADERS_BY_STATUS[status];
	const properties = { code: { enum: codes }, status: { const: status } };
	const schema = { allOf: [{ $ref: "#/components/schemas/Problem" }, { type: "object", properties }] };
	const example = problemBody(instance, exampleFault(first, instance.brand));
	return {
		description: others.length === 0 ? explainFault(first).meaning : "Refused. The code says why.",
		...(headers === undefined ? {} : { headers }),
		content: { "application/problem+json": media(schema, example) },
	};
}

const HEADERS_BY_STATUS: Readonly<Record<number, NonNullable<ApiResponse["headers"]>>> = {
	401: { "WWW-Authenticate": header("The authentication scheme, Bearer.") },
	503: { "Retry-After": header("Seconds to wait before the request is sent again.", "^[0-9]+$") },
};

export function header(description: string, pattern = "^.+$") {
	return { description, required: true, schema: { type: "string", pattern } };
}

/** Describes the pixel and the health checks. */
function unsignedPaths(instance: Instance): Record<string, PathItem> {
	const operators = { tags: ["Operators"], security: UNSIGNED };
	return {
		"/pixel/{programId}.gif": { get: loadPixel(instance) },
		"/healthz": {
			get: {
				operationId: "checkAlive",
				summary: "Check whether the process is alive",
				description: "For a supervisor. It answers as long as the process runs.",
				...operators,
				responses: ok("The process is alive.", ALIVE, { status: "ok" }),
			},
		},
		"/readyz": {
			get: {
				operationId: "checkReady",
				summary: "Check whether the service is ready",
				description:
					"For a load balancer. The service is not ready while it starts or stops, and while its database is out of reach.",
				...operators,
				responses: {
					...ok("The service is ready.", READY, { status: "ready" }),
					...problemAnswers(instance, ["unavailable"]),
				},
			},
		},
	};
}

function loadPixel({ publicUrl }: Instance): Operation {
	const src = `${publicUrl}/pixel/${EXAMPLE_PROGRAM_ID}.gif?orderId=ORDER_ID&amp;basketValue=AMOUNT`;
	return {
		operationId: "loadPixel",
		summary: "Report a sale from the customer's browser",
		description:
			"For the shop's thank-you page, with the order's ID and amount in place of `ORDER_ID` and `AMOUNT`. The answer is always the image, also if the report is refused; the inbound log on the Integration page then says why. The conversion is parked until the shop's server confirms the order with `POST /v1/conversions`. Programmes that do not park pixel reports record it at once. Anybody can call the pixel, so a pixel call by itself proves nothing: confirm every order from the shop's server, or review pixel conversions before they are approved. The report of the shop's server always counts, whichever comes first. Calls beyond the limits are refused, and the inbound log says how many there were. Other names in the query are ignored.",
		tags: ["Pixel"],
		security: UNSIGNED,
		parameters: [
			pathParameter("programId", "The programme's ID.", EXAMPLE_PROGRAM_ID),
			...queryParameters(PIXEL_QUERY),
		],
		responses: { "200": { description: "A transparent image of one pixel.", content: { "image/gif": {} } } },
		"x-codeSamples": [
			{ lang: "HTML", label: "HTML", source: `<img src="${src}" width="1" height="1" alt="">` },
		],
	};
}
