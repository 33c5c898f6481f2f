// The calls of the API: what is particular about each stands in a list, and what they have in common (who may call, how
// they are refused, an example request) is added here. What checks requests and gives answers their types describes them,
// too.

import type * as z from "zod";
import type { DecisionOutcome } from "../../conversions/decide.ts";
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
	CREDIT,
	DIFFERS,
	type Listening,
	ONE_CONVERSION,
	outcomeAnswer,
	READY,
} from "../answers.ts";
import { CONVERSIONS_QUERY } from "../get-conversions.ts";
import { EVENTS_QUERY } from "../get-events.ts";
import { PIXEL_QUERY } from "../pixel.ts";
import {
	APPROVAL_BODY,
	batchBody,
	DECISION_ITEM,
	MAX_BATCH_BYTES,
	MAX_ITEMS,
	REASONED_BODY,
	SALE_BODY,
} from "../post-conversions.ts";
import { ANSWERS_BODY, MAX_ANSWERS } from "../post-event-answers.ts";
import { EXAMPLE_CONVERSION_ID, EXAMPLE_ORDER_ID, EXAMPLE_PROGRAM_ID } from "../sale-fields.ts";
import {
	exampleCallback,
	exampleConversion,
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
	/** Of a POST, with what the example request sends. */
	body?: { schema: z.ZodObject; sample: object };
	/** Of the faults that it can answer, besides those of every signed call. */
	faults: readonly Exclude<FaultKind, "inbound log">[];
	/** Where the path alone would be no example. */
	sampleTarget?: string;
}

const SALE = { orderId: EXAMPLE_ORDER_ID, basketValue: "129.90" };

const REPEATED = "Repeating it answers as before, changes nothing and sends nothing.";
const TAKEN = `Up to ${MAX_ITEMS} of them, in a body of at most ${MAX_BATCH_BYTES / 1_024} KiB. They are taken in their order, also several about one order, and \`results\` has the outcome or the problem of each at the same place. A problem with one does not affect the others. The call may be repeated after a lost answer, signed anew: nothing is done twice.`;

/** By method and path. Made when the document is: no other part of a process needs it. */
function signedCalls(): Readonly<Record<`${HttpMethod} /v1/${string}`, SignedCall>> {
	const recorded = exampleConversion("conversion.recorded");
	const approved = exampleConversion("conversion.approved");
	return {
		"post /v1/conversions": {
			operationId: "recordConversion",
			summary: "Report a sale, or confirm what a pixel reported",
			description:
				"Records the conversion and announces it with `conversion.recorded`. If a browser's pixel reported the order before, and it is parked or not decided yet, it is confirmed with the amount and time sent here, and no event is sent: this answer says it. If the pixel's report has expired, or was rejected or reversed, the order is recorded as a new sale. If your server reported the order before, or it was approved, nothing changes and the existing conversion is answered; only a better `clickId` or `couponCode` is taken until it is decided. So the call may be repeated after a lost answer, signed anew.",
			tag: "Conversions",
			body: { schema: SALE_BODY, sample: SALE },
			responses: {
				"201": jsonAnswer(
					"`RECORDED`: it is new.",
					outcomeAnswer(["RECORDED"], "It is new.").extend(CREDIT),
					{
						outcome: "RECORDED",
						conversion: recorded,
					},
				),
				"200": jsonAnswer(
					"`CONFIRMED`: a pixel had reported it; the amount and time sent here count now. `DUPLICATE`: it was there already, and its amount and time did not change; `differs` names what the request says otherwise.",
					outcomeAnswer(["CONFIRMED", "DUPLICATE"], "Nothing new was recorded.").extend({
						...DIFFERS,
						...CREDIT,
					}),
					{ outcome: "DUPLICATE", conversion: recorded },
				),
			},
			faults: ["fields", "sale", "event type"],
		},
		"get /v1/conversions": {
			operationId: "listConversions",
			summary: "List conversions, the newest first",
			description:
				"A page at a time: send `nextCursor` back as `cursor`, with the same filters, until it is null; a page may hold fewer than `limit` before that. Conversions that come in meanwhile do not shift the pages. With `occurredFrom` or `occurredBefore` the list is in the order of the sales, otherwise in that of their recording.",
			tag: "Conversions",
			query: CONVERSIONS_QUERY,
			responses: ok("The page.", CONVERSION_PAGE, { conversions: [recorded], nextCursor: null }),
			faults: ["fields", "cursor"],
			sampleTarget: "/v1/conversions?status=RECORDED&limit=50",
		},
		"post /v1/conversions/batch": {
			operationId: "recordConversions",
			summary: "Report many sales in one call",
			description: `Each item is what \`POST /v1/conversions\` takes, and does what it does. ${TAKEN}`,
			tag: "Conversions",
			body: { schema: batchBody(SALE_BODY), sample: { items: [SALE] } },
			responses: ok("What became of each.", BATCH_BODY, {
				results: [{ outcome: "RECORDED", conversion: recorded }],
			}),
			faults: ["fields"],
		},
		"get /v1/conversions/{id}": {
			operationId: "showConversion",
			summary: "Show one conversion",
			description: "By our id of it. To look by order, list with `orderId`.",
			tag: "Conversions",
			parameters: [pathParameter("id", "The conversion's ID.", EXAMPLE_CONVERSION_ID)],
			responses: ok("The conversion.", ONE_CONVERSION, { conversion: approved }),
			faults: ["one conversion"],
			sampleTarget: `/v1/conversions/${EXAMPLE_CONVERSION_ID}`,
		},
		"post /v1/approvals": decisionCall({
			operationId: "approveConversion",
			summary: "Approve a conversion",
			description:
				"For one that is `RECORDED`, before its approval window ends. Announced with `conversion.approved`. A key that only reports may do it with test conversions alone.",
			event: "conversion.approved",
			outcome: "APPROVED",
		}),
		"post /v1/rejections": decisionCall({
			operationId: "rejectConversion",
			summary: "Reject a conversion",
			description:
				"For one that is `RECORDED`. Announced with `conversion.rejected`, and final. A key that only reports may do it with test conversions alone.",
			event: "conversion.rejected",
			outcome: "REJECTED",
		}),
		"post /v1/reversals": decisionCall({
			operationId: "reverseConversion",
			summary: "Report a reversal",
			description:
				"For one that is `RECORDED` or `APPROVED`: the goods came back, the payment failed. Announced with `conversion.reversed`, and final.",
			event: "conversion.reversed",
			outcome: "REVERSED",
		}),
		"post /v1/decisions/batch": {
			operationId: "decideConversions",
			summary: "Decide about many conversions in one call",
			description: `Each item is a decision, its order and, to reject or reverse, the reason. ${TAKEN} Of several decisions about one order the earlier are then refused with \`move_not_allowed\`. With a key that only reports, approvals and rejections of real conversions are refused with \`key_may_not_decide\`.`,
			tag: "Decisions",
			body: {
				schema: batchBody(DECISION_ITEM),
				sample: { items: [{ decision: "approve", orderId: EXAMPLE_ORDER_ID }] },
			},
			responses: ok("What became of each.", BATCH_BODY, {
				results: [{ outcome: "APPROVED", conversion: approved }],
			}),
			faults: ["fields"],
		},
		"get /v1/events": {
			operationId: "streamEvents",
			summary: "Follow the programme's events as they happen",
			description:
				"Server-sent events, whether or not a Postback URL is saved: what `ringback listen` reads. It changes nothing of what is delivered to the saved URL. The stream ends after a while, and when the service stops: come back with `after`, signed anew.",
			tag: "Events",
			query: EVENTS_QUERY,
			responses: {
				"200": {
					description:
						"First a message `listening` whose `data` says what is listened to (schema `Listening`); then a message for each event, with `event` (its name), `id` (a cursor for `after`), `data` (the body of its callback, schema `Event`) and, while a secret is active, `signed` (schema `SignedEvent`), with which it can be checked as a callback is. Lines that begin with a colon, and messages without `data`, only keep the connection and the cursor.",
					content: { "text/event-stream": media({ type: "string" }, exampleStream()) },
				},
			},
			faults: ["fields", "cursor", "stream"],
			sampleTarget: "/v1/events?test=true",
		},
		"post /v1/events/answers": {
			operationId: "tellAnswers",
			summary: "Tell what came of events on your machine",
			description: `What \`ringback listen\` sends while it forwards events, so that the Integration page shows it: up to ${MAX_ANSWERS} answers in a call. It changes nothing of what is delivered to a saved Postback URL.`,
			tag: "Events",
			body: { schema: ANSWERS_BODY, sample: { answers: [EXAMPLE_ANSWER] } },
			responses: ok("How many were kept.", ANSWERS_KEPT_BODY, { kept: 1 }),
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
	outcome: DecisionOutcome;
}

function decisionCall({ event, outcome, description, ...own }: DecisionWords): SignedCall {
	const conversion = exampleConversion(event);
	const { orderId, reason } = conversion;
	const done = "It is done, now or before.";
	return {
		...own,
		description: `${description} ${REPEATED}`,
		tag: "Decisions",
		body:
			reason === null
				? { schema: APPROVAL_BODY, sample: { orderId } }
				: { schema: REASONED_BODY.required({ reason: true }), sample: { orderId, reason } },
		responses: ok(`\`${outcome}\`: it is done, now or before.`, outcomeAnswer([outcome], done), {
			outcome,
			conversion,
		}),
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

/** As a caller may send it: what has a default may be left out. */
function requestBody({ schema, sample }: NonNullable<SignedCall["body"]>) {
	const content = { "application/json": media(jsonSchema(schema, "input"), sample) };
	return { required: true as const, content };
}

function media(schema: JsonSchema, value: unknown): MediaType {
	return { schema, examples: { example: { value } } };
}

function queryParameters(schema: z.ZodObject): Parameter[] {
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

/** The example is one that the schema's own type allows. */
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

/** One response a status, with exactly the codes that this operation can answer. */
function problemAnswers(instance: Instance, codes: readonly ApiFaultCode[]): Record<string, ApiResponse> {
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
	401: { "WWW-Authenticate": header("Names the scheme: Bearer.") },
	503: { "Retry-After": header("Seconds to wait before the request is sent again.", "^[0-9]+$") },
};

function header(description: string, pattern = "^.+$") {
	return { description, required: true, schema: { type: "string", pattern } };
}

/** The pixel for browsers, health for load balancers and supervisors. */
function unsignedPaths(instance: Instance): Record<string, PathItem> {
	const operators = { tags: ["Operators"], security: UNSIGNED };
	return {
		"/pixel/{programId}.gif": { get: loadPixel(instance) },
		"/healthz": {
			get: {
				operationId: "checkAlive",
				summary: "Does the process live",
				description: "For a supervisor: it answers as long as the process does.",
				...operators,
				responses: ok("It lives.", ALIVE, { status: "ok" }),
			},
		},
		"/readyz": {
			get: {
				operationId: "checkReady",
				summary: "Can it work",
				description: "For a load balancer: not while it starts, stops, or is without its database.",
				...operators,
				responses: {
					...ok("It can.", READY, { status: "ready" }),
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
			"For the shop's thank-you page, with each order's own id and amount in place of `ORDER_ID` and `AMOUNT`. It always answers with the image, also when the report is refused: the inbound log on the Integration page says why. The conversion is parked until the shop's server confirms the order with `POST /v1/conversions`; programmes that do not park record it at once. Anyone can call it, so a pixel call by itself proves nothing: confirm every order from the shop's server, or review pixel conversions before they are approved. What the shop's server reports always counts, whichever comes first. Calls beyond the limits are not taken; the inbound log says how many there were. Other names in the query are ignored.",
		tags: ["Pixel"],
		security: UNSIGNED,
		parameters: [
			pathParameter("programId", "The programme's ID.", EXAMPLE_PROGRAM_ID),
			...queryParameters(PIXEL_QUERY),
		],
		responses: { "200": { description: "A transparent point.", content: { "image/gif": {} } } },
		"x-codeSamples": [
			{ lang: "HTML", label: "HTML", source: `<img src="${src}" width="1" height="1" alt="">` },
		],
	};
}
