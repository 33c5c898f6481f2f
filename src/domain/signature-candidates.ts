// What may have been signed, judging by what was pasted: for each part the value itself, and what it may have been before
// a proxy, a framework or a person changed it. Whether it was is for the signature to say; body-damage and its siblings
// name the difference. Each list is bounded, and the likeliest come first.

import { BOM, unescapeHtml } from "./body-likeness.ts";
import { isBase64 } from "./header-damage.ts";
import { readSpelledJson, SPELLINGS } from "./json-spelling.ts";
import { unquote } from "./pasted-request.ts";
import { sha256Hex } from "./signature.ts";
import { decode, splitTarget } from "./target-damage.ts";

const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"] as const;

export function methodCandidates(method: string): string[] {
	return distinct([method, method.toUpperCase(), method.toLowerCase(), ...METHODS]);
}

/** `known`: what callbacks go to or went to, the present first. `origins`: under which the request may have been addressed. */
export function targetCandidates(
	target: string,
	known: readonly string[],
	origins: readonly string[],
): string[] {
	const { path, query } = splitTarget(target);
	return distinct([
		target,
		...known,
		// The path was changed and the query came through, or the other way round.
		...known.flatMap((one) => [splitTarget(one).path + query, path + splitTarget(one).query]),
		path,
		`${path}/${query}`,
		path.replace(/\/$/, "") + query,
		path.replace(/^\//, "") + query,
		path.replace(/\/{2,}/g, "/") + query,
		target.toLowerCase(),
		decode(target),
		decode(path) + query,
		path + decode(query),
		encodeURI(decode(target)),
		target.replace(/%[0-9a-f]{2}/gi, (code) => code.toUpperCase()),
		target.replaceAll("+", "%20"),
		target.replaceAll("%20", "+"),
		target.replaceAll("&amp;", "&"),
		...reordered(query).map((other) => path + other),
		...origins.map((origin) => origin + target),
	]);
}

export function timestampCandidates(timestamp: string, sentAtMs: number | null): string[] {
	const bare = unquote(timestamp.split(",")[0]?.trim() ?? "");
	const seconds = Number(bare);
	const dateMs = /[a-z:-]/i.test(bare) ? Date.parse(bare) : Number.NaN;
	return distinct([
		timestamp,
		bare,
		...(/^\d{13}/.test(bare) ? [bare.slice(0, 10)] : []),
		...(Number.isFinite(seconds) ? [String(Math.floor(seconds)), `${Math.floor(seconds)}000`] : []),
		...(Number.isFinite(dateMs) ? [String(Math.floor(dateMs / 1000))] : []),
		...(sentAtMs === null ? [] : [String(Math.floor(sentAtMs / 1000))]),
	]);
}

export function nonceCandidates(nonce: string): string[] {
	const bare = unquote(nonce.split(",")[0]?.trim() ?? "");
	return distinct([nonce, bare, bare.toLowerCase(), bare.toUpperCase(), bare.replaceAll("-", "")]);
}

/** In lower-case hex, whatever it was written in; maybe only its beginning. Null for what cannot be one. */
export function signatureDigits(signature: string): string | null {
	const first = unquote(signature.split(",").at(-1)?.trim() ?? "");
	const bare = first.replace(/^(?:sha256|v1|hmac|hmac-sha256)[=: ]\s*/i, "").replace(/[\p{Cf}\p{Zs}]/gu, "");
	const hex = isBase64(bare) ? Buffer.from(bare, "base64").toString("hex") : bare.toLowerCase();
	return new RegExp(`^[0-9a-f]{${MIN_DIGITS},64}$`).test(hex) ? hex : null;
}

/** Of 64. Fewer could be guessed one after the other. */
const MIN_DIGITS = 16;

export interface BodyCandidate {
	text: string;
	/** Its SHA-256. */
	digest: string;
	/** The character set it was hashed in, if that is not UTF-8. */
	charset: string | null;
}

/** `composed`: the bodies of callbacks that this one may be, as we would have sent them. */
export function bodyCandidates(body: string, composed: readonly string[]): BodyCandidate[] {
	const json = readSpelledJson(body);
	const texts = distinct([
		body,
		...composed,
		`${body}\n`,
		`${body}\r\n`,
		body.replace(/\r?\n$/, ""),
		body.trim(),
		body.replaceAll("\n", "\r\n"),
		body.startsWith(BOM) ? body.slice(1) : BOM + body,
		...(json === undefined ? [] : SPELLINGS.map(({ write }) => write(json))),
		...unwrapped(body),
		...repaired(body),
		"",
	]);
	const inUtf8 = texts.map((text) => ({ text, digest: sha256Hex(text), charset: null }));
	return [...inUtf8, ...inLatin1(body)];
}

/** Out of what a program or a gateway wrapped it in. */
function unwrapped(body: string): string[] {
	const trimmed = body.trim();
	const json = readSpelledJson(trimmed);
	return [
		...(typeof json === "string" ? [json] : []),
		trimmed.replace(/^b?(['"])(.*)\1$/s, "$2"),
		trimmed.replaceAll('\\"', '"'),
		unescapeHtml(body),
		...(/^[A-Za-z0-9+/]{16,}={0,2}$/.test(trimmed) ? [Buffer.from(trimmed, "base64").toString()] : []),
		...(trimmed.startsWith("%7B") ? [decode(trimmed.replaceAll("+", "%20").replace(/=$/, ""))] : []),
	];
}

const IN_LATIN1 = /^[\p{ASCII}\u0080-\u00ff]*$/u;

/** UTF-8 that was read as Latin-1, and accents that were composed otherwise. */
function repaired(body: string): string[] {
	const isLatin = IN_LATIN1.test(body);
	return [
		...(isLatin ? [Buffer.from(body, "latin1").toString("utf8")] : []),
		body.normalize("NFC"),
		body.normalize("NFD"),
	];
}

function inLatin1(body: string): BodyCandidate[] {
	const isOther = Buffer.byteLength(body) !== body.length && IN_LATIN1.test(body);
	return isOther ? [{ text: body, digest: sha256Hex(Buffer.from(body, "latin1")), charset: "Latin-1" }] : [];
}

/** Each once, in their order. */
function distinct(values: readonly string[]): string[] {
	return [...new Set(values)];
}

/** Sorted by name, and the other way round. */
function reordered(query: string): string[] {
	const parameters = query.slice(1).split("&");
	return parameters.length < 2
		? []
		: [parameters.toSorted(), parameters.toReversed()].map((list) => `?${list.join("&")}`);
}
