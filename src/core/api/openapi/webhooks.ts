// Describes the callbacks to the shop's Postback URL in the OpenAPI document, and what the service does with each
// answer. Modules describe the requests that they send with the same type.

import * as z from "zod";
import { REASONS } from "../../domain/conversion.ts";
import { EVENT_NAMES, type EventName } from "../../domain/event-name.ts";
import type { ReceiverKind } from "../../domain/receiver.ts";
import { MAX_ATTEMPTS, RETRY_DELAYS_MS } from "../../domain/retry.ts";
import { headerNames, TIMESTAMP_TOLERANCE_SECONDS, USER_AGENT } from "../../domain/signature.ts";
import { HOUR_MS, MINUTE_MS } from "../../domain/time.ts";
import { judgeOutcome, type Outcome, type Verdict } from "../../domain/verdict.ts";
import { CALLBACK_FIELDS } from "../conversion-fields.ts";
import {
	EXAMPLE_NONCE,
	exampleCallback,
	exampleSentAtMs,
	type Instance,
	STATE_BY_EVENT,
	signExample,
} from "./examples.ts";
import { jsonSchema } from "./json-schema.ts";
import type { ApiResponse, JsonSchema, Operation, Parameter, Webhook } from "./specification.ts";

/** A request that the service sends to a receiver. */
export interface DescribedWebhook {
	name: string;
	/** Schemas of the bodies. Other parts of the document may refer to them by name. */
	bodies: readonly z.ZodType[];
	describe(instance: Instance): Webhook;
}

/**
 * Path of the Postback URL in the examples. A real signature covers the path and query of the URL that the
 * shop has saved.
 */
export const EXAMPLE_PATH = "/postback";

const DESCRIPTIONS: Readonly<Record<EventName, string>> = {
	"conversion.recorded":
		"The shop's server reported the sale, or the pixel of a programme that does not park, or somebody sent a test. It is not sent if a report confirms a pixel's report, because the answer to that report says it.",
	"conversion.approved": "The approval window ended, or the shop approved it before.",
	"conversion.rejected": "The shop or the service's review team rejected it.",
	"conversion.reversed": "The shop reported a reversal.",
};

/**
 * Returns the names of an event's operation. For example, the event conversion.approved gives
 * "conversionApproved" and "A conversion was approved".
 */
function namesOf(event: EventName): { operationId: string; schema: string; summary: string } {
	const [, done = ""] = event.split(".");
	const name = `onversion${done.charAt(0).toUpperCase()}${done.slice(1)}`;
	return { operationId: `c${name}`, schema: `C${name}`, summary: `A conversion was ${done}` };
}

const CALLBACK_BODY = z
	.strictObject(CALLBACK_FIELDS)
	.meta({ id: "CallbackBody", description: "The 14 fields of every callback." });

/** Callbacks with one schema for each event, because an approval never has a reason and a rejection always has one. */
const CALLBACKS = EVENT_NAMES.map((event) => {
	const { schema: id, summary } = namesOf(event);
	const { status, reason } = STATE_BY_EVENT[event];
	const { shape } = CALLBACK_BODY;
	const body = CALLBACK_BODY.extend({
		event: z.literal(event).describe(shape.event.description ?? ""),
		status: z.literal(status).describe(shape.status.description ?? ""),
		reason: (reason === null ? z.null() : z.enum(REASONS)).describe(shape.reason.description ?? ""),
	});
	return { event, body: body.meta({ id, description: `${summary}.` }) };
});

const ANY_CALLBACK = z
	.xor(CALLBACKS.map(({ body }) => body))
	.meta({ id: "Event", description: "The body of a callback: one of the four events." });

export const CORE_WEBHOOKS: readonly DescribedWebhook[] = CALLBACKS.map(({ event, body }) => ({
	name: event,
	bodies: [body, CALLBACK_BODY, ANY_CALLBACK],
	describe: (instance) => ({ post: webhook(instance, event, jsonSchema(body)) }),
}));

function webhook(instance: Instance, event: EventName, schema: JsonSchema): Operation {
	const { operationId, summary } = namesOf(event);
	const examples = { event: { value: JSON.parse(exampleCallback(event)) } };
	return {
		operationId,
		summary,
		description: `${DESCRIPTIONS[event]} Sent once per conversion to the programme's Postback URL; a delivery can arrive twice, so deduplicate on \`conversionId\` and \`event\`.`,
		tags: ["Callbacks"],
		// Callbacks carry no credentials of the shop. The headers describe their signature.
		security: [],
		parameters: headerParameters(instance.brand, [event], exampleRequest(event)),
		requestBody: {
			required: true,
			description:
				"The signature covers these bytes as they were received. A body that was parsed and serialised again has other bytes.",
			content: { "application/json": { schema, examples } },
		},
		responses: receiverAnswers("shop"),
	};
}

/** Request for which the example headers carry the right signature. */
export interface ExampleRequest {
	event: EventName;
	method: "POST" | "GET";
	/** Path and query as the service sends them. */
	target: string;
	body: string;
}

function exampleRequest(event: EventName): ExampleRequest {
	return { event, method: "POST", target: EXAMPLE_PATH, body: exampleCallback(event) };
}

/** Returns the headers of a callback that announces one of the events. */
export function headerParameters(
	brand: string,
	events: readonly EventName[],
	{ event, method, target, body }: ExampleRequest,
): Parameter[] {
	const names = headerNames(brand);
	const { timestamp, signature } = signExample(method, target, body, exampleSentAtMs(event));
	const header = (name: string, description: string, schema: JsonSchema, example: string): Parameter => ({
		name,
		in: "header",
		required: true,
		description,
		schema: { type: "string", ...schema },
		example,
	});
	return [
		header(names.event, "The name of the event.", { enum: events }, event),
		header(
			names.timestamp,
			`Unix time in seconds. Refuse a callback with 401 if it is more than ${TIMESTAMP_TOLERANCE_SECONDS} seconds away from your clock.`,
			{ pattern: "^[0-9]+$" },
			timestamp,
		),
		header(names.nonce, "New for every attempt.", { pattern: "^[0-9a-f]{16,}$" }, EXAMPLE_NONCE),
		header(
			names.signature,
			`Hex HMAC-SHA256 of the canonical string with the signing secret. The method is \`${method}\`, and the path with its query is ${method === "GET" ? "the one that arrives" : "that of the URL as you entered it"} (here \`${target}\`).`,
			{ pattern: "^[0-9a-f]{64}$" },
			signature,
		),
		header("User-Agent", "The `/1` is the version.", { const: USER_AGENT }, USER_AGENT),
	];
}

/**
 * One sample status for each range of statuses that Ringback treats differently. The description of a range is
 * computed from its sample, so it states what the service really does.
 */
const SAMPLE_STATUSES: readonly (readonly [range: string, status: number, advice: string])[] = [
	["2XX", 204, "Answer like this as soon as the event is stored, before slow work. The body is not read."],
	["3XX", 302, "Enter the final URL."],
	["401", 401, "For a stale timestamp or a signature that does not match."],
	["408", 408, ""],
	["429", 429, ""],
	["4XX", 404, "If the problem is temporary, answer 5xx and not 4xx."],
	["5XX", 500, ""],
];

const MEANING_BY_VERDICT: Readonly<Record<Verdict, string>> = {
	delivered: "Delivered.",
	retry: `Retried, with up to ${MAX_ATTEMPTS} attempts in all: after ${retryDelays()}.`,
	refused: "A deliberate refusal. The delivery ends at once, and {people} notified.",
	redirect: "Redirects are not followed. The delivery ends at once, and {people} notified.",
	"forbidden address": "Nothing is sent. The delivery ends at once, and {people} notified.",
};

const NOTIFIED_PEOPLE: Readonly<Record<ReceiverKind, string>> = {
	shop: "the owner is",
	partner: "the partner's people are",
};

/** Describes what the service does with each answer of a shop or a partner. */
export function receiverAnswers(kind: ReceiverKind): Record<string, ApiResponse> {
	return Object.fromEntries(
		SAMPLE_STATUSES.map(([range, status, advice]) => {
			const meaning = meaningOf({ kind: "answered", status }, kind);
			return [range, { description: `${meaning} ${advice}`.trim() }];
		}),
	);
}

export function meaningOf(outcome: Outcome, kind: ReceiverKind): string {
	return MEANING_BY_VERDICT[judgeOutcome(outcome)].replace("{people}", NOTIFIED_PEOPLE[kind]);
}

function retryDelays(): string {
	const words = RETRY_DELAYS_MS.map((delayMs) =>
		delayMs < HOUR_MS ? `${delayMs / MINUTE_MS} min` : `${delayMs / HOUR_MS} h`,
	);
	return new Intl.ListFormat("en-GB").format(words);
}
