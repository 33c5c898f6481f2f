// Writes and signs a callback as the service does (contract sections 4.1 and 5), for `ringback listen` and for a shop's
// own tests.

import { digestSha256, formCanonical, makeNonce, signWith } from "./hmac.ts";

/** Fields of the body in their order. The value of `sentAt` is replaced by the time of signing. */
export type CallbackFields = Readonly<Record<string, unknown>>;

export type CallbackSigning = {
	readonly secret: string;
	/** Brand in the header names, `X-<Brand>-Signature`. */
	readonly brand: string;
	/** Path and query of the address to which the callback is sent. */
	readonly path: string;
	/** Time of the attempt in milliseconds. */
	readonly nowMs: number;
	/** Nonce of the attempt. Default: 32 random hex digits. */
	readonly nonce?: string | undefined;
};

/** The parts of a callback that are sent, and the digest that its signature covers. */
export type WrittenCallback = {
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
	/** SHA-256 of the body in lower-case hex. */
	readonly bodySha256: string;
};

export async function writeCallback(
	event: string,
	fields: CallbackFields,
	{ secret, brand, path, nowMs, nonce: givenNonce }: CallbackSigning,
): Promise<WrittenCallback> {
	const body = JSON.stringify({ ...fields, sentAt: new Date(nowMs).toISOString() });
	const timestamp = String(Math.floor(nowMs / 1000));
	const nonce = givenNonce ?? (await makeNonce());
	const bodySha256 = await digestSha256(new TextEncoder().encode(body));
	const canonical = formCanonical({ method: "POST", target: path, timestamp, nonce, bodySha256 });
	const headers = {
		"Content-Type": "application/json",
		"User-Agent": "service-postback/1",
		[`X-${brand}-Event`]: event,
		[`X-${brand}-Timestamp`]: timestamp,
		[`X-${brand}-Nonce`]: nonce,
		[`X-${brand}-Signature`]: await signWith(secret, canonical),
	};
	return { headers, body, bodySha256 };
}
