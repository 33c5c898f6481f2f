// The schemas of what the API answers. Strict on purpose: a field that is added, dropped or changed in an answer
// and not here fails the tests. What shops get is open: published.ts.

import { DECIDERS, EVENT_TYPES, REASONS, SOURCES, STATUSES } from "../../domain/conversion.ts";
import type { JsonSchema } from "../../openapi.ts";
import { AMOUNT_PATTERN, CURRENCY_PATTERN } from "../wire-fields.ts";
import { EXAMPLE_CONVERSION_ID, EXAMPLE_PROGRAM_ID, exampleConversion } from "./example-values.ts";
import { listProblems } from "./problem-list.ts";

export function strictObject(description: string, properties: Record<string, JsonSchema>): JsonSchema {
	return {
		type: "object",
		description,
		properties,
		required: Object.keys(properties),
		additionalProperties: false,
	};
}

export function schemaRef(name: string): JsonSchema {
	return { $ref: `#/components/schemas/${name}` };
}

/** As Date.prototype.toISOString writes it. */
export const UTC_TIME: JsonSchema = {
	type: "string",
	format: "date-time",
	pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
};

function amount(description: string): JsonSchema {
	return { type: "string", pattern: AMOUNT_PATTERN, description, examples: ["129.90"] };
}

function id(prefix: string, description: string, example: string): JsonSchema {
	return { type: "string", pattern: `^${prefix}_[0-9A-Z]{26}$`, description, examples: [example] };
}

function orNull(schema: JsonSchema): JsonSchema {
	return {
		...schema,
		type: ["string", "null"],
		...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
	};
}

/** What a conversion and the callback's body have in common, each field described once. */
export const SUBJECT_FIELDS = {
	orderId: { type: "string", description: "The shop's own order id.", examples: ["ORDER-1001"] },
	programId: id("prg", "The programme it belongs to.", EXAMPLE_PROGRAM_ID),
	eventType: { type: "string", enum: EVENT_TYPES, description: "The kind of conversion." },
	basketValue: amount("The order's value, with exactly the currency's decimals."),
	commission: amount("The affiliate's commission, fixed when the conversion was recorded."),
	networkFee: amount("The network's fee, fixed when the conversion was recorded."),
	currency: { type: "string", pattern: CURRENCY_PATTERN, description: "ISO 4217 code.", examples: ["EUR"] },
	test: { type: "boolean", description: "True for a test conversion." },
	occurredAt: { ...UTC_TIME, description: "The time of the sale." },
} satisfies Record<string, JsonSchema>;

export const CONVERSION_ID = id("cnv", "The conversion's id.", EXAMPLE_CONVERSION_ID);

const REASON_OR_NULL: JsonSchema = {
	...orNull({ enum: REASONS }),
	description: "Why it was rejected or reversed; null otherwise.",
};

function conversionSchema(): JsonSchema {
	const { orderId, programId, eventType, ...rest } = SUBJECT_FIELDS;
	const { occurredAt, test, ...amounts } = rest;
	return {
		...strictObject("A conversion as it is now.", {
			id: CONVERSION_ID,
			orderId,
			programId,
			status: {
				type: "string",
				enum: STATUSES,
				description:
					"Where it stands. `PARKED` (a browser's report that waits for the shop's server) and `EXPIRED` (nobody confirmed it in time) are in no callback.",
			},
			eventType,
			...amounts,
			reason: REASON_OR_NULL,
			test,
			source: { type: "string", enum: SOURCES, description: "Who reported the sale." },
			pixelBasketValue: {
				...orNull(amount("What the browser's pixel had claimed; null when there was none.")),
				examples: [null],
			},
			decidedBy: {
				...orNull({ enum: DECIDERS }),
				description:
					"Who approved, rejected or reversed it: the shop, the review team, or the approval window; null before.",
			},
			occurredAt,
			createdAt: { ...UTC_TIME, description: "When it was recorded, or first reported by a pixel." },
			approvesAt: {
				...orNull(UTC_TIME),
				description: "While `RECORDED`: when it is approved by itself; null otherwise.",
			},
			expiresAt: {
				...orNull(UTC_TIME),
				description: "While `PARKED`: when it expires unconfirmed; null otherwise.",
			},
		}),
		examples: [exampleConversion("conversion.recorded")],
	};
}

export function answerSchemas(): Record<string, JsonSchema> {
	return {
		Conversion: conversionSchema(),
		ConversionPage: strictObject("A page of conversions, the newest first.", {
			conversions: { type: "array", items: schemaRef("Conversion"), description: "At most `limit`." },
			nextCursor: {
				type: ["string", "null"],
				description: "To be sent as `cursor` for the next page; null on the last.",
				examples: [EXAMPLE_CONVERSION_ID],
			},
		}),
		OneConversion: strictObject("One conversion.", { conversion: schemaRef("Conversion") }),
		Problem: problemSchema(),
		ProblemCode: {
			type: "string",
			enum: listProblems().map(({ code }) => code),
			description: "Stable: codes are added, never renamed, and never change their meaning.",
		},
	};
}

/** Of one operation: the outcome words it answers, and the conversion. */
export function outcomeSchema(outcomes: readonly string[], description: string): JsonSchema {
	return strictObject(description, {
		outcome: { type: "string", enum: outcomes, description: "What was done." },
		conversion: schemaRef("Conversion"),
	});
}

function problemSchema(): JsonSchema {
	const fields: Record<string, JsonSchema> = {
		type: { type: "string", format: "uri", description: "An address that explains the code." },
		title: { type: "string", description: "The same for every problem of a code." },
		status: { type: "integer", minimum: 400, maximum: 599, description: "The HTTP status again." },
		detail: {
			type: "string",
			minLength: 1,
			description: "What is wrong with this request, and what to do next.",
		},
		code: schemaRef("ProblemCode"),
	};
	const strict = strictObject("A refusal, as RFC 9457 has it.", fields);
	return {
		...strict,
		properties: {
			...fields,
			field: { type: "string", description: "The field at fault, where there is one." },
		},
	};
}
