// The fields of a sale report that name the partner who brought the customer, and the field of the answer
// about the credit. Apart from too many codes, no value of these fields leads to a refusal of the sale.

import * as z from "zod";
import { type Result, refusalOf, succeed } from "#core/domain/fault.ts";
import type { ClickSealer, OpenedClicks } from "../domain/click-token.ts";
import {
	CREDIT_WORDS,
	MAX_CLICK_ID_CHARACTERS,
	MAX_COUPON_CODE_CHARACTERS,
	MAX_COUPON_CODES,
	NOT_CREDITING,
	readClickIds,
} from "../domain/credit.ts";

export const CLICK_ID = z.unknown().meta({
	type: ["string", "null"],
	description: `Names the partner who brought the customer: the value of the parameter \`rbclick\` with which the customer last came to the shop's page from a partner's link, or the last two values, joined by a dot. At most ${MAX_CLICK_ID_CHARACTERS} characters. \`null\`, \`false\` and an empty text mean none. A sale is never refused because of a click ID that cannot be read, whatever its type; \`credit\` in the answer says why nobody was credited.`,
	examples: ["AVBSq0m0Yw9Vq3bT5kL1ZrE8SgW2c4"],
});

export const COUPON_CODE = z.unknown().meta({
	type: ["string", "null"],
	description: `A coupon code that the customer used. Case and surrounding white space do not matter. At most ${MAX_COUPON_CODE_CHARACTERS} characters. \`null\`, \`false\` and an empty text mean none, and a number counts as its text. A sale is never refused because of an unknown code.`,
	examples: ["SUMMER10"],
});

export const COUPON_CODES = z.unknown().meta({
	type: ["array", "null"],
	items: { type: ["string", "null"] },
	maxItems: MAX_COUPON_CODES,
	description: `All coupon codes of the order, if there can be several. The first one that belongs to a partner counts. \`couponCode\`, if it is sent too, comes before them. Each code follows the rules of \`couponCode\`. More than ${MAX_COUPON_CODES} codes are refused with \`too_many_coupon_codes\`.`,
	examples: [["WELCOME5", "SUMMER10"]],
});

/**
 * Returns the text of a click ID or a coupon code, or undefined if there is none. No value leads to a refusal
 * of the sale. Shops send null, false or "" if they have no code, and send a code of digits as a number.
 */
function signalText(value: unknown): string | undefined {
	const isNone = value === undefined || value === null || value === false;
	const text = typeof value === "string" ? value : isNone ? "" : JSON.stringify(value);
	// PostgreSQL cannot store text with a NUL character.
	return text.replaceAll("\0", "").trim() || undefined;
}

interface CodeFields {
	couponCode?: unknown;
	couponCodes?: unknown;
}

/** Returns the coupon codes of a sale in the order in which they count, or a refusal if there are too many. */
export function parseCouponCodes({ couponCode, couponCodes }: CodeFields): Result<readonly string[]> {
	const listed = [couponCodes].flat().flatMap((code) => signalText(code) ?? []);
	if (listed.length > MAX_COUPON_CODES) {
		return refusalOf("too_many_coupon_codes", { most: MAX_COUPON_CODES, count: listed.length });
	}
	return succeed([...[signalText(couponCode) ?? []].flat(), ...listed]);
}

/** Returns the coupon codes for the inbound log, each shortened to the maximum length of a code. */
export function mentionedCodes(input: unknown): readonly string[] {
	if (typeof input !== "object" || input === null) return [];
	const codes = parseCouponCodes(input);
	return codes.ok ? codes.value.map((code) => code.slice(0, MAX_COUPON_CODE_CHARACTERS)) : [];
}

/**
 * Returns a function that decrypts the click IDs of a sale, or undefined if there are none. A bad click ID is no reason to
 * refuse the sale; `credit` in the answer says what was wrong with it.
 */
export function openerOf(clickId: unknown, sealer: ClickSealer): (() => OpenedClicks) | undefined {
	const text = signalText(clickId);
	return text === undefined ? undefined : () => readClickIds(text).map(sealer.open);
}

/**
 * Field that says whether a partner is credited. It is present if the programme credits partners, or if the
 * report names a partner although the programme credits none.
 */
export const CREDIT = {
	credit: z
		.enum([...CREDIT_WORDS, NOT_CREDITING])
		.optional()
		.meta({
			description:
				"If the programme credits partners: why a partner was credited (`CODE`, `CLICK`), or why nobody was. With a `DUPLICATE` that was sent with `clickId`, `couponCode` or `couponCodes`: the credit that the conversion has now, from the best of its reports. A `DUPLICATE` without these fields has no `credit`. `NOT_CREDITING`: one of these fields was sent, but the programme does not credit partners.",
			examples: ["CLICK"],
		}),
};
