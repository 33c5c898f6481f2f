// This room is what programs call: the signed API with its stream, the pixel, health and metrics. Here is what it
// answers, each answer once, as a zod schema: the type of what handlers return, the schema in /openapi.json and what
// test/openapi holds real answers against come from it. While the service runs no answer is parsed: the compiler has
// checked it. Strict on purpose, so that no answer changes unnoticed; shops get an open form (openapi/document.ts).

import * as z from "zod";
import type { DecisionOutcome } from "../conversions/decide.ts";
import { type Decided, DIFFERING_FIELDS } from "../conversions/deps.ts";
import { subjectOf } from "../conversions/owe.ts";
import type { RecordOutcome } from "../conversions/record.ts";
import { DECIDERS, EVENT_TYPES, REASONS, SOURCES, STATUSES } from "../domain/conversion.ts";
import { CREDIT_WORDS, NOT_CREDITING } from "../domain/credit.ts";
import { API_FAULT_CODES, type Fault } from "../domain/fault.ts";
import { isoTime } from "../domain/time.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import {
	AMOUNT_PATTERN,
	CURRENCY_PATTERN,
	EXAMPLE_CONVERSION_ID,
	EXAMPLE_CURSOR,
	EXAMPLE_ORDER_ID,
	EXAMPLE_PROGRAM_ID,
} from "./sale-fields.ts";

/** What an endpoint says of a call that it took. */
export interface Answer {
	/** For the inbound log and the metrics. */
	outcome: string;
	httpStatus: 200 | 201;
	body: OutcomeBody | BatchBody | ConversionPage | OneConversion | AnswersKeptBody | null;
	conversionId: string | null;
	/** Where the call itself does not name it. */
	orderId?: string;
	/** For the inbound log, beside the outcome. */
	detail?: string;
	/** Of a batch: each has a row of the inbound log, so that people find why an order is not there. */
	refusedItems?: readonly { orderId: string | null; fault: Fault }[];
	/** Of `ringback listen`, on whatever machine: it says nothing about the shop's server. */
	isOfListener?: true;
	/** Instead of the body: what goes on after the transaction. Undefined where there is no room for it any more. */
	openStream?: () => Response | undefined;
}

export type Outcome = RecordOutcome | DecisionOutcome;

const AMOUNT = z
	.string()
	.regex(new RegExp(AMOUNT_PATTERN))
	.meta({ examples: ["129.90"] });

/** As Date.prototype.toISOString writes it. */
export const UTC_TIME = z
	.string()
	.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
	.meta({ format: "date-time" });

export const CONVERSION_ID = idOf("cnv").meta({
	description: "The conversion's ID.",
	examples: [EXAMPLE_CONVERSION_ID],
});

/** What a conversion and the callback's body have in common, each field described once. */
export const SUBJECT_FIELDS = {
	orderId: z.string().meta({ description: "The shop's own order ID.", examples: [EXAMPLE_ORDER_ID] }),
	programId: idOf("prg").meta({
		description: "The programme it belongs to.",
		examples: [EXAMPLE_PROGRAM_ID],
	}),
	eventType: z.enum(EVENT_TYPES).describe("The kind of conversion."),
	basketValue: AMOUNT.describe("The order's value, with exactly the currency's decimals."),
	commission: AMOUNT.describe("The affiliate's commission, fixed when the conversion was recorded."),
	networkFee: AMOUNT.describe("The network's fee, fixed when the conversion was recorded."),
	currency: z
		.string()
		.regex(new RegExp(CURRENCY_PATTERN))
		.meta({ description: "ISO 4217 code.", examples: ["EUR"] }),
	test: z.boolean().describe("True for a test conversion."),
	occurredAt: UTC_TIME.describe("The time of the sale."),
};

const { orderId, programId, eventType, test, occurredAt, ...amounts } = SUBJECT_FIELDS;

const CONVERSION = z
	.strictObject({
		id: CONVERSION_ID,
		orderId,
		programId,
		status: z
			.enum(STATUSES)
			.describe(
				"Where it stands. `PARKED` (a browser's report that waits for the shop's server) and `EXPIRED` (not confirmed in time) are in no callback.",
			),
		eventType,
		...amounts,
		reason: z.enum(REASONS).nullable().describe("Why it was rejected or reversed; null otherwise."),
		test,
		source: z
			.enum(SOURCES)
			.describe(
				"Who reported the sale. `postback`: the shop's server, by its own signed request to us. `pixel`: a browser. `test`: a test conversion. `import`: it was decided in other software before, and no callback told of it.",
			),
		pixelBasketValue: AMOUNT.nullable().meta({
			description: "What the browser's pixel had claimed; null when there was none.",
			examples: [null],
		}),
		decidedBy: z
			.enum(DECIDERS)
			.nullable()
			.describe(
				"Who approved, rejected or reversed it: the shop, the review team, or the approval window; null before, and for what was decided in other software.",
			),
		occurredAt,
		createdAt: UTC_TIME.describe("When it was recorded, or first reported by a pixel."),
		approvesAt: UTC_TIME.nullable().describe(
			"While `RECORDED`: when it is approved by itself; null otherwise, and while only a pixel has reported it.",
		),
		expiresAt: UTC_TIME.nullable().describe("While `PARKED`: when it expires unconfirmed; null otherwise."),
	})
	.meta({ id: "Conversion", description: "A conversion as it is now." });
export type ConversionBody = z.output<typeof CONVERSION>;

export const CONVERSION_PAGE = z
	.strictObject({
		conversions: z.array(CONVERSION).describe("At most `limit`."),
		nextCursor: z
			.string()
			.nullable()
			.meta({
				description: "To be sent as `cursor` for the next page; null on the last.",
				examples: [EXAMPLE_CURSOR],
			}),
	})
	.meta({ id: "ConversionPage", description: "A page of conversions, the newest first." });
export type ConversionPage = z.output<typeof CONVERSION_PAGE>;

export const ONE_CONVERSION = z
	.strictObject({ conversion: CONVERSION })
	.meta({ id: "OneConversion", description: "One conversion." });
type OneConversion = z.output<typeof ONE_CONVERSION>;

/** Of one operation: the outcome words it answers, and the conversion. */
export function outcomeAnswer(outcomes: readonly Outcome[], description: string) {
	return z
		.strictObject({ outcome: z.enum(outcomes).describe("What was done."), conversion: CONVERSION })
		.meta({ description });
}

/** Where the order may have been reported before. */
export const DIFFERS = {
	differs: z
		.array(z.enum(DIFFERING_FIELDS))
		.min(1)
		.optional()
		.meta({
			description:
				"Of a `DUPLICATE`: the fields in which the request differs from the conversion on record, which stays as it is. Not there when nothing differs.",
			examples: [["basketValue"]],
		}),
};

/** Of a programme that credits partners, or one that does not and was sent a field about them. */
export const CREDIT = {
	credit: z
		.enum([...CREDIT_WORDS, NOT_CREDITING])
		.optional()
		.meta({
			description:
				"Where the programme credits partners: what the sale was credited by (`CODE`, `CLICK`), or why nobody was. Of a `DUPLICATE` that was sent with `clickId` or `couponCode`: the credit that the conversion has now, by the best of its reports; one without these fields has no `credit`. `NOT_CREDITING`: one of these fields was sent, and the programme does not credit partners.",
			examples: ["CLICK"],
		}),
};
export type OutcomeBody = z.output<ReturnType<typeof outcomeAnswer>> &
	z.output<z.ZodObject<typeof DIFFERS & typeof CREDIT>>;

/** OpenAPI 3.1 has no place for what a stream is made of: this one is named in the answer's description. */
export const LISTENING = z
	.strictObject({
		programId: z.string().meta({ description: "Whose events will come.", examples: [EXAMPLE_PROGRAM_ID] }),
		testOnly: z.boolean().describe("Only those of test conversions."),
		hasPostbackUrl: z
			.boolean()
			.describe("Whether a Postback URL is saved: then the same events go there as callbacks, too."),
	})
	.meta({ id: "Listening", description: "The first message of a stream." });
export type Listening = z.output<typeof LISTENING>;

export const SIGNED_EVENT = z
	.strictObject({
		path: z
			.string()
			.meta({ description: "Stands in for the path of a Postback URL.", examples: ["/postback"] }),
		timestamp: z.string().regex(/^\d+$/).describe("As in the header of a callback."),
		nonce: z.string().describe("As in the header of a callback."),
		signature: z
			.string()
			.regex(/^[\da-f]{64}$/)
			.describe("Of a POST to `path` with `data` as its body, by the programme's active secret."),
	})
	.meta({ id: "SignedEvent", description: "How a message of a stream is signed." });
export type SignedEvent = z.output<typeof SIGNED_EVENT>;

export const ANSWERS_KEPT_BODY = z
	.strictObject({
		kept: z
			.int()
			.min(0)
			.describe(
				"How many of them the Integration page can show: of this programme's own events, while a stream is open or was minutes ago, and no more than a person would look at.",
			),
	})
	.meta({ description: "What was kept." });
type AnswersKeptBody = z.output<typeof ANSWERS_KEPT_BODY>;

export const ALIVE = statusAnswer("ok", "It lives.");
export type Alive = z.output<typeof ALIVE>;
export const READY = statusAnswer("ready", "It can.");
export type Ready = z.output<typeof READY>;

export const PROBLEM = z
	.strictObject({
		type: z.url().describe("An address that explains the code."),
		title: z.string().describe("The same for every problem of a code."),
		status: z.int().min(400).max(599).describe("The HTTP status again."),
		detail: z.string().min(1).describe("What is wrong with this request, and what to do next."),
		code: z.enum(API_FAULT_CODES).meta({
			id: "ProblemCode",
			description: "Stable: codes are added, never renamed, and never change their meaning.",
		}),
		field: z.string().optional().describe("The field at fault, where there is one."),
	})
	.meta({ id: "Problem", description: "A refusal, as RFC 9457 has it." });

const BATCH_ITEM = z.union([
	z.strictObject({
		outcome: z
			.enum(["RECORDED", "CONFIRMED", "DUPLICATE", "PARKED", "APPROVED", "REJECTED", "REVERSED"])
			.describe("What was done."),
		conversion: CONVERSION,
		...DIFFERS,
		...CREDIT,
	}),
	z.strictObject({ problem: z.strictObject({ ...PROBLEM.shape, code: z.string() }) }),
]);
export type BatchItem = z.output<typeof BATCH_ITEM>;

export const BATCH_BODY = z
	.strictObject({
		results: z
			.array(BATCH_ITEM)
			.describe("One for each item, in their order: its `outcome` and `conversion`, or its `problem`."),
	})
	.meta({ id: "Batch", description: "What became of each item." });
type BatchBody = z.output<typeof BATCH_BODY>;

function idOf(prefix: string) {
	return z.string().regex(new RegExp(`^${prefix}_[0-9A-Z]{26}$`));
}

function statusAnswer<const Status extends string>(status: Status, description: string) {
	return z.strictObject({ status: z.literal(status).describe("Always this word.") }).meta({ description });
}

/** `couponCode`: as the shop sent it, for the log. */
export function decidedAnswer(
	decided: Decided<Outcome>,
	programme: Pick<Programme, "public_id">,
	couponCode?: string,
): Answer {
	const { outcome, conversion, credit, differs = [] } = decided;
	const details = [
		...(credit === undefined ? [] : [`Credit: ${credit}`]),
		...(couponCode === undefined ? [] : [`Coupon code: ${couponCode}`]),
		...(differs.length === 0 ? [] : [`Differs from the conversion on record: ${differs.join(", ")}`]),
	];
	return {
		outcome,
		httpStatus: outcome === "RECORDED" ? 201 : 200,
		body: outcomeBody(decided, programme),
		conversionId: conversion.public_id,
		...(details.length === 0 ? {} : { detail: details.join(". ") }),
	};
}

export function outcomeBody(
	{ outcome, conversion, credit, differs = [] }: Decided<Outcome>,
	programme: Pick<Programme, "public_id">,
): OutcomeBody {
	const body = {
		outcome,
		conversion: conversionBody(conversion, programme),
		...(credit === undefined ? {} : { credit }),
	};
	return differs.length === 0 ? body : { ...body, differs: [...differs] };
}

/** Amounts are strings, times ISO 8601 in UTC with milliseconds, as in the callback's body (contract section 2.1). */
export function conversionBody(
	conversion: Conversion,
	programme: Pick<Programme, "public_id">,
): ConversionBody {
	const { status, window_ends_at_ms: windowEndsAtMs } = conversion;
	const windowEndsAt = windowEndsAtMs === null ? null : isoTime(windowEndsAtMs);
	const { conversionId, occurredAtMs, ...told } = subjectOf(conversion, programme.public_id);
	return {
		id: conversionId,
		...told,
		source: conversion.source,
		pixelBasketValue: conversion.pixel_basket_value,
		decidedBy: conversion.decided_by,
		occurredAt: isoTime(occurredAtMs),
		createdAt: isoTime(conversion.created_at_ms),
		approvesAt: status === "RECORDED" ? windowEndsAt : null,
		expiresAt: status === "PARKED" ? windowEndsAt : null,
	};
}
