// "Check a signature": says which part of a signed request differs from what was signed, and what most likely did it.
// A callback that is among our own attempts is compared with what we sent. Everything else is searched: each part in what
// it may have been, and the match with the fewest mistakes is the explanation. What nothing explains is not explained.

import { explainComputed } from "./computed-signature.ts";
import {
	type Direction,
	directionOf,
	type PastedRequest,
	type ReadRequest,
	readPasted,
} from "./pasted-request.ts";
import type { SentRequest } from "./sent-request.ts";
import { canonicalString, type HeaderNames, sha256Hex } from "./signature.ts";
import { compareArrival } from "./signature-arrival.ts";
import { RIGHT_FORM } from "./signature-forms.ts";
import { findMatch } from "./signature-search.ts";
import { callbackKeys, shopKeys } from "./signature-secrets.ts";
import { checkNonce, checkShape, checkTimestamp } from "./signature-shapes.ts";
import { compareParts, type DiagnosisStep, type SignedParts, step } from "./signature-steps.ts";
import { type DiagnosisContext, headerOf, partsOfMatch, partsOfSent, searchSigned } from "./signed-parts.ts";
import { splitTarget } from "./target-damage.ts";

export interface Diagnosis {
	direction: Direction;
	isGood: boolean;
	conclusion: string;
	steps: readonly DiagnosisStep[];
	/** What the shop's own computation did differently; null when nobody asked. */
	computed: readonly DiagnosisStep[] | null;
	/** What has to be signed, or null while a header is missing. */
	canonical: string | null;
}

export function diagnoseSignature(pasted: PastedRequest, context: DiagnosisContext): Diagnosis {
	const seen = readPasted(pasted);
	const { names, sent } = context;
	const direction = sent === null ? directionOf(seen, names, context.callbackTargets) : "callback";
	const missing = [names.timestamp, names.nonce, names.signature].filter(
		(name) => (seen.headers.get(name.toLowerCase()) ?? "") === "",
	);
	if (sent === null && missing.length > 0) {
		const conclusion = `Paste each header on a line of its own, as Name: value. Missing: ${missing.join(", ")}.`;
		const text = `A signed request has ${names.timestamp}, ${names.nonce} and ${names.signature}.`;
		const steps = [step("headers", "bad", text, "header-missing")];
		return { direction, isGood: false, conclusion, steps, computed: null, canonical: null };
	}
	const headers = step("headers", "good", "All three headers are there.");
	const arrival = direction === "request" ? compareArrival(seen, context.received) : null;
	const steps = [
		...(missing.length === 0 ? [headers] : []),
		...explain(seen, context, direction),
		...(arrival === null ? [] : [arrival]),
	];
	const computed = explainComputed(seen, steps, context, direction);
	return {
		direction,
		...conclude(steps, direction, sent !== null, computed !== null),
		steps,
		computed,
		canonical: canonicalOf(seen, names, sent),
	};
}

function explain(seen: ReadRequest, context: DiagnosisContext, direction: Direction): DiagnosisStep[] {
	const { names, sent, nowMs } = context;
	if (sent !== null) {
		const signed = partsOfSent(sent, names);
		return [
			...judgeTimes(compareParts(signed, seen, names, "callback"), seen, context, "callback"),
			secretOfSent(signed, context),
		];
	}
	const keys =
		direction === "callback"
			? callbackKeys(context.secrets, nowMs)
			: shopKeys(context.secrets, "request", apiKeyOf(seen), nowMs);
	const match = searchSigned(seen, context, headerOf(seen, names.signature), keys, direction);
	if (match === null) return unexplained(seen, context, direction);
	const { key, form } = match;
	return [
		...judgeTimes(compareParts(partsOfMatch(match), seen, names, direction), seen, context, direction),
		...(form.cause === null ? [] : [step("form", "bad", form.text, form.cause)]),
		step("secret", key.verdict, key.text, key.cause),
	];
}

/** Timestamp and nonce that are as signed may still be too old, or no good by themselves. */
function judgeTimes(
	steps: readonly DiagnosisStep[],
	seen: ReadRequest,
	{ names, nowMs, isNonceSpent }: DiagnosisContext,
	direction: Direction,
): DiagnosisStep[] {
	return steps.map((one) => {
		if (one.verdict !== "good") return one;
		if (one.part === "timestamp") return checkTimestamp(headerOf(seen, names.timestamp), nowMs, direction);
		if (one.part === "nonce" && direction === "request") {
			return checkNonce(headerOf(seen, names.nonce), isNonceSpent);
		}
		return one;
	});
}

/** Every attempt was signed with a secret of the programme: which one, and is it the one that was pasted? */
function secretOfSent(signed: SignedParts, { secrets, nowMs }: DiagnosisContext): DiagnosisStep {
	const parts = {
		methods: [signed.method],
		targets: [signed.target],
		timestamps: [signed.timestamp],
		nonces: [signed.nonce],
		bodies: [{ text: signed.body, digest: sha256Hex(signed.body), charset: null }],
		forms: [RIGHT_FORM],
	};
	const match = findMatch({ ...parts, keys: shopKeys(secrets, "callback", null, nowMs) }, signed.signature);
	if (match !== null) return step("secret", match.key.verdict, match.key.text, match.key.cause);
	return step("secret", "unknown", "The secret that it was signed with is not kept any more.");
}

/** Says no more than is known: a secret is named only when the signature itself could be one. */
function unexplained(
	seen: ReadRequest,
	{ names, nowMs, secrets, looked, isNonceSpent }: DiagnosisContext,
	direction: Direction,
): DiagnosisStep[] {
	const shape = checkShape(headerOf(seen, names.signature));
	const nonce = headerOf(seen, names.nonce);
	const { path, query } = splitTarget(seen.target);
	const unknown = (part: "method" | "path" | "query", value: string) =>
		step(part, "unknown", `${value} is what has to be signed.`);
	const steps = [
		unknown("method", seen.method),
		unknown("path", path),
		...(query === "" ? [] : [unknown("query", query)]),
		checkTimestamp(headerOf(seen, names.timestamp), nowMs, direction),
		looked === null || direction === "request"
			? checkNonce(nonce, isNonceSpent)
			: step("nonce", "warn", looked, "nonce-not-found"),
		step("body", "unknown", `As pasted, its SHA-256 is ${sha256Hex(seen.body)}. Compare it with yours.`),
		shape,
	];
	if (secrets.length === 0) {
		const text =
			"This programme has no signing secret yet. It comes with the first API key: issue one, or paste a secret.";
		return [...steps, step("secret", "bad", text, "no-secret")];
	}
	if (shape.verdict === "bad") {
		return [...steps, step("secret", "unknown", "It cannot be judged without a whole signature.")];
	}
	const text =
		"None of this programme's secrets gives this signature; we also tried what usually changes on the way.";
	return [...steps, step("secret", "bad", text, "secret-unknown")];
}

/** What to do first: where nothing explains a signature, the rest is a guess. */
const UNKNOWN_SECRET: Readonly<Record<Direction, string>> = {
	callback:
		"Check that this callback is one of this programme, and paste it exactly as your server received it: no secret of this programme gives its signature.",
	request:
		"Compare the last characters of the secret your code signs with and of the one under Keys and snippets: no secret of this programme gives this signature.",
};

function canonicalOf(seen: ReadRequest, names: HeaderNames, sent: SentRequest | null): string {
	const { method, target, timestamp, nonce, body } =
		sent === null
			? { ...seen, timestamp: headerOf(seen, names.timestamp), nonce: headerOf(seen, names.nonce) }
			: partsOfSent(sent, names);
	return canonicalString(method, target, timestamp, nonce, sha256Hex(body));
}

function conclude(
	steps: readonly DiagnosisStep[],
	direction: Direction,
	isKnown: boolean,
	isComputedJudged: boolean,
): { isGood: boolean; conclusion: string } {
	const wrong = steps.filter(({ verdict }) => verdict === "bad");
	if (wrong.length > 0) {
		const known = wrong.filter(({ cause }) => cause !== "secret-unknown").map(({ part }) => PART_NAMES[part]);
		const also = known.length === 0 ? "" : ` Also wrong: ${known.join(", ")}.`;
		const conclusion =
			known.length < wrong.length
				? `${UNKNOWN_SECRET[direction]}${also}`
				: `This request would be refused. What differs: ${known.join(", ")}.`;
		return { isGood: false, conclusion };
	}
	if (direction === "request") {
		return { isGood: true, conclusion: "The signature is right: this request would be accepted." };
	}
	if (isComputedJudged) {
		const what = isKnown ? "this is exactly what we sent" : "it fits what you pasted";
		return {
			isGood: true,
			conclusion: `The signature is right: ${what}. What your own code made of it is below.`,
		};
	}
	const conclusion = isKnown
		? "The signature is right: this is exactly what we sent. If your server refuses it, compare the last characters of its secret with those under Keys and snippets, then the text below with the one your code signs."
		: "The signature is right for what you pasted.";
	return { isGood: true, conclusion };
}

const PART_NAMES: Readonly<Record<DiagnosisStep["part"], string>> = {
	headers: "headers",
	method: "method",
	path: "path",
	query: "query string",
	timestamp: "timestamp",
	nonce: "nonce",
	event: "event header",
	body: "body",
	form: "how the parts are joined",
	signature: "signature header",
	secret: "secret",
	arrival: "what reached us",
};

function apiKeyOf(seen: ReadRequest): string | null {
	return /^Bearer +(\S+)$/i.exec(headerOf(seen, "authorization"))?.[1] ?? null;
}
