// A genuine callback for tests. It is signed with node:crypto and not with the code under test, so that a
// mistake in that code cannot hide itself.

import { createHash, createHmac } from "node:crypto";
import type { PostbackEvent } from "./event.ts";

export const sampleSecret = "example-signing-secret";
export const sampleSeconds = 1_767_225_600;

export const sampleEvent: PostbackEvent = {
	event: "conversion.rejected",
	conversionId: "cnv_01HX3Y7R2K",
	orderId: "A-1001",
	programId: "prg_01HX3Y0001",
	status: "REJECTED",
	eventType: "SALE",
	basketValue: "129.90",
	commission: "10.39",
	networkFee: "2.60",
	currency: "EUR",
	reason: "RETURN",
	test: false,
	occurredAt: "2025-12-31T23:58:41.120Z",
	sentAt: "2026-01-01T00:00:00.000Z",
};

type Sample = {
	path: string;
	timestamp: string;
	nonce: string;
	secret: string;
	rawBody: string | Uint8Array;
	eventName: string;
	brand: string;
};

/** Returns the arguments of `verifyPostback` with `changes` applied, correctly signed. */
export function sampleDelivery(changes: Partial<Sample> = {}) {
	const { path, timestamp, nonce, secret, rawBody, eventName, brand } = {
		path: "/postback?shop=42",
		timestamp: String(sampleSeconds),
		nonce: "3f04ec36b3d8c8248a120d659fe5ec8f",
		secret: sampleSecret,
		rawBody: JSON.stringify(sampleEvent),
		eventName: sampleEvent.event,
		brand: "Service",
		...changes,
	};
	const bodySha256 = createHash("sha256").update(rawBody).digest("hex");
	const canonical = `POST\n${path}\n${timestamp}\n${nonce}\n${bodySha256}`;
	const headers: Record<string, string> = {
		"content-type": "application/json",
		[`X-${brand}-Event`]: eventName,
		[`X-${brand}-Timestamp`]: timestamp,
		[`X-${brand}-Nonce`]: nonce,
		[`X-${brand}-Signature`]: createHmac("sha256", secret).update(canonical).digest("hex"),
	};
	return { path, headers, rawBody, secret, now: sampleSeconds * 1000 };
}
