// What the basket value of a sale report contains. Each programme has one of these rules, which its owner or the
// network's staff choose, and may add a note. Without an agreed rule, two shops of a network would differ by the VAT.

import { parseLines } from "./display-name.ts";
import { type Result, refuse, succeed } from "./fault.ts";

const SENTENCES = {
	TOTAL: "The total that the customer pays: with VAT, with shipping, after discounts.",
	TOTAL_NET: "The total that the customer pays, without VAT: with shipping, after discounts.",
	GOODS: "The goods alone: with VAT, without shipping, after discounts.",
	GOODS_NET: "The goods alone: without VAT, without shipping, after discounts.",
} as const;

export type BasketRule = keyof typeof SENTENCES;

export const BASKET_RULES = Object.keys(SENTENCES) as readonly BasketRule[];

/** Rule of a programme for which nobody has chosen one. Shops find the order's total in every shop system. */
export const DEFAULT_BASKET_RULE: BasketRule = "TOTAL";

/** Maximum length of the note beside the rule, which is enough for two sentences. */
const MAX_BASKET_NOTE_LENGTH = 300;

export function basketSentence(rule: BasketRule): string {
	return SENTENCES[rule];
}

/** Returns the rule's sentence and, after it, the words that the programme adds. */
export function describeBasketValue(rule: BasketRule, note: string): string {
	return note === "" ? SENTENCES[rule] : `${SENTENCES[rule]} ${note}`;
}

export function parseBasketRule(text: string, field: string): Result<BasketRule> {
	const rule = BASKET_RULES.find((known) => known === text);
	if (rule !== undefined) return succeed(rule);
	return refuse("invalid_field", "Choose one of the listed rules for the basket value.", field);
}

/** Checks the words that a programme adds to its rule, such as "Gift cards do not count." */
export function parseBasketNote(text: string, field: string): Result<string> {
	const note = parseLines(text, MAX_BASKET_NOTE_LENGTH)?.replaceAll("\n", " ");
	if (note !== undefined) return succeed(note);
	const detail = `Write at most ${MAX_BASKET_NOTE_LENGTH} characters, and none that are invisible.`;
	return refuse("invalid_field", detail, field);
}
