// A shop that gets callbacks, with what went out by the engine's own code, to be damaged and pasted; and its own requests,
// signed from the contract's section 5 alone.

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { setUrl } from "../../test/support/change-rows.ts";
import { recordConversion } from "../conversions/record.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { issueKey } from "../programmes/keys.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";
import { runCallbacks } from "../web/integration/callback-run.test-support.ts";
import { createTestSite, type TestSite } from "../web/test-site.test-support.ts";
import { type CheckedSignature, checkSignature } from "./check-signature.ts";

/** With whatever proxies and frameworks like to change. */
export const CALLBACK_URL = "https://shop.example/hooks/r%C3%BCckruf?shop=garden&note=a%20b";

/** A request as a server's developer sees it. */
export interface Seen {
	method: string;
	target: string;
	headers: Record<string, string>;
	body: string;
}

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

/** Reports a sale; resolves to the callback about it, as it went out. */
export async function callBack({ site, programme }: CalledShop, orderId: string): Promise<Seen> {
	const { deps, store } = site;
	const sale = { orderId, eventType: "SALE", basketValue: "129.90", occurredAtMs: null } as const;
	const recorded = await store.transact((trx) =>
		recordConversion(trx, deps, programme, { ...sale, source: "postback", isTest: false }),
	);
	assert.ok(recorded.ok);
	const sent = await runCallbacks(site, programme, { kind: "answered", status: 401 });
	const request = sent.find(({ body }) => body.includes(JSON.stringify(orderId)));
	assert.ok(request !== undefined);
	const { pathname, search } = new URL(request.url);
	const headers: Record<string, string> = {};
	for (let at = 0; at < request.headers.length; at += 2) {
		headers[request.headers[at] ?? ""] = request.headers[at + 1] ?? "";
	}
	return { method: "POST", target: pathname + search, headers, body: request.body };
}

export interface Signed {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: string;
	secret: string | Uint8Array;
	/** Behind the five lines. */
	end: string;
}

export function hmac({ method, target, timestamp, nonce, body, secret, end }: Signed): string {
	const digest = createHash("sha256").update(body).digest("hex");
	const text = [method, target, timestamp, nonce, digest].join("\n") + end;
	return createHmac("sha256", secret).update(text).digest("hex");
}

export function check(
	{ site, programme }: CalledShop,
	{ method, target, headers, body }: Seen,
	more: { secret?: string; computed?: string } = {},
): Promise<CheckedSignature> {
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
	const pasted = { method, target, headers: lines.join("\r\n"), body };
	return checkSignature(site.deps, programme, { pasted, secret: "", computed: "", ...more });
}

/** "part: cause" of everything that is wrong or not known, the part by its first word. */
export function wrongIn(findings: CheckedSignature["findings"]): string[] {
	return findings
		.filter(({ verdict }) => verdict === "bad" || verdict === "unknown")
		.map(({ part, cause }) => `${part.split(" ", 1)[0]}: ${cause}`);
}
