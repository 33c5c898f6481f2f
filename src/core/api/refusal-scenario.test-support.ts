// Checks a refused call: its answer, its row of the inbound log, and that nothing else was stored.

import assert from "node:assert/strict";
import type { CallOptions } from "../../../test/support/signed-request.ts";
import { type ApiFaultCode, type CodeOf, httpStatusOf, type TokenFaultCode } from "../domain/fault.ts";
import type { Answered, TestShop } from "./test-shop.test-support.ts";

export interface Scenario {
	what: string;
	field?: string;
	/** Order id in the row of the inbound log, or undefined if the call names no order. */
	orderId?: string;
	detail?: RegExp;
	/** Runs before the stored rows are read for the comparison. */
	prepare?: (shop: TestShop) => Promise<unknown>;
	call: (shop: TestShop) => Promise<Answered>;
}

/** Codes of faults that are caused by the caller's key, secret, timestamp or nonce. */
export type CallerCode = CodeOf<"caller">;

/**
 * Codes of faults that are caused by invalid content. These are all API codes except faults of the caller and
 * failures on our side (failures.test.ts).
 */
export type ContentCode = Exclude<ApiFaultCode, CallerCode | TokenFaultCode | CodeOf<"own">>;

export const SALE = { orderId: "A-1", basketValue: "100.00" };

export const post =
	(target: string, body: unknown, options: Partial<CallOptions> = {}) =>
	(shop: TestShop): Promise<Answered> =>
		shop.call("POST", target, { body, ...options });

export const record = post("/v1/conversions", SALE);

export const recordWith = (headers: NonNullable<CallOptions["headers"]>) =>
	post("/v1/conversions", SALE, { headers });

export async function expectRefusal(shop: TestShop, code: string, scenario: Scenario): Promise<void> {
	const storedBefore = await shop.stored();
	const rowsBefore = (await shop.inbound()).length;
	shop.announced.length = 0;
	const { status, headers, json } = await scenario.call(shop);
	assert.deepEqual([json.code, status, json.field], [code, httpStatusOf(code), scenario.field]);
	assert.equal(headers.get("content-type"), "application/problem+json");
	assert.equal(json.status, status);
	assert.equal(json.type, `https://ringback.example/problems/${code}`);
	assert.equal(headers.has("www-authenticate"), status === 401);
	assert.match(json.detail ?? "", scenario.detail ?? /\w.{15,}/);
	assert.deepEqual(await shop.stored(), storedBefore);
	assert.deepEqual(shop.announced, []);
	const rows = await shop.inbound();
	assert.equal(rows.length, rowsBefore + 1);
	const row = rows.at(-1);
	assert.deepEqual([row?.kind, row?.outcome, row?.http_status], ["api", code, status]);
	assert.equal(row?.order_id, scenario.orderId ?? null);
	assert.doesNotMatch(
		JSON.stringify([json, row]),
		new RegExp(`${shop.credentials.secret}|${shop.credentials.key}`),
	);
	assert.deepEqual(shop.complaints, []);
}
