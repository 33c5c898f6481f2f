// What is wrong with a signed request: what was signed beside what was seen, part by part. Of a callback of ours the first
// is known. Of everything else it is searched for, one mistake at a time: an HMAC cannot fit by accident, so what fits is
// the explanation, and what nothing fits is not explained.

import { canonicalString, sha256Hex, signatureMatches } from "../domain/signature.ts";
import { showUnseen } from "../domain/visible-text.ts";
import type { Direction, SignedParts } from "./pasted-request.ts";
import type { KeyCandidate } from "./secrets.ts";

/** As they are called in sentences. */
export type Part =
	| "method"
	| "path and query"
	| "timestamp"
	| "nonce"
	| "body"
	| "signature"
	| "signed text"
	| "secret";

export type Verdict = "good" | "warn" | "bad" | "unknown";

export interface Finding {
	part: Part;
	verdict: Verdict;
	/** The mistake's name; null where there is none. */
	cause: string | null;
	text: string;
	difference?: TextDifference;
}

/** Where two texts differ, to the byte, with everything that cannot be seen written out. */
export interface TextDifference {
	/** Bytes that both begin with, in UTF-8. */
	offset: number;
	signedBytes: number;
	seenBytes: number;
	/** The end of what both begin with, and the beginning of what both end with. */
	before: string;
	after: string;
	/** What stands between them, shortened. */
	signed: string;
	seen: string;
}

const RAW_BYTES = "Hash the raw bytes as they arrive, before anything parses, changes or prints them.";
const RAW_TARGET =
	"Check with path and query as they reached your first server (Express: req.originalUrl, PHP: $_SERVER['REQUEST_URI']).";
const AS_SENT = "Sign exactly what is sent.";

/** The causes of two texts that differ: in a callback what happened on its way, in a request what was signed instead. */
const WORDS = {
	missing: {
		callback: "It is missing: something removed it or read it before your code did, or it was not pasted.",
		request: `It was signed, but it is not sent. ${AS_SENT}`,
	},
	unsigned: {
		callback: "We sent none.",
		request:
			"The signature was computed without it: your code had nothing there. Read the body before hashing.",
	},
	method: {
		callback:
			"We sent a POST. A redirect in front of your server (to https, to www, to a path with a slash) makes a GET of it and drops the body: save the final URL.",
		request: "The signature was computed for another method. Use the request's own, in capital letters.",
	},
	query: {
		callback: `The query string was dropped or added: by a proxy, or by code that takes the path alone. It is signed with the path. ${RAW_TARGET}`,
		request:
			"The signature was computed without the query string. Sign it, too: everything from the first / behind the host to the end.",
	},
	"path-prefix": {
		callback: `The beginning of the path was stripped or added: by a proxy, a gateway, or where your app is mounted. ${RAW_TARGET}`,
		request:
			"The signature was computed over a path with another beginning. Sign it as it is sent, from the first / behind the host.",
	},
	target: {
		callback: `A proxy or router changed path or query, or the Postback URL was another one then. ${RAW_TARGET}`,
		request: `The signature was computed over another path or query. ${AS_SENT}`,
	},
	milliseconds: {
		callback: "We sent Unix time in seconds; this is in milliseconds. Use the header as it came.",
		request: "One of the two is in milliseconds. Send and sign Unix time in seconds.",
	},
	reserialised: {
		callback: `The body was re-serialised: the same JSON in other bytes. ${RAW_BYTES}`,
		request:
			"The signature was computed over the same JSON in other bytes: the body was serialised again between signing and sending. Make the text once, sign it and send it.",
	},
	"line-break": {
		callback: `A line break or space at its end was added or removed: editors, logs and echo do that. ${RAW_BYTES}`,
		request: `The signature was computed with another line break or space at its end. ${AS_SENT}`,
	},
	body: {
		callback: `It is not the body that we sent with this signature. ${RAW_BYTES} Take headers and body from the same request.`,
		request: `The signature was computed over another body. ${AS_SENT}`,
	},
	base64: {
		callback: "It is in base64; we sent hex. Use the header as it came.",
		request: "It is in base64. Send the HMAC as 64 hex digits.",
	},
	header: {
		callback:
			"It is not what we sent. Use each header exactly as it came, and take all of them from the same request.",
		request: "It must be 64 hex digits and nothing else.",
	},
} as const satisfies Record<string, Record<Direction, string>>;

export function finding(part: Part, verdict: Verdict, text: string, cause: string | null = null): Finding {
	return { part, verdict, cause, text };
}

export function compareParts(signed: SignedParts, seen: SignedParts, direction: Direction): Finding[] {
	const parts = ["method", "target", "timestamp", "nonce", "body", "signature"] as const;
	return parts.map((part) =>
		comparePart(part === "target" ? "path and query" : part, signed[part], seen[part], direction),
	);
}

function comparePart(part: Part, signed: string, seen: string, direction: Direction): Finding {
	if (signed === seen) return finding(part, "good", direction === "callback" ? "As sent." : "As signed.");
	if (part === "signature" && signed === seen.toLowerCase()) {
		return finding(part, "warn", "It is in upper case. We send lower case, and accept both.");
	}
	const cause = causeOf(part, signed, seen);
	return { ...finding(part, "bad", WORDS[cause][direction], cause), difference: differenceOf(signed, seen) };
}

function causeOf(part: Part, signed: string, seen: string): keyof typeof WORDS {
	if (seen === "") return "missing";
	if (signed === "") return "unsigned";
	switch (part) {
		case "method":
			return "method";
		case "path and query":
			if (pathOf(signed) === seen || pathOf(seen) === signed) return "query";
			return signed.endsWith(seen) || seen.endsWith(signed) ? "path-prefix" : "target";
		case "timestamp":
			return signed === seen.slice(0, -3) || seen === signed.slice(0, -3) ? "milliseconds" : "header";
		case "body":
			if (signed.trimEnd() === seen.trimEnd()) return "line-break";
			return isSameJson(signed, seen) ? "reserialised" : "body";
		default:
			return BASE64.test(seen) && hexOf(seen) === signed ? "base64" : "header";
	}
}

/** Enough to find the place. */
const AROUND = 16;
/** A line or two on a phone. */
const MAX_SHOWN = 72;

export function differenceOf(signed: string, seen: string): TextDifference {
	// By characters and not by UTF-16 units: half a character is never shown.
	const [a, b] = [Array.from(signed), Array.from(seen)];
	const most = Math.min(a.length, b.length);
	let start = 0;
	while (start < most && a[start] === b[start]) start++;
	let end = 0;
	while (end < most - start && a.at(-1 - end) === b.at(-1 - end)) end++;
	const shared = a.slice(a.length - end);
	return {
		offset: Buffer.byteLength(a.slice(0, start).join("")),
		signedBytes: Buffer.byteLength(signed),
		seenBytes: Buffer.byteLength(seen),
		before: (start > AROUND ? "…" : "") + showUnseen(a.slice(Math.max(0, start - AROUND), start).join("")),
		after: showUnseen(shared.slice(0, AROUND).join("")) + (end > AROUND ? "…" : ""),
		signed: shorten(a.slice(start, a.length - end)),
		seen: shorten(b.slice(start, b.length - end)),
	};
}

function shorten(characters: readonly string[]): string {
	const left = Buffer.byteLength(characters.slice(MAX_SHOWN).join(""));
	const shown = showUnseen(characters.slice(0, MAX_SHOWN).join(""));
	return left === 0 ? shown : `${shown}… (${left} more bytes)`;
}

/** Of 32 bytes. */
const BASE64 = /^[0-9A-Za-z+/_-]{43}=?$/;

/** In lower-case hex, also of one in base64 or with another service's "sha256=" before it; null for what cannot be one. */
export function hexOf(signature: string): string | null {
	const bare = signature.replace(/^(?:sha256|v1)=/i, "");
	if (/^[0-9a-f]{64}$/i.test(bare)) return bare.toLowerCase();
	return BASE64.test(bare) ? Buffer.from(bare, "base64").toString("hex") : null;
}

export function canonicalOf({ method, target, timestamp, nonce, body }: SignedParts): string {
	return canonicalString(method, target, timestamp, nonce, sha256Hex(body));
}

/** What a signature was made over, and with what. */
export interface Explanation {
	/** Its signature is in lower-case hex. */
	parts: SignedParts;
	/** A line break stood behind the five parts. */
	hasLineBreakAtEnd: boolean;
	key: KeyCandidate;
}

/**
 * With four secrets in use and four that ended, 45 keys are tried over the request as it is, and at most 34 other texts
 * with each of the four that are right to sign with: 181. A try takes a few microseconds, and each body is hashed once.
 */
export const MAX_TRIES = 200;

/**
 * Null when no single mistake explains its signature. `targets`: what else may have been signed as the target. `giveWay`
 * lets others get on: writing a body anew and hashing it takes up to half a millisecond each time.
 */
export async function explain(
	seen: SignedParts,
	keys: readonly KeyCandidate[],
	targets: readonly string[],
	giveWay: () => Promise<void>,
): Promise<{ found: Explanation | null; tries: number }> {
	const signature = hexOf(seen.signature) ?? "";
	const rightKeys = keys.filter(({ isRight }) => isRight);
	function* texts() {
		yield { parts: seen, end: "", tried: keys };
		yield { parts: seen, end: "\n", tried: rightKeys };
		for (const parts of withOneMistake(seen, targets)) yield { parts, end: "", tried: rightKeys };
	}
	let tries = 0;
	for (const { parts, end, tried } of texts()) {
		await giveWay();
		const text = canonicalOf(parts) + end;
		for (const key of tried) {
			if (tries === MAX_TRIES) return { found: null, tries };
			tries++;
			if (!signatureMatches(key.key, text, signature)) continue;
			return { found: { parts: { ...parts, signature }, hasLineBreakAtEnd: end !== "", key }, tries };
		}
	}
	return { found: null, tries };
}

function* withOneMistake(seen: SignedParts, targets: readonly string[]): Generator<SignedParts> {
	const { method, target, timestamp, body } = seen;
	const path = pathOf(target);
	const query = target.slice(path.length);
	const candidates: Partial<Record<keyof SignedParts, Iterable<string>>> = {
		body: rewritten(body),
		target: [
			path,
			...targets,
			// A client whose base URL has a path signs what is behind it, or signs that path twice.
			...[2, 3].map((from) => `/${target.split("/").slice(from).join("/")}`),
			...["/v1", "/api"].map((prefix) => prefix + target),
			target.slice(1),
			path.endsWith("/") ? path.slice(0, -1) + query : `${path}/${query}`,
		],
		timestamp: [`${timestamp}000`, timestamp.replace(/^(\d{10})\d{3}$/, "$1")],
		method: [method.toUpperCase(), "POST", "GET"],
	};
	for (const [part, values] of Object.entries(candidates)) {
		const known = new Set<string>();
		for (const value of values) {
			if (!known.has(value)) yield { ...seen, [part]: value };
			known.add(value);
		}
	}
}

function pathOf(target: string): string {
	return target.split("?", 1)[0] ?? "";
}

/** Many times a callback or a sale. To write a longer one anew takes milliseconds, in which a shop's report would wait. */
const MAX_REWRITTEN_CHARACTERS = 8_192;

/** With another end, as the usual programs write the same JSON, and none; each made when it is asked for. */
function* rewritten(body: string): Generator<string> {
	yield* [`${body}\n`, `${body}\r\n`, body.trimEnd(), body.replaceAll("\n", "\r\n"), ""];
	if (body.length > MAX_REWRITTEN_CHARACTERS) return;
	try {
		const json = JSON.parse(body);
		const plain = JSON.stringify(json);
		// Python: a space behind each comma and colon that is not inside a string.
		const spaced = plain.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[,:]/gs, (token) =>
			token.length === 1 ? `${token} ` : token,
		);
		yield plain;
		yield JSON.stringify(json, null, 2);
		yield JSON.stringify(json, null, 4);
		yield spaced;
		yield escapeUnicode(spaced);
		// PHP, and with its flags for letters or for slashes.
		yield escapeUnicode(plain).replaceAll("/", "\\/");
		yield plain.replaceAll("/", "\\/");
		yield escapeUnicode(plain);
		// Go.
		yield plain.replace(/[<>&]/g, unicodeEscape);
		yield JSON.stringify(json, sortKeys);
	} catch {
		// It is no JSON, or nests deeper than any request does.
	}
}

function isSameJson(a: string, b: string): boolean {
	try {
		return JSON.stringify(JSON.parse(a), sortKeys) === JSON.stringify(JSON.parse(b), sortKeys);
	} catch {
		return false;
	}
}

function sortKeys(_: string, value: unknown): unknown {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
	return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function escapeUnicode(json: string): string {
	return json.replace(/[\u0080-\uffff]/g, unicodeEscape);
}

function unicodeEscape(unit: string): string {
	return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
