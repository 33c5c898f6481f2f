// The shop's own name for an order: any text that can be stored, compared and shown.

import { type Result, refuse, succeed } from "./fault.ts";

export const MAX_ORDER_ID_CHARACTERS = 128;

export function parseOrderId(text: string): Result<string> {
	const count = [...text].length;
	if (count > MAX_ORDER_ID_CHARACTERS || text.trim() === "") {
		return refuse(
			"invalid_field",
			`orderId must have 1 to ${MAX_ORDER_ID_CHARACTERS} characters, and not only spaces.`,
			"orderId",
		);
	}
	// U+FFFD is what a decoder leaves of bytes that were not UTF-8: two orders could become the same one.
	if (/[\p{Cc}\u{FFFD}]/u.test(text) || !text.isWellFormed()) {
		return refuse(
			"invalid_field",
			"orderId must not hold control characters or broken Unicode. Send it in UTF-8.",
			"orderId",
		);
	}
	return succeed(text);
}
