// "Check a signature": says which part of a signed request differs from what was signed. Every part is tried
// in the spellings people sign by mistake, and the match with the fewest mistakes is the explanation.

import {
	canonicalString,
	type HeaderNames,
	judgeTimestamp,
	sha256Hex,
	signatureMatches,
	signingKey,
	TIMESTAMP_TOLERANCE_SECONDS,
} from "./signature.ts";
import { isToUs, type KnownSecret, nameSecrets, type SecretVariant } from "./signature-secrets.ts";
import { bodyVariants, methodVariants, targetVariants, type Variant } from "./signature-variants.ts";

export interface PastedRequest {
	method: string;
	/** Path and query, or a whole URL. */
	target: string;
	/** One header a line. */
	headers: string;
	body: string;
}

export interface DiagnosisContext {
	names: HeaderNames;
	secrets: readonly KnownSecret[];
	/** Under which the request may have been addressed: ours, and the Postback URL's. */
	origins: readonly string[];
	nowMs: number;
}

export type DiagnosisPart =
	| "headers"
	| "timestamp"
	| "nonce"
	| "signature"
	| "method"
	| "path"
	| "body"
	| "secret";
export type DiagnosisVerdict = "good" | "bad" | "warn" | "unknown";

export interface DiagnosisStep {
	part: DiagnosisPart;
	verdict: DiagnosisVerdict;
	text: string;
}

export interface Diagnosis {
	isGood: boolean;
	conclusion: string;
	steps: readonly DiagnosisStep[];
	/** What has to be signed, or null while a header is missing. */
	canonical: string | null;
}

export function diagnoseSignature(pasted: PastedRequest, context: DiagnosisContext): Diagnosis {
	const { names } = context;
	const headers = parseHeaders(pasted.headers);
	const [timestamp, nonce, signature] = [names.timestamp, names.nonce, names.signature].map((name) =>
		headers.get(name.toLowerCase()),
	);
	if (timestamp === undefined || nonce === undefined || signature === undefined) {
		const missing = [names.timestamp, names.nonce, names.signature].filter(
			(name) => !headers.has(name.toLowerCase()),
		);
		const text = `Missing: ${missing.join(", ")}. A signed request has all three; paste each on a line of its own, as Name: value.`;
		return {
			isGood: false,
			conclusion: text,
			steps: [{ part: "headers", verdict: "bad", text }],
			canonical: null,
		};
	}
	const target = withoutOrigin(pasted.target.trim());
	// A browser sends every line break of a text field as CRLF; what was pasted had the plain one far more often.
	const body = pasted.body.replace(/\r\n/g, "\n");
	const method = pasted.method.trim();
	const canonical = canonicalString(method, target, timestamp, nonce, sha256Hex(body));
	const steps: DiagnosisStep[] = [
		{ part: "headers", verdict: "good", text: "All three headers are there." },
		checkTimestamp(timestamp, context.nowMs),
		checkNonce(nonce),
		checkShape(signature),
	];
	const found = findMatch(
		{
			methods: methodVariants(method),
			targets: targetVariants(target, context.origins),
			bodies: bodyVariants(body),
			secrets: nameSecrets(context.secrets, isToUs(headers, names, target), context.nowMs),
		},
		{ timestamp, nonce, signature: bareSignature(signature) },
	);
	steps.push(...explainMatch(found, context.secrets.length > 0, { method, target, body }));
	return conclude(steps, canonical);
}

function parseHeaders(text: string): Map<string, string> {
	const headers = new Map<string, string>();
	for (const line of text.split(/\r?\n/)) {
		// As a log or `curl -v` shows it, a line may begin with "> ".
		const match = /^[>\s]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*?)\s*$/.exec(line);
		if (match?.[1] !== undefined && match[2] !== undefined) headers.set(match[1].toLowerCase(), match[2]);
	}
	return headers;
}

function withoutOrigin(target: string): string {
	const path = target.replace(/^https?:\/\/[^/?#]*/i, "").replace(/#.*$/s, "");
	return path === "" ? "/" : path;
}

const MILLISECONDS = /^\d{13}$/;
/** Of 32 bytes. */
const BASE64 = /^[0-9A-Za-z+/_-]{43}=?$/;

function checkTimestamp(timestamp: string, nowMs: number): DiagnosisStep {
	const say = (verdict: DiagnosisVerdict, text: string) => ({ part: "timestamp", verdict, text }) as const;
	if (MILLISECONDS.test(timestamp)) {
		return say(
			"bad",
			`${timestamp} looks like milliseconds. Send Unix time in seconds: divide by 1,000 and cut the rest off.`,
		);
	}
	switch (judgeTimestamp(timestamp, nowMs)) {
		case "malformed":
			return say("bad", `"${timestamp}" is not Unix time in seconds: digits only, nothing else.`);
		case "stale": {
			const offSeconds = Number(timestamp) - Math.floor(nowMs / 1000);
			const side = offSeconds < 0 ? "behind" : "ahead of";
			return say(
				"bad",
				`It is ${Math.abs(offSeconds)} seconds ${side} our clock, outside the window of ${TIMESTAMP_TOLERANCE_SECONDS}. For a request from a while ago that is to be expected; for one sent just now, set the sender's clock.`,
			);
		}
		case "fresh":
			return say("good", `Within ${TIMESTAMP_TOLERANCE_SECONDS} seconds of our clock.`);
	}
}

function checkNonce(nonce: string): DiagnosisStep {
	const isGood = /^[0-9A-Za-z_-]{8,128}$/.test(nonce);
	const text = isGood
		? "Well formed. Each may be used once: a repeated request needs a new one."
		: 'It must be 8 to 128 letters, digits, "-" or "_": best 32 random hex digits.';
	return { part: "nonce", verdict: isGood ? "good" : "bad", text };
}

/** The first shape that fits. */
const SHAPES: readonly [shape: RegExp, verdict: DiagnosisVerdict, text: string][] = [
	[/^sha256=/i, "bad", 'It begins with "sha256=". Send the 64 hex digits alone.'],
	[/^[0-9a-f]{64}$/, "good", "64 lower-case hex digits."],
	[
		/^[0-9a-fA-F]{64}$/,
		"warn",
		"It is in upper-case hex. We take it, but send lower case: a plain comparison would refuse it.",
	],
	[BASE64, "bad", "It looks like base64. Send the HMAC as 64 hex digits."],
];

function checkShape(signature: string): DiagnosisStep {
	const [, verdict, text] = SHAPES.find(([shape]) => shape.test(signature)) ?? [
		null,
		"bad",
		`It must be 64 hex digits, but has ${signature.length} characters.`,
	];
	return { part: "signature", verdict, text };
}

/** In hex, whatever it was written in: then the other parts can still be judged. */
function bareSignature(signature: string): string {
	const bare = signature.replace(/^sha256=/i, "");
	if (!BASE64.test(bare)) return bare;
	return Buffer.from(bare, "base64").toString("hex");
}

interface Tried {
	methods: readonly Variant[];
	targets: readonly Variant[];
	bodies: readonly Variant[];
	secrets: readonly SecretVariant[];
}

interface Match {
	method: Variant;
	target: Variant;
	body: Variant;
	secret: SecretVariant;
}

/** At most some 5 × 12 × 14 × 6 signatures of a few hundred bytes: milliseconds. */
function findMatch(
	tried: Tried,
	{ timestamp, nonce, signature }: { timestamp: string; nonce: string; signature: string },
): Match | null {
	let best: { match: Match; mistakes: number } | null = null;
	const keys = tried.secrets.map((secret) => ({ secret, key: signingKey(secret.value) }));
	for (const body of tried.bodies) {
		const digest = sha256Hex(body.value);
		for (const target of tried.targets) {
			for (const method of tried.methods) {
				const canonical = canonicalString(method.value, target.value, timestamp, nonce, digest);
				for (const { secret, key } of keys) {
					if (!signatureMatches(key, canonical, signature)) continue;
					const mistakes = [method, target, body, secret].filter(({ mistake }) => mistake !== null).length;
					if (best === null || mistakes < best.mistakes)
						best = { match: { method, target, body, secret }, mistakes };
				}
			}
		}
	}
	return best?.match ?? null;
}

function explainMatch(
	match: Match | null,
	hasSecret: boolean,
	asPasted: { method: string; target: string; body: string },
): DiagnosisStep[] {
	const { method, target } = asPasted;
	const digest = sha256Hex(asPasted.body);
	if (match === null) {
		const text = hasSecret
			? "No spelling of method, path and body that we know gives this signature with the secret. Most likely it was signed with another secret: compare the one in use with the one that was issued."
			: "This programme has no signing secret yet. It comes with the first API key: issue one, or paste a secret.";
		return [
			{ part: "method", verdict: "unknown", text: `${method} is what has to be signed.` },
			{ part: "path", verdict: "unknown", text: `${target} is what has to be signed.` },
			{
				part: "body",
				verdict: "unknown",
				text: `As pasted, its SHA-256 is ${digest}. Compare it with yours.`,
			},
			{ part: "secret", verdict: "bad", text },
		];
	}
	const step = (part: DiagnosisPart, { mistake }: Variant, good: string): DiagnosisStep =>
		mistake === null ? { part, verdict: "good", text: good } : { part, verdict: "bad", text: mistake };
	const { note } = match.secret;
	return [
		step("method", match.method, `${method}, as signed.`),
		step("path", match.target, `${target}, as signed.`),
		step("body", match.body, `The bytes that were signed, with the SHA-256 ${digest}.`),
		note === null
			? step("secret", match.secret, "The right one.")
			: { part: "secret", verdict: "warn", text: note },
	];
}

function conclude(steps: readonly DiagnosisStep[], canonical: string): Diagnosis {
	const wrong = steps.filter(({ verdict }) => verdict === "bad");
	const isGood = wrong.length === 0;
	const conclusion = isGood
		? "The signature is right: this request would be accepted."
		: `This request would be refused. What differs: ${wrong.map(({ part }) => part).join(", ")}.`;
	return { isGood, conclusion, steps, canonical };
}
