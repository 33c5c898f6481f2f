// The guide's sample request: made by the same rules as every delivery, so that a receiver can be tried with it.

import { bodySentAt, composeEvent } from "../../domain/event.ts";
import {
	canonicalString,
	headerNames,
	sha256Hex,
	sign,
	signingKey,
	userAgent,
} from "../../domain/signature.ts";

/** Published in the guide; no programme has it. */
export const SAMPLE_SECRET = "rbs_sample-secret-of-the-guide";
export const SAMPLE_TARGET = "/postback?shop=1";
const HOST = "shop.example";
const NONCE = "5f2b8c0e9d7146a3b1f0c4d2e6a89173";
const OCCURRED_AT_MS = Date.UTC(2026, 1, 28, 18, 22, 41, 507);
const SENT_AT_MS = Date.UTC(2026, 2, 2, 9, 0, 0, 112);

const EVENT = "conversion.approved";

export function sampleBody(): string {
	const composed = composeEvent(EVENT, {
		conversionId: "cnv_01KBVQ8M4T2J6H0W9D3R5X7Z1C",
		orderId: "ORDER-1001",
		programId: "prg_01K9ZT3E5G7K9M1P3R5T7V9X1B",
		status: "APPROVED",
		eventType: "SALE",
		basketValue: "129.90",
		commission: "10.39",
		networkFee: "3.25",
		currency: "EUR",
		reason: null,
		test: false,
		occurredAtMs: OCCURRED_AT_MS,
	});
	return bodySentAt(composed, SENT_AT_MS);
}

/** Name and value, in the order of sending. */
export function sampleHeaders(): readonly (readonly [name: string, value: string])[] {
	const names = headerNames("Service");
	const timestamp = String(Math.floor(SENT_AT_MS / 1000));
	return [
		["Host", HOST],
		["Content-Type", "application/json"],
		["User-Agent", userAgent("Service")],
		[names.event, EVENT],
		[names.timestamp, timestamp],
		[names.nonce, NONCE],
		[names.signature, sign(signingKey(SAMPLE_SECRET), sampleCanonical(timestamp))],
	];
}

function sampleCanonical(timestamp: string): string {
	return canonicalString("POST", SAMPLE_TARGET, timestamp, NONCE, sha256Hex(sampleBody()));
}

export function writeSampleRequest(): string {
	const headers = sampleHeaders().map(([name, value]) => `${name}: ${value}`);
	return fence("http", [`POST ${SAMPLE_TARGET} HTTP/1.1`, ...headers, "", sampleBody()]);
}

export function writeSampleCanonical(): string {
	const timestamp = String(Math.floor(SENT_AT_MS / 1000));
	return fence("text", sampleCanonical(timestamp).split("\n"));
}

function fence(language: string, lines: readonly string[]): string {
	return [`\`\`\`${language}`, ...lines, "```"].join("\n");
}
