// The fields of a conversion, each described once with its sentence and its example. The schemas of answers and callbacks,
// the tables of fields in docs/, the examples in /openapi.json and the types of @ringback/receiver follow from these lists.
// Fields of modules are described in the modules.

import * as z from "zod";
import { announcedStatus, DECIDERS, EVENT_TYPES, REASONS, SOURCES, STATUSES } from "../domain/conversion.ts";
import { EVENT_NAMES } from "../domain/event-name.ts";
import { AMOUNT, idOf, UTC_TIME } from "./answer-fields.ts";
import {
	CURRENCY_PATTERN,
	EXAMPLE_CONVERSION_ID,
	EXAMPLE_ORDER_ID,
	EXAMPLE_PROGRAM_ID,
} from "./sale-fields.ts";

const RECORDED_AT = "2026-03-01T11:30:01.000Z";

/** The fields of a conversion in an answer, in their order. The examples are a conversion that has just been recorded. */
export const CONVERSION_FIELDS = {
	id: idOf("cnv").meta({ description: "The conversion's ID.", examples: [EXAMPLE_CONVERSION_ID] }),
	orderId: z.string().meta({
		description: "The shop's own ID of the order, as it was reported.",
		examples: [EXAMPLE_ORDER_ID],
	}),
	programId: idOf("prg").meta({
		description: "The programme that the conversion belongs to.",
		examples: [EXAMPLE_PROGRAM_ID],
	}),
	status: z.enum(STATUSES).meta({
		description:
			"The current status. `PARKED` (reported by a browser, and waiting for the shop's server) and `EXPIRED` (not confirmed in time) never appear in a callback.",
		examples: ["RECORDED"],
	}),
	eventType: z.enum(EVENT_TYPES).meta({ description: "The kind of conversion.", examples: ["SALE"] }),
	basketValue: AMOUNT.meta({
		description: "The order's value less partial refunds, with exactly the currency's decimals.",
		examples: ["129.90"],
	}),
	commission: AMOUNT.meta({
		description:
			"The affiliate's commission, by the rates that applied when the conversion was recorded. It stays the same when the conversion is rejected or reversed, and the affiliate then earns nothing.",
		examples: ["10.39"],
	}),
	networkFee: AMOUNT.meta({
		description: "The network's fee, by the rates that applied when the conversion was recorded.",
		examples: ["3.25"],
	}),
	currency: z
		.string()
		.regex(new RegExp(CURRENCY_PATTERN))
		.meta({ description: "ISO 4217 code.", examples: ["EUR"] }),
	reason: z
		.enum(REASONS)
		.nullable()
		.meta({ description: "Why it was rejected or reversed; null otherwise.", examples: [null] }),
	test: z.boolean().meta({ description: "True for a test conversion.", examples: [false] }),
	source: z.enum(SOURCES).meta({
		description:
			"Who reported the sale. `postback`: the shop's server, by its own signed request to us. `pixel`: a browser. `test`: a test conversion. `import`: it was decided in other software before, and no callback announced it.",
		examples: ["postback"],
	}),
	pixelBasketValue: AMOUNT.nullable().meta({
		description: "The value that the browser's pixel reported, or null if there was no pixel call.",
		examples: [null],
	}),
	refundedValue: AMOUNT.meta({
		description:
			"The sum of all partial refunds. `basketValue` is what is left. A refund of everything that was left is a reversal, and is not in this sum.",
		examples: ["0.00"],
	}),
	decidedBy: z
		.enum(DECIDERS)
		.nullable()
		.meta({
			description:
				"Who approved, rejected or reversed the conversion: the shop, the review team, or the approval window. Null before that, and if it was decided in other software.",
			examples: [null],
		}),
	occurredAt: UTC_TIME.meta({ description: "The time of the sale.", examples: ["2026-03-01T11:30:00.000Z"] }),
	createdAt: UTC_TIME.meta({
		description: "The time at which the conversion was recorded, or first reported by a pixel.",
		examples: [RECORDED_AT],
	}),
	updatedAt: UTC_TIME.meta({
		description:
			"The time of the last change. It is later than `createdAt` exactly if the conversion changed after that.",
		examples: [RECORDED_AT],
	}),
	approvesAt: UTC_TIME.nullable().meta({
		description:
			"The time at which a `RECORDED` conversion is approved automatically. Null otherwise, and while only a pixel has reported it.",
		examples: ["2026-03-31T11:30:01.000Z"],
	}),
	expiresAt: UTC_TIME.nullable().meta({
		description: "The time at which a `PARKED` conversion expires. Null otherwise.",
		examples: [null],
	}),
};

const { orderId, programId, eventType, basketValue, commission, networkFee, currency, test, occurredAt } =
	CONVERSION_FIELDS;

/** The fields of a callback's body, in the order of contract section 2.1. */
export const CALLBACK_FIELDS = {
	event: z.enum(EVENT_NAMES).describe("The event's name, as in the header."),
	conversionId: CONVERSION_FIELDS.id,
	orderId,
	programId,
	status: z.enum(EVENT_NAMES.map(announcedStatus)).describe("The status at the moment of the event."),
	eventType,
	basketValue,
	commission,
	networkFee,
	currency,
	reason: CONVERSION_FIELDS.reason.describe(
		"Why it was rejected or reversed; null for the other two events.",
	),
	test,
	occurredAt,
	sentAt: UTC_TIME.describe("The time of this attempt."),
};
