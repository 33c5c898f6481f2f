// Decides whether a request is a genuine, fresh callback of the service, and returns its event (contract
// section 4.3). The code is written from the contract alone and shares nothing with the sender, so that each
// side can reveal the other's mistakes.

import { type PostbackEvent, parseEvent } from "./event.ts";
import { digestSha256, formCanonical, isSignedWith } from "./hmac.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { type PostbackRequest, type ReadRequest, readRequest } from "./request.ts";

export type Verification = { readonly ok: true; readonly event: PostbackEvent } | Refusal;

// Tolerance for the timestamp from contract section 8, into the past and into the future.
const toleranceSeconds = 300;

/**
 * Verifies a request. It never throws on bad input. A request that cannot be trusted is refused with a
 * reason. Only errors of `nonces` are passed on, because a broken memory says nothing about the request.
 */
export async function verifyPostback(request: PostbackRequest): Promise<Verification> {
	const read = readRequest(request);
	if (!read.ok) return read;
	return (await judgeGenuine(read, "POST")) ?? judgeBody(read);
}

/** Returns why a request is not a genuine and fresh callback with this method, or undefined if it is one. */
export async function judgeGenuine(read: ReadRequest, method: "POST" | "GET"): Promise<Refusal | undefined> {
	return (
		judgeTimestamp(read.timestamp, read.nowMs) ??
		(await judgeSignature(read, method)) ??
		(await judgeNonce(read))
	);
}

// Times are compared in whole seconds, like the header. With milliseconds, the result for a callback that is
// exactly 300 seconds old would depend on a fraction of a second.
function judgeTimestamp(timestamp: string, nowMs: number): Refusal | undefined {
	if (!/^[0-9]+$/.test(timestamp)) {
		return refuse("malformed_timestamp", "The timestamp must be Unix seconds in decimal digits.");
	}
	const aheadSeconds = Number(timestamp) - Math.floor(nowMs / 1000);
	// The comparison is written so that NaN is refused.
	if (Math.abs(aheadSeconds) <= toleranceSeconds) return undefined;
	const distance = `${Math.abs(aheadSeconds)} s ${aheadSeconds > 0 ? "ahead of" : "behind"}`;
	return refuse(
		"stale_timestamp",
		`The timestamp is ${distance} this clock; ${toleranceSeconds} s are allowed.`,
	);
}

async function judgeSignature(read: ReadRequest, method: "POST" | "GET"): Promise<Refusal | undefined> {
	const { target, timestamp, nonce, signature, body, secrets } = read;
	const bodySha256 = await digestSha256(body);
	const canonical = formCanonical({ method, target, timestamp, nonce, bodySha256 });
	for (const secret of secrets) {
		if (await isSignedWith(secret, canonical, signature)) return undefined;
	}
	if (secrets.length === 0) {
		return refuse("bad_signature", "No signing secret was given.");
	}
	return refuse(
		"bad_signature",
		"None of your secrets produces this signature. If the sender is genuine, check that it is the same secret, and that path, " +
			"query string and body get here as they were sent.",
	);
}

// The nonce is checked after the signature, so that only genuine requests are remembered and a stranger
// cannot fill the memory.
async function judgeNonce({ nonce, nonces, timestamp, nowMs }: ReadRequest): Promise<Refusal | undefined> {
	if (nonces === undefined) return undefined;
	// The nonce is remembered for as long as a copy of the request would be accepted. That is five minutes, or
	// more if the sender's clock is ahead.
	const freshUntilSeconds = Math.max(Number(timestamp), Math.floor(nowMs / 1000)) + toleranceSeconds + 1;
	if (await nonces.remember(nonce, freshUntilSeconds * 1000 - nowMs)) return undefined;
	return refuse("replayed_nonce", "This request was accepted before: every attempt has a nonce of its own.");
}

function judgeBody(read: ReadRequest): Verification {
	const parsed = parseEvent(read.body);
	if (!parsed.ok) return refuse("malformed_body", parsed.detail);
	return { ok: true, event: parsed.event };
}
