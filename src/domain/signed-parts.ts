// What was signed: as our own record of the attempt has it, or as a search finds it from what was pasted.

import type { Direction, ReadRequest } from "./pasted-request.ts";
import type { ReceivedRequest } from "./refused-signature.ts";
import type { SentRequest } from "./sent-request.ts";
import type { HeaderNames } from "./signature.ts";
import {
	bodyCandidates,
	methodCandidates,
	nonceCandidates,
	signatureDigits,
	targetCandidates,
	timestampCandidates,
} from "./signature-candidates.ts";
import { formCandidates, RIGHT_FORM } from "./signature-forms.ts";
import { findMatch, type Match } from "./signature-search.ts";
import type { KeyCandidate, KnownSecret } from "./signature-secrets.ts";
import type { SignedParts } from "./signature-steps.ts";

export interface DiagnosisContext {
	names: HeaderNames;
	/** With their standing when the request was signed. */
	secrets: readonly KnownSecret[];
	/** Under which the request may have been addressed: ours, and the Postback URL's. */
	origins: readonly string[];
	/** Path and query that callbacks go to, and went to: the present first. */
	callbackTargets: readonly string[];
	/** The request as we sent it, when it is one of our attempts. */
	sent: SentRequest | null;
	/** Bodies of callbacks that it may be, as we would have sent them. */
	composed: readonly string[];
	/** What was looked through for the nonce, in words; null where nothing was. */
	looked: string | null;
	/** The nonce came to us before, in a request that was accepted. */
	isNonceSpent: boolean;
	/** Of requests to us: those of its time that were refused for their signature. */
	received: readonly ReceivedRequest[];
	/** What the shop's own code computed, if somebody says so. */
	computed: string;
	nowMs: number;
}

export function searchSigned(
	seen: ReadRequest,
	context: DiagnosisContext,
	signature: string,
	keys: readonly KeyCandidate[],
	direction: Direction,
): Match | null {
	const digits = signatureDigits(signature);
	if (digits === null) return null;
	const { names, callbackTargets, origins } = context;
	const isOurs = direction === "callback";
	return findMatch(
		{
			methods: isOurs ? [...new Set([seen.method, "POST"])] : methodCandidates(seen.method),
			targets: targetCandidates(seen.target, callbackTargets, isOurs ? [] : origins),
			timestamps: timestampCandidates(headerOf(seen, names.timestamp), sentAtOf(seen.body)),
			nonces: nonceCandidates(headerOf(seen, names.nonce)),
			bodies: bodyCandidates(seen.body, context.composed),
			forms: isOurs ? [RIGHT_FORM] : formCandidates(seen.body),
			keys,
		},
		digits,
	);
}

export function partsOfSent({ url, headers, body }: SentRequest, names: HeaderNames): SignedParts {
	const header = (name: string) => headers.find(([one]) => one === name)?.[1] ?? "";
	const { pathname, search: query } = new URL(url);
	return {
		method: "POST",
		target: pathname + query,
		timestamp: header(names.timestamp),
		nonce: header(names.nonce),
		body,
		charset: null,
		signature: header(names.signature),
		event: header(names.event),
	};
}

export function partsOfMatch({ method, target, timestamp, nonce, body, signature }: Match): SignedParts {
	const { text, charset } = body;
	return { method, target, timestamp, nonce, body: text, charset, signature, event: null };
}

export function headerOf(seen: ReadRequest, name: string): string {
	return seen.headers.get(name.toLowerCase()) ?? "";
}

/** When the attempt began, as its body says. */
export function sentAtOf(body: string): number | null {
	const atMs = Date.parse(/"sentAt"\s*:\s*"([^"]{1,40})"/.exec(body)?.[1] ?? "");
	return Number.isNaN(atMs) ? null : atMs;
}
