// Checks the form of every request that the service sends, in all tests (contract sections 2.1, 4.1, 5 and
// 9). The form is checked with the library that a shop installs, and a second time with independent code.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { verifyPostback } from "@ringback/receiver";
import type { ShopRequest } from "./shop.ts";

export interface ReceivedCallback {
	request: ShopRequest;
	/** Header names in the sender's spelling. */
	headers: ReadonlyMap<string, string>;
	body: CallbackBody;
	/** Time of the service's clock when the request arrived. */
	serviceNowMs: number;
	/** Signing secret of the programme when the request arrived. */
	secret: string;
	/**
	 * HTTP status of the answer. Null if the answer came late, never came, or consisted of raw bytes written by
	 * the test.
	 */
	answered: number | null;
}

export const BODY_FIELDS = [
	"event",
	"conversionId",
	"orderId",
	"programId",
	"status",
	"eventType",
	"basketValue",
	"commission",
	"networkFee",
	"currency",
	"reason",
	"test",
	"occurredAt",
	"sentAt",
] as const;

/** Parsed body of a callback, whose form is checked and not assumed. */
export type CallbackBody = Readonly<Record<(typeof BODY_FIELDS)[number], unknown>>;

const STATUS_BY_EVENT: Readonly<Record<string, string>> = {
	"conversion.recorded": "RECORDED",
	"conversion.approved": "APPROVED",
	"conversion.rejected": "REJECTED",
	"conversion.reversed": "REVERSED",
};
const HTTP_OWN_HEADERS = ["host", "connection", "content-length"];
const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DECIMAL = /^(0|[1-9]\d*)(\.\d+)?$/;

export function readCallback(request: ShopRequest): Pick<ReceivedCallback, "request" | "headers" | "body"> {
	const headers = new Map<string, string>();
	for (let index = 0; index < request.rawHeaders.length; index += 2) {
		headers.set(request.rawHeaders[index] ?? "", request.rawHeaders[index + 1] ?? "");
	}
	return { request, headers, body: JSON.parse(request.body.toString("utf8")) };
}

export async function checkForm(callback: ReceivedCallback, brand: string): Promise<void> {
	equal(callback.request.method, "POST");
	checkHeaders(callback, brand);
	checkBody(callback);
	checkSignature(callback, brand);
	const { request, secret, serviceNowMs } = callback;
	const verification = await verifyPostback({
		path: request.path,
		headers: Object.fromEntries(callback.headers),
		rawBody: request.body,
		secret,
		now: serviceNowMs,
		brand,
	});
	deepEqual(verification, { ok: true, event: callback.body }, "a shop's receiver takes it as genuine");
}

function checkHeaders({ request, headers, body }: ReceivedCallback, brand: string): void {
	const contractNames = ["Event", "Timestamp", "Nonce", "Signature"].map((word) => `X-${brand}-${word}`);
	const expected = ["Content-Type", "User-Agent", ...contractNames, ...HTTP_OWN_HEADERS];
	// The raw list of headers is used, because the map would hide a header that was sent twice.
	const names = request.rawHeaders.filter((_, index) => index % 2 === 0);
	deepEqual([...names].sort(), [...expected].sort(), "these headers and no others");
	equal(headers.get("Content-Type"), "application/json");
	equal(headers.get("User-Agent"), "service-postback/1");
	equal(headers.get(`X-${brand}-Event`), body.event);
	match(headers.get(`X-${brand}-Nonce`) ?? "", /^[0-9a-f]{16,}$/);
	equal(headers.get("content-length"), String(request.body.length));
	const timestamp = headers.get(`X-${brand}-Timestamp`) ?? "";
	match(timestamp, /^\d+$/);
	equal(Number(timestamp), Math.floor(Date.parse(String(body.sentAt)) / 1000), "the time of sentAt");
}

function checkBody({ request, body, serviceNowMs }: ReceivedCallback): void {
	deepEqual(Object.keys(body), BODY_FIELDS, "the fourteen fields in the contract's order");
	// The comparison also finds a repeated field name, which the JSON parser would hide.
	equal(request.body.toString("utf8"), JSON.stringify(body));
	for (const field of ["conversionId", "orderId", "programId", "currency"] as const) {
		ok(typeof body[field] === "string" && body[field] !== "", field);
	}
	for (const field of ["basketValue", "commission", "networkFee"] as const)
		match(textOf(body[field]), DECIMAL, field);
	const event = textOf(body.event);
	ok(event in STATUS_BY_EVENT, event);
	equal(body.status, STATUS_BY_EVENT[event], "the status at the moment of the event");
	match(textOf(body.eventType), /^[A-Z]+$/);
	const hasReason = event === "conversion.rejected" || event === "conversion.reversed";
	if (hasReason) match(textOf(body.reason), /^[A-Z_]+$/);
	else equal(body.reason, null);
	equal(typeof body.test, "boolean");
	match(textOf(body.occurredAt), ISO_UTC);
	match(textOf(body.sentAt), ISO_UTC);
	ok(Date.parse(textOf(body.sentAt)) <= serviceNowMs, "sentAt is not in the future");
}

/**
 * Computes the signature from section 5 with independent code, so that a mistake in our signing code or in the
 * receiver's library cannot confirm itself.
 */
function checkSignature({ request, headers, secret }: ReceivedCallback, brand: string): void {
	const canonical = [
		"POST",
		request.path,
		headers.get(`X-${brand}-Timestamp`),
		headers.get(`X-${brand}-Nonce`),
		createHash("sha256").update(request.body).digest("hex"),
	].join("\n");
	const expected = createHmac("sha256", secret).update(canonical).digest("hex");
	equal(headers.get(`X-${brand}-Signature`), expected);
}

function textOf(value: unknown): string {
	ok(typeof value === "string", `${JSON.stringify(value)} is not a string`);
	return value;
}
