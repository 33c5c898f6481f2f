// Sets up a shop that gets callbacks from the engine's own code, and that sends requests to us. These
// requests are signed by separate code, which was written from section 5 of the contract.

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { setUrl } from "../../../test/support/change-rows.ts";
import { recordConversion } from "../conversions/record.ts";
import type { SentRequest } from "../domain/callback-request.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { issueKey } from "../programmes/keys.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";
import { runCallbacks } from "../web/integration/callback-run.test-support.ts";
import { createTestSite, type TestSite } from "../web/test-site.test-support.ts";
import { type CheckedSignature, checkSignature, pasteSent } from "./check-signature.ts";
import type { PastedRequest } from "./pasted-request.ts";

/** Postback URL with encoded characters and a query. Proxies and frameworks often change these parts. */
export const CALLBACK_URL = "https://shop.example/hooks/r%C3%BCckruf?shop=garden&note=a%20b";

export interface CalledShop {
	site: TestSite;
	programme: Programme;
	key: string;
	secret: string;
}

export async function openCalledShop(store: Store): Promise<CalledShop> {
	const site = createTestSite(store);
	const programme = await site.addProgramme();
	const issued = await issueKey(site.deps, programme.public_id, COMMAND_LINE);
	assert.ok(issued.ok);
	const { key, secret } = issued.value;
	assert.ok(secret !== null);
	await setUrl(store.db, programme.id, CALLBACK_URL, 0);
	return { site, programme, key, secret };
}

/** Records a sale and returns its callback as the engine sent it. */
export async function callBack({ site, programme }: CalledShop, orderId: string): Promise<SentRequest> {
	const { deps, store } = site;
	const sale = { orderId, eventType: "SALE", basketValue: "129.90", occurredAtMs: null } as const;
	const recorded = await store.transact((trx) =>
		recordConversion(trx, deps, programme, { ...sale, source: "postback", isTest: false }),
	);
	assert.ok(recorded.ok);
	const sent = await runCallbacks(site, programme, { kind: "answered", status: 401 });
	const request = sent.find(({ body }) => body.includes(JSON.stringify(orderId)));
	assert.ok(request !== undefined);
	const { url, body } = request;
	const names = request.headers.filter((_, at) => at % 2 === 0);
	const headers = names.map((name, at) => [name, request.headers[2 * at + 1] ?? ""] as const);
	return { method: "POST", url, body, headers };
}

export interface Signed {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: string;
	secret: string | Uint8Array;
}

/** Returns the text that has to be signed, as contract section 5 defines it. */
export function textOf({ method, target, timestamp, nonce, body }: Signed): string {
	return [method, target, timestamp, nonce, createHash("sha256").update(body).digest("hex")].join("\n");
}

export function hmac(secret: string | Uint8Array, text: string): string {
	return createHmac("sha256", secret).update(text).digest("hex");
}

/**
 * Checks a pasted request. If `sent` is given, all parts that the test does not set are taken from that
 * callback.
 */
export function check(
	{ site, programme }: CalledShop,
	pasted: Partial<PastedRequest>,
	sent: SentRequest | null = null,
): Promise<CheckedSignature> {
	const empty = { method: "POST", target: "/", headers: "", body: "" };
	const whole = { ...(sent === null ? empty : pasteSent(sent)), ...pasted };
	return checkSignature(site.deps, programme, whole, sent);
}
