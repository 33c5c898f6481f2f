// The checks with which the service recognizes a caller, for the fake service: key, timestamp, nonce, signature.

import { digestSha256, formCanonical, isSignedWith } from "../hmac.ts";
import { type FakeAnswer, problem } from "./fake-answer.ts";

export type SignatureSettings = {
	readonly apiKey: string;
	readonly secrets: readonly string[];
	readonly brand: string;
	readonly now: () => number;
};

/** Tolerance for the timestamp, from contract section 8. */
const toleranceSeconds = 300;

/** Returns a function that resolves to the refusal of a request, or to undefined if the request is genuine. */
export function createSignatureCheck({ apiKey, secrets, brand, now }: SignatureSettings) {
	const usedNonces = new Set<string>();
	return async (request: Request, path: string, body: string): Promise<FakeAnswer | undefined> => {
		const authorization = request.headers.get("authorization");
		if (authorization === null) return problem(401, "missing_api_key", "There is no API key.");
		if (authorization !== `Bearer ${apiKey}`) {
			return problem(401, "unknown_api_key", "This API key is not known here.");
		}
		const [timestamp, nonce, signature] = ["Timestamp", "Nonce", "Signature"].map(
			(word) => request.headers.get(`x-${brand}-${word}`) ?? "",
		);
		if (!timestamp || !nonce || !signature) {
			return problem(401, "missing_signature_header", `One of the headers X-${brand}-… is missing.`);
		}
		if (!(Math.abs(Number(timestamp) - Math.floor(now() / 1000)) <= toleranceSeconds)) {
			return problem(401, "stale_timestamp", "The timestamp is more than 300 seconds away from our clock.");
		}
		const bodySha256 = await digestSha256(new TextEncoder().encode(body));
		const { method } = request;
		const canonical = formCanonical({ method, target: path, timestamp, nonce, bodySha256 });
		const matches = await Promise.all(secrets.map((secret) => isSignedWith(secret, canonical, signature)));
		if (!matches.includes(true)) return problem(401, "bad_signature", "The signature does not match.");
		if (usedNonces.has(nonce)) return problem(401, "replayed_nonce", "This nonce was used before.");
		usedNonces.add(nonce);
		return undefined;
	};
}
