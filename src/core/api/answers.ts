// The answers that several calls of the API share, each defined once as a zod schema. The types of handlers, the schemas in
// /openapi.json and the checks of test/openapi are derived from these schemas. The running service does not
// parse its own answers, because the compiler has checked them. The schemas are strict, so that no answer
// changes unnoticed. The document for shops allows additional fields (openapi/document.ts).

import * as z from "zod";
import { CREDIT } from "#modules/partners/api/sale-signals.ts";
import { REFUND, type RefundBody, refundBody } from "#modules/refunds/api/refund-fields.ts";
import type { RefundOutcome } from "#modules/refunds/use-cases/refund.ts";
import { subjectOf } from "../conversions/batch.ts";
import type { DecisionOutcome } from "../conversions/decide.ts";
import { type Decided, DIFFERING_FIELDS } from "../conversions/deps.ts";
import type { RecordOutcome } from "../conversions/record.ts";
import { API_FAULT_CODES, type Fault, type Result } from "../domain/fault.ts";
import { zeroIn } from "../domain/money.ts";
import { isoTime } from "../domain/time.ts";
import type { NewConversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { CONVERSION_FIELDS } from "./conversion-fields.ts";
import { composeExample } from "./openapi/composed-example.ts";

/** Answer of an endpoint to an accepted call. */
export interface Answer {
	/** Outcome word for the inbound log and the metrics. */
	outcome: string;
	httpStatus: 200 | 201;
	/** Body in the form that the description of the call gives. Null if the answer is a stream. */
	body: object | null;
	conversionId: string | null;
	/** Order id for the inbound log, if the request itself does not contain it. */
	orderId?: string;
	/** Details for the inbound log that the outcome word does not say. */
	detail?: string;
	/** Refused items of a batch. Each gets a row of the inbound log, so that people find out why an order is missing. */
	refusedItems?: readonly { orderId: string | null; fault: Fault }[];
	/**
	 * True for calls of `ringback listen`. The command may run on any machine, so its calls do not show that
	 * the shop's server works.
	 */
	isOfListener?: true;
	/**
	 * Opens a stream after the transaction has been committed. The stream is the body of the answer. It is refused if
	 * there is no room for another stream any more.
	 */
	openStream?: () => Result<Response>;
}

export type Outcome = RecordOutcome | DecisionOutcome | RefundOutcome;

const CONVERSION_SHAPE = z.strictObject(CONVERSION_FIELDS);

/** The conversion of all examples when it has just been recorded, composed from the examples of its fields. */
export const EXAMPLE_CONVERSION = CONVERSION_SHAPE.parse(composeExample(CONVERSION_SHAPE));

export const CONVERSION = CONVERSION_SHAPE.meta({
	id: "Conversion",
	description: "A conversion as it is now.",
	examples: [EXAMPLE_CONVERSION],
});
export type ConversionBody = z.output<typeof CONVERSION>;

/** Returns the schema of an answer that contains the conversion and one of the given outcome words. */
export function outcomeAnswer(outcomes: readonly Outcome[], description: string) {
	return z
		.strictObject({ outcome: z.enum(outcomes).describe("What was done."), conversion: CONVERSION })
		.meta({ description });
}

/** Field that lists the values in which a repeated report differs from the first report of the same order. */
export const DIFFERS = {
	differs: z
		.array(z.enum(DIFFERING_FIELDS))
		.min(1)
		.optional()
		.meta({
			description:
				"With `DUPLICATE`: the fields in which the request differs from the conversion on record, which does not change. Missing if nothing differs.",
			examples: [["basketValue"]],
		}),
};

export type OutcomeBody = z.output<ReturnType<typeof outcomeAnswer>> &
	z.output<z.ZodObject<typeof DIFFERS & typeof CREDIT>> & { refund?: RefundBody };

export const PROBLEM = z
	.strictObject({
		type: z.url().describe("An address that explains the code."),
		title: z.string().describe("The same for every problem of a code."),
		status: z.int().min(400).max(599).describe("The HTTP status again."),
		detail: z.string().min(1).describe("What is wrong with this request, and what to do next."),
		code: z.enum(API_FAULT_CODES).meta({
			id: "ProblemCode",
			description: "Stable. Codes may be added, but they are never renamed and never change their meaning.",
		}),
		field: z.string().optional().describe("The field that caused the problem, if there is one."),
	})
	.meta({ id: "Problem", description: "A refusal in the format of RFC 9457." });

const BATCH_ITEM = z.union([
	z.strictObject({
		outcome: z
			.enum(["RECORDED", "CONFIRMED", "DUPLICATE", "PARKED", "APPROVED", "REJECTED", "REVERSED", "REFUNDED"])
			.describe("What was done."),
		conversion: CONVERSION,
		...DIFFERS,
		...CREDIT,
		refund: REFUND.optional().describe("The refund, if the decision was `refund`."),
	}),
	z.strictObject({ problem: z.strictObject({ ...PROBLEM.shape, code: z.string() }) }),
]);
export type BatchItem = z.output<typeof BATCH_ITEM>;

export const BATCH_BODY = z
	.strictObject({
		results: z
			.array(BATCH_ITEM)
			.describe(
				"One result for each item, in the order of the items: its `outcome` and `conversion`, or its `problem`.",
			),
	})
	.meta({ id: "Batch", description: "The result of each item." });
export type BatchBody = z.output<typeof BATCH_BODY>;

/**
 * Returns the answer to a report or a decision. `couponCodes` are the codes that the shop sent, which are
 * written to the inbound log.
 */
export function decidedAnswer(
	decided: Decided<Outcome, NewConversion>,
	programme: Pick<Programme, "public_id">,
	couponCodes: readonly string[] = [],
): Answer {
	const { outcome, conversion, credit, differs = [], refund } = decided;
	const details = [
		...(refund === undefined ? [] : [`Refund ${refund.refund_id}: ${refund.amount} ${conversion.currency}`]),
		...(credit === undefined ? [] : [`Credit: ${credit}`]),
		...(couponCodes.length === 0
			? []
			: [`Coupon code${couponCodes.length === 1 ? "" : "s"}: ${couponCodes.join(", ")}`]),
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
	{ outcome, conversion, credit, differs = [], refund }: Decided<Outcome, NewConversion>,
	programme: Pick<Programme, "public_id">,
): OutcomeBody {
	const body = {
		outcome,
		conversion: conversionBody(conversion, programme),
		...(credit === undefined ? {} : { credit }),
		...(refund === undefined ? {} : { refund: refundBody(refund) }),
	};
	return differs.length === 0 ? body : { ...body, differs: [...differs] };
}

/**
 * Returns a conversion as the API shows it. Amounts are strings and times are ISO 8601 in UTC with milliseconds, the same
 * as in the body of a callback (contract section 2.1).
 */
export function conversionBody(
	conversion: NewConversion,
	programme: Pick<Programme, "public_id">,
): ConversionBody {
	const { status, window_ends_at_ms: windowEndsAtMs } = conversion;
	const windowEndsAt = windowEndsAtMs === null ? null : isoTime(windowEndsAtMs);
	const { conversionId, occurredAtMs, ...fields } = subjectOf(conversion, programme.public_id);
	return {
		id: conversionId,
		...fields,
		source: conversion.source,
		pixelBasketValue: conversion.pixel_basket_value,
		refundedValue: conversion.refunded_value ?? zeroIn(conversion.currency),
		decidedBy: conversion.decided_by,
		occurredAt: isoTime(occurredAtMs),
		createdAt: isoTime(conversion.created_at_ms),
		updatedAt: isoTime(conversion.updated_at_ms),
		approvesAt: status === "RECORDED" ? windowEndsAt : null,
		expiresAt: status === "PARKED" ? windowEndsAt : null,
	};
}
