// What a piece of page is: markup whose every inserted value has been escaped; and attributes as a table of names.

import { html } from "hono/html";

export type Html = ReturnType<typeof html>;

/** What may stand between two pieces: markup, text to be escaped, or nothing. */
export type Content = Html | string | null | readonly Content[];

/** True is the bare name; false, null and undefined leave it out; of a list, the words that are there. */
type AttributeValue = string | number | boolean | null | undefined | readonly (string | false | undefined)[];

/** Right behind the tag's name, because each begins with a space: `<input${attrs({ name, required: true })}>`. */
export function attrs(values: Readonly<Record<string, AttributeValue>>): Html {
	return html`${Object.entries(values).map(([name, value]) => attribute(name, value))}`;
}

function attribute(name: string, value: AttributeValue): Html | null {
	if (value === undefined || value === null || value === false) return null;
	if (value === true) return html` ${name}`;
	if (typeof value !== "object") return html` ${name}="${value}"`;
	const words = value.filter((word) => typeof word === "string" && word !== "").join(" ");
	return words === "" ? null : html` ${name}="${words}"`;
}
