// Fields that several calls of the network's and the partners' APIs share: references, rates, times, invitations and filters.

import * as z from "zod";
import { idOf } from "#core/api/answer-fields.ts";
import { AMOUNT_PATTERN } from "#core/api/sale-fields.ts";
import type { Fault, FaultCode } from "#core/domain/fault.ts";
import { shortenRate } from "#core/domain/money.ts";
import type { Rate } from "#core/domain/rate.ts";
import { isoTime } from "#core/domain/time.ts";
import { EXAMPLE_PARTNER_ID } from "#modules/partners/api/partner-id.ts";

/** Values of the examples in the OpenAPI document. */
export const EXAMPLE = {
	programmeId: "prg_01JEXAMPLE0000000000000000",
	partnerId: EXAMPLE_PARTNER_ID,
	partnershipId: "pts_01JEXAMPLE0000000000000000",
	keyId: "key_01JEXAMPLE0000000000000000",
	statementId: "stm_01JEXAMPLE0000000000000000",
	time: "2026-03-01T12:00:00.000Z",
} as const;

const MAX_REFERENCE_LENGTH = 100;

/** The caller's own name for the resource that a call creates. */
export const REFERENCE = z
	.string()
	.regex(
		new RegExp(`^[\\x21-\\x7e]{1,${MAX_REFERENCE_LENGTH}}$`),
		`must have 1 to ${MAX_REFERENCE_LENGTH} visible ASCII characters, without spaces`,
	)
	.meta({
		description: `Your own name for what is created: 1 to ${MAX_REFERENCE_LENGTH} visible ASCII characters, unique for this call. If a call is repeated with the same reference and the same values, nothing is created again and the answer has the existing one. With other values it is refused (\`reference_used\`).`,
		examples: ["shop-17"],
	})
	.optional();

const PERCENT = /^\d{1,3}(?:\.\d{1,4})?$/;
const PERCENT_META = { description: "Percentage of the basket value.", examples: ["7.5"] };

export const RATE = z
	.strictObject({
		percent: z.string().regex(PERCENT).meta(PERCENT_META),
		fixed: z
			.string()
			.regex(new RegExp(AMOUNT_PATTERN), "must be an amount such as 5.00, which is not negative")
			.meta({ description: "Amount that is added for each conversion.", examples: ["0.00"] }),
	})
	.meta({ id: "Rate", description: "A percentage of the basket value plus a fixed amount." });

/**
 * A percentage in a request. A text that is no percentage is refused with the same code as a percentage above
 * 100.
 */
const PERCENT_INPUT = z
	.string()
	.refine((text) => PERCENT.test(text) && Number(text) <= 100, {
		message: "must be a percentage from 0 to 100 with at most four decimals, such as 7.5",
		params: { code: "invalid_rate" satisfies FaultCode },
	})
	.meta({ ...PERCENT_META, pattern: PERCENT.source });

/** A rate in a request, whose two parts are 0 by default. */
export const RATE_INPUT = z
	.strictObject({ percent: PERCENT_INPUT.default("0"), fixed: RATE.shape.fixed.default("0") })
	.describe("A percentage of the basket value plus a fixed amount. Each is 0 by default.");

export function showRate({ percent, fixed }: Rate): z.output<typeof RATE> {
	return { percent: shortenRate(percent), fixed };
}

/** Writes a rate as people type it into forms, for the use case that parses it. */
export function rateText({ percent, fixed }: z.output<typeof RATE_INPUT>, currency: string): string {
	return `${percent} % + ${fixed} ${currency}`;
}

/**
 * Returns the refusal with the name of the field as the caller sent it. Use cases name a field as the form of
 * their page does. `names` has the name in the call for each name that differs.
 */
export function nameWireField(
	refused: { ok: false; fault: Fault },
	names: Readonly<Record<string, string>>,
): { ok: false; fault: Fault } {
	const { field = "", detail } = refused.fault;
	const wireField = names[field];
	if (wireField === undefined) return refused;
	const isNamed = detail.startsWith(`${field} `);
	const sentence = isNamed ? `${wireField}${detail.slice(field.length)}` : detail;
	return { ok: false, fault: { ...refused.fault, field: wireField, detail: sentence } };
}

export const PROGRAMME_ID = idOf("prg").meta({ examples: [EXAMPLE.programmeId] });
export const PARTNERSHIP_ID = idOf("pts").meta({ examples: [EXAMPLE.partnershipId] });
export const STATEMENT_ID = idOf("stm").meta({ examples: [EXAMPLE.statementId] });
/** An amount that may be negative, in an account or a statement. */
export const SIGNED_AMOUNT = z
	.string()
	.regex(/^-?\d+(?:\.\d+)?$/)
	.meta({ examples: ["129.90"] });

export function timeOrNull(atMs: number | null): string | null {
	return atMs === null ? null : isoTime(atMs);
}

/** Filters of lists. */
export const SEARCH = z.string().meta({ description: "A part of the name, or an ID." });
export const ARCHIVED = z.enum(["true", "false"]);

export const ENDS_CLICKS = z
	.boolean()
	.default(false)
	.describe("True to credit no more sales from clicks that were made before. It is for fraud.");

export const SENT_LINK = z
	.strictObject({
		email: z.string().meta({ examples: ["owner@nordlicht.example"] }),
		isMailed: z.boolean().meta({ description: "True if the invitation is mailed.", examples: [true] }),
		link: z
			.string()
			.nullable()
			.describe(
				"The one-time link of the invitation, which is shown only now. Null if the person can already sign in.",
			),
	})
	.meta({ id: "Invitation", description: "An invitation that was sent." });

/** Shows an invitation. The API shows the link to the network's programs, as the page shows it to staff. */
export function showLink(sent: {
	email: string;
	isMailed: boolean;
	link: string | null;
}): z.output<typeof SENT_LINK> {
	const { email, isMailed, link } = sent;
	return { email, isMailed, link };
}
