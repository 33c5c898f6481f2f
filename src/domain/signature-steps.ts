// What was signed beside what was seen, part by part: each part is right, or has its damage named and shown to the byte.

import { BODY_RULES } from "./body-damage.ts";
import { type DamageRule, nameDamage } from "./damage.ts";
import { EVENT_RULES, NONCE_RULES, SIGNATURE_RULES, TIMESTAMP_RULES } from "./header-damage.ts";
import type { Direction, ReadRequest } from "./pasted-request.ts";
import { type HeaderNames, sha256Hex } from "./signature.ts";
import { PATH_RULES, QUERY_RULES, splitTarget } from "./target-damage.ts";
import { differenceOf, type TextDifference } from "./text-difference.ts";

export type DiagnosisPart =
	| "headers"
	| "method"
	| "path"
	| "query"
	| "timestamp"
	| "nonce"
	| "event"
	| "body"
	| "form"
	| "signature"
	| "secret"
	/** What reached us of a request to us. */
	| "arrival";
export type DiagnosisVerdict = "good" | "bad" | "warn" | "unknown";

export interface DiagnosisStep {
	part: DiagnosisPart;
	verdict: DiagnosisVerdict;
	/** The damage's name; null where there is none. */
	cause: string | null;
	text: string;
	difference: TextDifference | null;
}

export interface SignedParts {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: string;
	/** The character set it was hashed in, if that is not UTF-8. */
	charset: string | null;
	/** In lower-case hex, whole. */
	signature: string;
	/** Null where it is not known. */
	event: string | null;
}

export function step(
	part: DiagnosisPart,
	verdict: DiagnosisVerdict,
	text: string,
	cause: string | null = null,
): DiagnosisStep {
	return { part, verdict, cause, text, difference: null };
}

export function compareParts(
	signed: SignedParts,
	seen: ReadRequest,
	names: HeaderNames,
	direction: Direction,
): DiagnosisStep[] {
	const header = (name: string) => seen.headers.get(name.toLowerCase()) ?? "";
	const compare = (part: DiagnosisPart, rules: readonly DamageRule[], pair: [string, string], good: string) =>
		comparePart(part, rules, pair, direction, good);
	const [from, to] = [splitTarget(signed.target), splitTarget(seen.target)];
	const hasQuery = from.query !== "" || to.query !== "";
	return [
		compareMethod(signed.method, seen.method, direction),
		compare("path", PATH_RULES, [from.path, to.path], `${to.path}, as signed.`),
		...(hasQuery ? [compare("query", QUERY_RULES, [from.query, to.query], `${to.query}, as signed.`)] : []),
		compare("timestamp", TIMESTAMP_RULES, [signed.timestamp, header(names.timestamp)], "As signed."),
		compare("nonce", NONCE_RULES, [signed.nonce, header(names.nonce)], "As signed."),
		...(signed.event === null ? [] : [compareEvent(signed.event, header(names.event), direction)]),
		compareBody(signed, seen.body, direction),
		compareSignature(signed.signature, header(names.signature), direction),
	];
}

function comparePart(
	part: DiagnosisPart,
	rules: readonly DamageRule[],
	[signed, seen]: readonly [signed: string, seen: string],
	direction: Direction,
	good: string,
): DiagnosisStep {
	if (signed === seen) return step(part, "good", good);
	const { cause, text } = nameDamage(rules, signed, seen, direction);
	return { part, verdict: "bad", cause, text, difference: differenceOf(signed, seen) };
}

function compareMethod(signed: string, seen: string, direction: Direction): DiagnosisStep {
	if (signed === seen) return step("method", "good", `${seen}, as signed.`);
	const text =
		direction === "callback"
			? `We sent a ${signed}; your server saw a ${seen}. A redirect in front of it (to https, to www, to a path with a slash) turns a POST into a GET and drops the body.`
			: `The signature was made for the method ${signed}, but the request is a ${seen}. Sign the method of the request itself, in capital letters.`;
	return { ...step("method", "bad", text, "another-method"), difference: differenceOf(signed, seen) };
}

/** It is not signed: what is missing from the paste may have arrived all the same. */
function compareEvent(sent: string, seen: string, direction: Direction): DiagnosisStep {
	if (seen === "") return step("event", "unknown", `It was not pasted. We sent ${sent}; it is not signed.`);
	return comparePart("event", EVENT_RULES, [sent, seen], direction, `${sent}, as sent.`);
}

function compareBody({ body, charset }: SignedParts, seen: string, direction: Direction): DiagnosisStep {
	if (charset === null) {
		const good = `The bytes that were signed, with the SHA-256 ${sha256Hex(seen)}.`;
		return comparePart("body", BODY_RULES, [body, seen], direction, good);
	}
	const text = `It was hashed in ${charset}, but is sent in UTF-8. Hash the bytes that are sent.`;
	return step("body", "bad", text, "body-charset");
}

function compareSignature(signed: string, seen: string, direction: Direction): DiagnosisStep {
	if (signed !== seen && signed === seen.toLowerCase()) {
		const advice =
			direction === "callback"
				? "It arrived in upper case; we sent lower case. Compare in lower case."
				: "It is in upper-case hex. We take it, but send lower case: a plain comparison would refuse it.";
		return step("signature", "warn", advice, "signature-upper-case");
	}
	return comparePart("signature", SIGNATURE_RULES, [signed, seen], direction, "64 lower-case hex digits.");
}
