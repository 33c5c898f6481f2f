// Properties of callbacks. The library that shops install accepts everything that the service signs, and
// nothing else. The two share no code, so each checks the other.

import { deepEqual, equal, ok } from "node:assert/strict";
import { type PostbackRequest, verifyPostback } from "@ringback/receiver";
import fc from "fast-check";
import {
	canonicalString,
	judgeTimestamp,
	sha256Hex,
	sign,
	signatureMatches,
	signingKey,
} from "#core/domain/signature.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { ANY_EVENT_NAME, ANY_SUBJECT, ANY_TEXT } from "./any-event.ts";
import { type FuzzProperty, pureProperty } from "./fuzz-property.ts";
import { anyRequestChange, type HeaderTampering, type RequestChange } from "./request-change.ts";
import { prepareCallback, readHeaderList } from "./sent-callback.ts";
import { ANY_TAMPERING, tamperBytes, tamperText } from "./tampering.ts";

interface Callback {
	path: string;
	headers: Readonly<Record<string, string>>;
	rawBody: Uint8Array;
	secret: string;
	now: number;
	brand: string;
}

const ANY_NOW_MS = fc.integer({ min: Date.UTC(2000), max: Date.UTC(2200) });
const ANY_BRAND = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,30}$/);
const ANY_TARGET = fc.stringMatching(/^\/[!$-;=?-[\]_a-z|~]{0,40}$/);
/** Generates secrets without a comma, because the library takes a text with commas for several secrets. */
const ANY_SECRET = fc
	.string({ unit: "grapheme", minLength: 1, maxLength: 80 })
	.filter((secret) => !secret.includes(","));
/**
 * Generates nonces. They are drawn from the seed, because the signature depends on them and a replay must
 * find the same one.
 */
const ANY_NONCE = fc.uint8Array({ minLength: 16, maxLength: 16 });

const ANY_CALLBACK: fc.Arbitrary<Callback> = fc
	.record({
		event: ANY_EVENT_NAME,
		subject: ANY_SUBJECT,
		target: ANY_TARGET,
		secret: ANY_SECRET,
		nowMs: ANY_NOW_MS,
		brand: ANY_BRAND,
		nonce: ANY_NONCE,
	})
	.map(({ nonce, ...drawn }) => {
		const { target, secret, nowMs, brand } = drawn;
		const random = { bytes: () => nonce, hex: () => Buffer.from(nonce).toString("hex") };
		const request = prepareCallback({ ...drawn, url: `https://shop.example${target}`, random });
		const headers = readHeaderList(request.headers);
		return { path: target, headers, rawBody: Buffer.from(request.body), secret, now: nowMs, brand };
	});

const HEADER_WORDS = ["Event", "Timestamp", "Nonce", "Signature"] as const;
type HeaderWord = (typeof HEADER_WORDS)[number];

const CHANGED_PARTS = ["body", "path", "secret"] as const;
type Change = RequestChange<(typeof CHANGED_PARTS)[number], HeaderWord>;
const ANY_CHANGE: fc.Arbitrary<Change> = anyRequestChange(CHANGED_PARTS, HEADER_WORDS, "Signature");

function applyChange(callback: Callback, change: Change): PostbackRequest {
	switch (change.part) {
		case "body":
			return { ...callback, rawBody: tamperBytes(callback.rawBody, change.tampering) };
		case "path":
			return { ...callback, path: tamperText(callback.path, change.tampering) };
		case "secret":
			return { ...callback, secret: tamperBytes(Buffer.from(callback.secret), change.tampering).toString() };
		case "header":
			return { ...callback, headers: changeHeader(callback, change.name, change.tampering) };
		case "body written anew":
			return { ...callback, rawBody: JSON.stringify(JSON.parse(callback.rawBody.toString()), null, " ") };
		case "clock":
			return { ...callback, now: callback.now + change.bySeconds * SECOND_MS };
		default:
			return change satisfies never;
	}
}

function changeHeader(
	{ headers, brand }: Callback,
	word: HeaderWord,
	tampering: HeaderTampering,
): PostbackRequest["headers"] {
	const name = `X-${brand}-${word}`;
	const value = headers[name] ?? "";
	switch (tampering) {
		case "drop":
			return { ...headers, [name]: undefined };
		case "empty":
			return { ...headers, [name]: "" };
		case "send twice":
			return { ...headers, [name]: [value, value] };
		default:
			return { ...headers, [name]: tamperText(value, tampering) };
	}
}

/**
 * Returns true for changes that a receiver must accept as equal: the letter case of the signature's hex
 * digits, the event header, which is not signed, zero bytes at the end of a key, and a comma after it.
 */
function isSameToReceiver(callback: Callback, changed: PostbackRequest): boolean {
	const signature = `X-${callback.brand}-Signature`;
	const eventName = `X-${callback.brand}-Event`;
	const plain = ({ path, headers, rawBody, secret, now }: PostbackRequest) => ({
		path,
		headers: Object.entries(headers)
			.filter(([name]) => name !== eventName)
			.map(([name, value]) => [
				name,
				name === signature && typeof value === "string" ? value.toLowerCase() : value,
			]),
		rawBody: Buffer.from(rawBody).toString("hex"),
		// RFC 2104 pads a key with zero bytes, so keys that differ only in them are the same.
		secret: String(secret).replace(/\0+$|,$/, ""),
		now,
	});
	return JSON.stringify(plain(callback)) === JSON.stringify(plain(changed));
}

const GENUINE = pureProperty("a signed callback is genuine to the receiver", [], () =>
	fc.asyncProperty(ANY_CALLBACK, fc.integer({ min: -300, max: 300 }), async (callback, aheadSeconds) => {
		const now = callback.now + aheadSeconds * SECOND_MS;
		const verification = await verifyPostback({ ...callback, now });
		deepEqual(verification, { ok: true, event: JSON.parse(callback.rawBody.toString()) });
	}),
);

const TAMPERED = pureProperty(
	"a callback that was changed anywhere is refused",
	["changed", "same"],
	(meet) =>
		fc.asyncProperty(ANY_CALLBACK, ANY_CHANGE, async (callback, change) => {
			const changed = applyChange(callback, change);
			const isSame = isSameToReceiver(callback, changed);
			meet(isSame ? "same" : "changed");
			equal((await verifyPostback(changed)).ok, isSame);
		}),
);

const ANY_TIMESTAMP = fc.oneof(
	fc.tuple(ANY_NOW_MS, fc.integer({ min: -400, max: 400 })).map(([nowMs, by]) => ({
		nowMs,
		timestamp: String(Math.floor(nowMs / SECOND_MS) + by),
	})),
	fc.record({
		nowMs: ANY_NOW_MS,
		timestamp: fc.oneof(ANY_TEXT, fc.string({ unit: fc.constantFrom(..."0123456789+-.e ٣") })),
	}),
);

const AGREEMENT = pureProperty(
	"both signature checks give the same verdict for any timestamp, nonce, body and secret",
	["taken", "refused"],
	(meet) =>
		fc.asyncProperty(
			ANY_TIMESTAMP,
			fc.string({ minLength: 1 }),
			fc.oneof(
				ANY_TEXT.map((text) => Buffer.from(text)),
				fc.uint8Array(),
			),
			ANY_SECRET,
			ANY_TAMPERING,
			fc.boolean(),
			async ({ timestamp, nowMs }, nonce, body, secret, tampering, isTampered) => {
				const key = signingKey(secret);
				const canonical = canonicalString("POST", "/postback", timestamp, nonce, sha256Hex(body));
				const signed = sign(key, canonical);
				const signature = isTampered ? tamperText(signed, tampering) : signed;
				const isTaken =
					judgeTimestamp(timestamp, nowMs) === "fresh" && signatureMatches(key, canonical, signature);
				meet(isTaken ? "taken" : "refused");
				const verification = await verifyPostback({
					path: "/postback",
					headers: {
						"X-Service-Event": "conversion.recorded",
						"X-Service-Timestamp": timestamp,
						"X-Service-Nonce": nonce,
						"X-Service-Signature": signature,
					},
					rawBody: body,
					secret,
					now: nowMs,
				});
				// The body is not an event, so that must be the reason of the refusal.
				ok(!verification.ok);
				equal(verification.reason === "malformed_body", isTaken, verification.detail);
			},
		),
);

export const CALLBACK_PROPERTIES: readonly FuzzProperty[] = [GENUINE, TAMPERED, AGREEMENT];
