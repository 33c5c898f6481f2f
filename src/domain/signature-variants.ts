// What people sign by mistake in place of what is sent: for each part of the canonical string, the spellings
// that were met in the field, each with the sentence that tells its author what to change.

import { readJson } from "./json.ts";

export interface Variant {
	value: string;
	/** Null: the part exactly as it was pasted. */
	mistake: string | null;
}

const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"] as const;

export function methodVariants(method: string): Variant[] {
	const others = [method.toUpperCase(), method.toLowerCase(), ...METHODS];
	const variants = others.map((value) => ({
		value,
		mistake: `The signature was made for the method ${value}, but the request is a ${method}. Sign the method of the request itself, in capital letters.`,
	}));
	return distinct(method, variants);
}

/** `origins`: scheme, host and port under which the request may have been addressed. */
export function targetVariants(target: string, origins: readonly string[]): Variant[] {
	const [path = "", ...rest] = target.split("?");
	const query = rest.length === 0 ? "" : `?${rest.join("?")}`;
	const signed = (value: string, advice: string): Variant => ({
		value,
		mistake: `The signature was made for ${value}, but the request went to ${target}. ${advice}`,
	});
	return distinct(target, [
		signed(path, "Sign the query string too: everything from the first / up to the end."),
		signed(`${path}/${query}`, "Sign the path as it is sent: without the slash at its end."),
		signed(path.replace(/\/+$/, "") + query, "Sign the path as it is sent: with the slash at its end."),
		signed(path.replace(/^\/+/, "") + query, "The path begins with a slash."),
		signed(decode(target), "Sign the path and query percent-encoded, exactly as they are sent."),
		signed(
			encodeURI(decode(target)),
			"Sign the path and query in the spelling that is sent: percent-encoding is part of it.",
		),
		signed(target.replaceAll("+", "%20"), "A space was sent as + and signed as %20: sign what is sent."),
		signed(target.replaceAll("%20", "+"), "A space was sent as %20 and signed as +: sign what is sent."),
		signed(
			path + sortQuery(query),
			"The parameters of the query were put in another order: sign what is sent.",
		),
		...origins.map((origin) =>
			signed(origin + target, "Sign path and query alone, without scheme, host and port."),
		),
	]);
}

/** The same JSON in other bytes, as programs write it again. */
const SPELLINGS: readonly [how: string, write: (json: unknown) => string][] = [
	["without spaces", (json) => JSON.stringify(json)],
	["indented by two spaces", (json) => JSON.stringify(json, null, 2)],
	["indented by four spaces", (json) => JSON.stringify(json, null, 4)],
	["indented by tabs", (json) => JSON.stringify(json, null, "\t")],
	["a space after each comma and colon, as Python writes it", spacedJson],
	["as Python writes it, with letters as \\u codes", (json) => escapeUnicode(spacedJson(json))],
	["as PHP's json_encode writes it", (json) => escapeUnicode(JSON.stringify(json)).replaceAll("/", "\\/")],
	["with letters as \\u codes", (json) => escapeUnicode(JSON.stringify(json))],
	["with its fields in another order", (json) => JSON.stringify(sortKeys(json))],
];

export function bodyVariants(body: string): Variant[] {
	const signed = (value: string, how: string): Variant => ({
		value,
		mistake: `The body was signed ${how}. Hash the bytes exactly as they are sent.`,
	});
	const json = readJson(body);
	const spelled = json === undefined ? [] : SPELLINGS;
	return distinct(body, [
		signed(`${body}\n`, "with a line break at its end that was not sent"),
		signed(body.replace(/\r?\n$/, ""), "without the line break at its end"),
		signed(body.trim(), "without the spaces around it"),
		signed(body.replace(/\r?\n/g, "\r\n"), "with CRLF line breaks"),
		...spelled.map(([how, write]) => ({
			value: write(json),
			mistake: `The body was re-serialised: the same JSON, in other bytes (${how}). Hash the raw bytes exactly as they are sent, and do not parse and write the JSON again.`,
		})),
		{ value: "", mistake: "An empty body was signed. Hash the body that is sent." },
	]);
}

export function secretVariants(secret: string): Variant[] {
	return distinct(secret, [
		{
			value: `${secret}\n`,
			mistake: "The secret was used with a line break at its end (echo adds one). Trim it.",
		},
		{
			value: secret.replace(/^rbs_/, ""),
			mistake: "The secret was used without its beginning rbs_. Use the whole text as it was shown.",
		},
	]);
}

/** The part itself first, then what differs from it, each spelling once. */
function distinct(itself: string, others: readonly Variant[]): Variant[] {
	const found = new Map<string, Variant>([[itself, { value: itself, mistake: null }]]);
	for (const variant of others) if (!found.has(variant.value)) found.set(variant.value, variant);
	return [...found.values()];
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		// A lone "%": nothing was encoded.
		return text;
	}
}

function sortQuery(query: string): string {
	return query === "" ? "" : `?${query.slice(1).split("&").toSorted().join("&")}`;
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
	return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function sortKeys(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sortKeys);
	if (typeof value !== "object" || value === null) return value;
	const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
	return Object.fromEntries(fields.map(([name, field]) => [name, sortKeys(field)]));
}
