// What a refused call must look like from every side: the answer, the log row, and that nothing else was stored.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallOptions } from "../../test/support/signed-request.ts";
import { type FaultCode, httpStatusOf } from "../domain/fault.ts";
import type { CALLER_CODES } from "./openapi/problem-list.ts";
import { type Answered, openTestShop, type TestShop } from "./test-shop.test-support.ts";

/** Met on the pages, by the command, or in the pixel's log alone. `internal` and `unavailable`: failures.test.ts. */
type OtherCode =
	| Extract<FaultCode, `postback_url_${string}`>
	| "unknown_programme"
	| "pixel_limited"
	| "unknown_delivery"
	| "invalid_email"
	| "email_taken"
	| "unknown_role"
	| "invalid_name"
	| "invalid_rate"
	| "invalid_days"
	| "changed_meanwhile"
	| "unknown_person"
	| "unknown_key"
	| "too_many_keys"
	| "secret_already_prepared"
	| "secret_not_prepared"
	| "wrong_credentials"
	| "wrong_code"
	| "code_already_used"
	| "code_step_over"
	| "too_many_attempts"
	| "wrong_password"
	| "password_too_short"
	| "password_too_long"
	| "link_not_valid"
	| "authenticator_already_on"
	| "authenticator_not_on"
	| "unknown_session"
	| "form_not_valid"
	| "not_allowed"
	| "malformed_file"
	| "too_many_rows"
	| "too_many_exports"
	| "too_many_uploads"
	| "nothing_selected"
	| "unknown_job"
	| "job_not_ready"
	| "delivery_not_finished"
	| "delivery_cancelled"
	| "no_postback_url"
	| "unavailable"
	| "internal";

export interface Scenario {
	what: string;
	field?: string;
	/** What the log row's order is; undefined when the call names none. */
	orderId?: string;
	detail?: RegExp;
	/** Happens before the count of what is stored. */
	prepare?: (shop: TestShop) => Promise<unknown>;
	call: (shop: TestShop) => Promise<Answered>;
}

/** Who is calling, and is it really them. */
export type CallerCode = (typeof CALLER_CODES)[number];

/** What is being said. Whatever is in neither list lands here, so that a new code cannot come without a test. */
export type ContentCode = Exclude<FaultCode, OtherCode | CallerCode>;

export const SALE = { orderId: "A-1", basketValue: "100.00" };

export const post =
	(target: string, body: unknown, options: Partial<CallOptions> = {}) =>
	(shop: TestShop): Promise<Answered> =>
		shop.call("POST", target, { body, ...options });

export const record = post("/v1/conversions", SALE);

export const recordWith = (headers: NonNullable<CallOptions["headers"]>) =>
	post("/v1/conversions", SALE, { headers });

export function testRefusals(table: Readonly<Partial<Record<FaultCode, readonly Scenario[]>>>): void {
	for (const [code, scenarios] of Object.entries(table)) {
		for (const scenario of scenarios) {
			test(`${code}: ${scenario.what}`, async (t) => {
				const shop = await openTestShop(t);
				await scenario.prepare?.(shop);
				await expectRefusal(shop, code, scenario);
			});
		}
	}
}

async function expectRefusal(shop: TestShop, code: string, scenario: Scenario): Promise<void> {
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
