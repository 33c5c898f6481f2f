// Which combination of candidates a signature was made over: those with the fewest mistakes first, and never more than
// a fixed number of tries, whatever was pasted.

import { timingSafeEqual } from "node:crypto";
import { canonicalString, sign } from "./signature.ts";
import type { BodyCandidate } from "./signature-candidates.ts";
import type { SignedForm } from "./signature-forms.ts";
import type { KeyCandidate } from "./signature-secrets.ts";

/** Each list begins with the value as it was pasted; everything behind it counts as a mistake. */
export interface Candidates {
	methods: readonly string[];
	targets: readonly string[];
	timestamps: readonly string[];
	nonces: readonly string[];
	bodies: readonly BodyCandidate[];
	/** None but the right one where nobody can have joined the parts in another way. */
	forms: readonly SignedForm[];
	/** A mistake is what is judged bad. */
	keys: readonly KeyCandidate[];
}

export interface Match {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: BodyCandidate;
	form: SignedForm;
	key: KeyCandidate;
	/** In hex, whole. */
	signature: string;
}

/** What goes wrong goes wrong in one place, now and then in two. */
const MAX_MISTAKES = 2;
/** A few microseconds each: with everything that people paste some 5,000 are made, within 30 ms. */
const MAX_TRIES = 12_000;

/** `digits`: the signature in hex, or its beginning. */
export function findMatch(candidates: Candidates, digits: string): Match | null {
	let tries = 0;
	for (let mistakes = 0; mistakes <= MAX_MISTAKES; mistakes++) {
		for (const parts of combinations(candidates, mistakes)) {
			if (++tries > MAX_TRIES) return null;
			const signature = sign(parts.key.key, textOf(parts));
			if (beginsWith(signature, digits)) return { ...parts, signature };
		}
	}
	return null;
}

type Parts = Omit<Match, "signature">;

/** Those with exactly so many mistakes. */
function* combinations(candidates: Candidates, mistakes: number): Generator<Parts> {
	const { methods, targets, timestamps, nonces, bodies, forms, keys } = candidates;
	for (const [method, afterMethod] of spend(methods, mistakes)) {
		for (const [target, afterTarget] of spend(targets, afterMethod)) {
			for (const [timestamp, afterTimestamp] of spend(timestamps, afterTarget)) {
				for (const [nonce, afterNonce] of spend(nonces, afterTimestamp)) {
					for (const [body, afterBody] of spend(bodies, afterNonce)) {
						for (const [form, afterForm] of spend(forms, afterBody)) {
							for (const key of keys) {
								if ((key.verdict === "bad" ? 1 : 0) !== afterForm) continue;
								yield { method, target, timestamp, nonce, body, form, key };
							}
						}
					}
				}
			}
		}
	}
}

/** Each value, and how many mistakes are left for the parts behind it: none more than they can make. */
function* spend<Value>(values: readonly Value[], mistakes: number): Generator<[Value, number]> {
	for (const [index, value] of values.entries()) {
		const left = index === 0 ? mistakes : mistakes - 1;
		if (left >= 0) yield [value, left];
	}
}

function textOf({ method, target, timestamp, nonce, body, form }: Parts): string {
	if (form.write === null) return canonicalString(method, target, timestamp, nonce, body.digest);
	return form.write({ method, target, timestamp, nonce, body: body.text, digest: body.digest });
}

function beginsWith(signature: string, digits: string): boolean {
	return timingSafeEqual(Buffer.from(signature.slice(0, digits.length)), Buffer.from(digits));
}
