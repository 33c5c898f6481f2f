// How one body can have come from another: each question is asked of two texts, and answered without throwing.

import { readSpelledJson, SPELLINGS, type Spelling, sameContent } from "./json-spelling.ts";
import { codePointOf } from "./visible-text.ts";

export const BOM = "\uFEFF";

/** What `longer` has behind `shorter`. */
export function tail(shorter: string, longer: string): string | null {
	return longer.length > shorter.length && longer.startsWith(shorter) ? longer.slice(shorter.length) : null;
}

/** As JSON, as Python's bytes, in plain quotes, or with backslashes before its own. */
export function isQuotation(text: string, quoted: string): boolean {
	return (
		quoted === JSON.stringify(text) ||
		quoted === `b'${text}'` ||
		quoted === `'${text}'` ||
		quoted === `"${text}"` ||
		quoted === text.replaceAll('"', '\\"')
	);
}

export function isBase64Of(text: string, encoded: string): boolean {
	return text !== "" && encoded.trim() === Buffer.from(text).toString("base64");
}

export function isFormText(text: string, encoded: string): boolean {
	if (text === "" || encoded === text) return false;
	try {
		return decodeURIComponent(encoded.replaceAll("+", "%20").replace(/=$/, "")) === text;
	} catch {
		// A lone "%": it is none.
		return false;
	}
}

export function unescapeHtml(text: string): string {
	return text
		.replace(/&(?:quot|#34|#x22);/gi, '"')
		.replace(/&(?:#39|#x27|apos);/gi, "'")
		.replace(/&lt;/gi, "<")
		.replace(/&gt;/gi, ">")
		.replace(/&amp;/gi, "&");
}

const PRINTED: readonly [language: string, shape: RegExp][] = [
	["JavaScript", /^\[object Object\]$/],
	["PHP", /^(?:Array|stdClass Object|object\(stdClass\))/],
	["Python", /^(?:OrderedDict\(|ImmutableMultiDict\(|\{'[A-Za-z]+': )/],
	["Ruby", /^\{"?:?[A-Za-z]+"? ?=> ?/],
	["Go", /^map\[/],
	["Java", /^\{[A-Za-z]+=/],
];

export function printedBy(text: string): string | null {
	return PRINTED.find(([, shape]) => shape.test(text))?.[0] ?? null;
}

/** The character set that UTF-8 was taken for. */
export function misreadAs(text: string, misread: string): string | null {
	const bytes = Buffer.from(text);
	if (bytes.length === text.length) return null;
	if (bytes.toString("latin1") === misread) return "Latin-1";
	return new TextDecoder("windows-1252").decode(bytes) === misread ? "Windows-1252" : null;
}

export function hasLostCharacters(text: string, lossy: string): boolean {
	if (Buffer.byteLength(text) === text.length) return false;
	return blur(text) === blur(lossy) || text.replace(NOT_ASCII, "") === lossy;
}

const NOT_ASCII = /[^\p{ASCII}]/gu;

function blur(text: string): string {
	return text.replace(/[^\p{ASCII}]|\?/gu, "?").replace(/\?+/g, "?");
}

/** How `rewritten` was written from the JSON of `original`, if that is all that happened. */
export function spelledAs(cause: Spelling["cause"], original: string, rewritten: string): string | null {
	const [before, after] = [readSpelledJson(original), readSpelledJson(rewritten)];
	if (before === undefined || after === undefined || !sameContent(before, after)) return null;
	const found = SPELLINGS.find(({ write }) => write(before) === rewritten);
	return found?.cause === cause ? found.how : null;
}

export function isSameJson(signed: string, seen: string): boolean {
	const [before, after] = [readSpelledJson(signed), readSpelledJson(seen)];
	return before !== undefined && after !== undefined && sameContent(before, after);
}

export function isKeyOrderChanged(signed: string, seen: string): boolean {
	return (
		isSameJson(signed, seen) &&
		JSON.stringify(readSpelledJson(signed)) !== JSON.stringify(readSpelledJson(seen))
	);
}

/** Texts of digits and numbers taken for the same. */
export function isSameWithNumbers(signed: string, seen: string): boolean {
	const [before, after] = [readSpelledJson(signed), readSpelledJson(seen)];
	return isRecord(before) && isRecord(after) && sameContent(asNumbers(before), asNumbers(after));
}

export function isSameWithoutNulls(signed: string, seen: string): boolean {
	const [before, after] = [readSpelledJson(signed), readSpelledJson(seen)];
	return isRecord(before) && isRecord(after) && sameContent(withoutNulls(before), withoutNulls(after));
}

function withoutNulls(record: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(record).filter(([, field]) => field !== null));
}

function asNumbers(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(asNumbers);
	if (typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value)) return Number(value);
	if (!isRecord(value)) return value;
	return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, asNumbers(field)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** At the top, where our bodies have all their fields. Empty when either is no object. */
export function changedFields(signed: string, seen: string): string[] {
	const [before, after] = [readSpelledJson(signed), readSpelledJson(seen)];
	if (!isRecord(before) || !isRecord(after)) return [];
	const names = new Set([...Object.keys(before), ...Object.keys(after)]);
	return [...names].filter((name) => !sameContent(before[name], after[name])).slice(0, 5);
}

const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}]|(?![\t\n\r])\p{Cc}/u;
const EVERY_INVISIBLE = new RegExp(INVISIBLE, "gu");

/** The first character that makes the only difference and cannot be seen. */
export function invisibleIn(signed: string, seen: string): string | null {
	const found = INVISIBLE.exec(seen)?.[0] ?? INVISIBLE.exec(signed)?.[0];
	const isAll = signed.replace(EVERY_INVISIBLE, "") === seen.replace(EVERY_INVISIBLE, "");
	return found !== undefined && isAll ? codePointOf(found) : null;
}

export function plainTypography(text: string): string {
	return text
		.replace(/[“”„«»]/g, '"')
		.replace(/[‘’‚]/g, "'")
		.replace(/[–—]/g, "-")
		.replace(/(?! )\p{Zs}/gu, " ");
}
