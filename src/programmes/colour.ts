// The network's colour, as people type it. The style sheet makes it readable: see `writeTheme` in web/document.

import { type Result, refuse, succeed } from "../domain/fault.ts";

/** Six hex digits behind a number sign, in small letters. */
type Colour = string;

/** Null for an empty field: the colour that Ringback comes with. */
export function parseColour(text: string): Result<Colour | null> {
	const typed = text.trim().toLowerCase();
	if (typed === "") return succeed(null);
	const [, digits = ""] = /^#?([\da-f]{6}|[\da-f]{3})$/.exec(typed) ?? [];
	if (digits === "") {
		return refuse(
			"invalid_colour",
			`"${text}" is not a colour. Enter six hex digits, such as #3b4fd8.`,
			"colour",
		);
	}
	return succeed(`#${digits.length === 3 ? digits.replace(/./g, "$&$&") : digits}`);
}
