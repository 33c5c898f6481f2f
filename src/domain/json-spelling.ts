// The same JSON in other bytes, as programs write it again: each way that was met in the field.

import { readJson } from "./json.ts";

/** Of bodies that are larger, only the bytes are looked at: writing them in a dozen ways would take too long. */
const MAX_SPELLED_LENGTH = 65_536;
/** Writing goes down by itself, level by level: what nests deeper than any request is not JSON to us. */
const MAX_DEPTH = 64;

/** Undefined for what is no JSON, or too much of it. */
export function readSpelledJson(text: string): unknown {
	if (text.length > MAX_SPELLED_LENGTH || !isShallow(text)) return undefined;
	return readJson(text);
}

/** Brackets inside strings count too: that only errs on the careful side. */
function isShallow(text: string): boolean {
	let depth = 0;
	for (let at = 0; at < text.length; at++) {
		const unit = text[at];
		if (unit === "[" || unit === "{") depth++;
		else if (unit === "]" || unit === "}") depth--;
		if (depth > MAX_DEPTH) return false;
	}
	return true;
}

export interface Spelling {
	/** What it does to the bytes. */
	cause: "json-spaces" | "json-escapes" | "json-key-order";
	how: string;
	write(json: unknown): string;
}

export const SPELLINGS: readonly Spelling[] = [
	{ cause: "json-spaces", how: "without spaces", write: (json) => JSON.stringify(json) },
	{ cause: "json-spaces", how: "indented by two spaces", write: (json) => JSON.stringify(json, null, 2) },
	{ cause: "json-spaces", how: "indented by four spaces", write: (json) => JSON.stringify(json, null, 4) },
	{ cause: "json-spaces", how: "indented by tabs", write: (json) => JSON.stringify(json, null, "\t") },
	{
		cause: "json-spaces",
		how: "a space after each comma and colon, as Python writes it",
		write: spacedJson,
	},
	{
		cause: "json-spaces",
		how: "as Python writes it, with letters as \\u codes",
		write: (json) => escapeUnicode(spacedJson(json)),
	},
	{
		cause: "json-escapes",
		how: "as PHP's json_encode writes it, with \\/ and \\u codes",
		write: (json) => escapeUnicode(JSON.stringify(json)).replaceAll("/", "\\/"),
	},
	{
		cause: "json-escapes",
		how: "with \\/ for each slash, as PHP writes it",
		write: (json) => JSON.stringify(json).replaceAll("/", "\\/"),
	},
	{
		cause: "json-escapes",
		how: "with letters as \\u codes",
		write: (json) => escapeUnicode(JSON.stringify(json)),
	},
	{
		cause: "json-escapes",
		how: "with <, > and & as \\u codes, as Go writes it",
		write: (json) => escapeMarkup(JSON.stringify(json)),
	},
	{
		cause: "json-key-order",
		how: "with its fields in alphabetical order",
		write: (json) => JSON.stringify(sortKeys(json)),
	},
];

export function sameContent(a: unknown, b: unknown): boolean {
	return JSON.stringify(sortKeys(a)) === JSON.stringify(sortKeys(b));
}

function spacedJson(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const fields = Object.entries(value).map(
		([name, field]) => `${JSON.stringify(name)}: ${spacedJson(field)}`,
	);
	return `{${fields.join(", ")}}`;
}

function escapeUnicode(json: string): string {
	return json.replace(/[\u0080-\uffff]/g, unicodeEscape);
}

function escapeMarkup(json: string): string {
	return json.replace(/[<>&\u2028\u2029]/g, unicodeEscape);
}

function unicodeEscape(unit: string): string {
	return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function sortKeys(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sortKeys);
	if (typeof value !== "object" || value === null) return value;
	const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
	return Object.fromEntries(fields.map(([name, field]) => [name, sortKeys(field)]));
}
