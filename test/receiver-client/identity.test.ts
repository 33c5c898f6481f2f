// Who may speak for a shop: key, secret, clock, nonce and brand, as the client sends them to the real service.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { type RecordResult, signRequest } from "@ringback/receiver";
import { issueKey, revokeKey } from "../../src/programmes/keys.ts";
import { replaceSecret } from "../support/replace-secret.ts";
import { expectValue, openAccount } from "../support/shop-account.ts";
import { startLiveService } from "./live-service.ts";

const live = await startLiveService();
const branded = await startLiveService({ RINGBACK_BRAND: "Acme" });
const sale = { orderId: "A-1", basketValue: "10.00" };

test("a key nobody issued is refused", async () => {
	await isRefused(live.createClient({ apiKey: "rbk_nobody" }).record(sale), "unknown_api_key");
});

test("a revoked key is refused", async () => {
	const { key, keyId } = expectValue(await issueKey(live.service, live.account.programmeId));
	const client = live.createClient({ apiKey: key });
	equal((await client.conversions()).ok, true);
	expectValue(await revokeKey(live.service, live.account.programmeId, keyId));
	await isRefused(client.record(sale), "revoked_api_key");
});

test("another programme's secret is refused", async () => {
	const other = await openAccount(live.service, { owners: ["other@shop.example"] });
	await isRefused(live.createClient({ secret: other.secret }).record(sale), "bad_signature");
});

for (const [clock, byMs, told] of [
	["late", -400_000, /Check the clock of this machine: it is about (\d+) s behind the service's\.$/],
	["early", 400_000, /Check the clock of this machine: it is about (\d+) s ahead of the service's\.$/],
] as const) {
	test(`a shop whose clock is 400 s ${clock} is refused and told so`, async () => {
		const client = live.createClient({ now: () => Date.now() + byMs });
		const detail = await isRefused(client.record(sale), "stale_timestamp");
		match(detail, told);
		// The answer's Date has whole seconds, and a loaded machine takes some.
		const seconds = Number(told.exec(detail)?.[1]);
		ok(seconds >= 390 && seconds <= 410, detail);
	});
}

test("a clock that is 290 s off is good enough", async () => {
	for (const byMs of [-290_000, 290_000]) {
		equal((await live.createClient({ now: () => Date.now() + byMs }).conversions()).ok, true);
	}
});

/** Sends a request, and then the very same again, as often as it is told to, and gives the copy's answer. */
function copyRequests(times: number): typeof fetch {
	let left = times;
	return async (input, init) => {
		if (left-- <= 0) return fetch(input, init);
		const first = await fetch(input, init);
		await first.arrayBuffer();
		return fetch(input, init);
	};
}

test("a request that something on the way sends twice is taken once, and the client learns how it ended", async () => {
	const client = live.createClient({ fetch: copyRequests(1), retry: { firstDelayMs: 1 } });
	const result = await client.record({ ...sale, orderId: "A-twice" });
	deepEqual([result.ok && result.outcome, result.attempts], ["DUPLICATE", 2]);
	deepEqual((await live.inboundOutcomes()).slice(-3), ["RECORDED", "replayed_nonce", "DUPLICATE"]);
	equal((await live.countRows("A-twice")).conversions, 1);
});

test("where something on the way sends every request twice, the client gives up after the second and says so", async () => {
	const client = live.createClient({ fetch: copyRequests(9), retry: { firstDelayMs: 1 } });
	const detail = await isRefused(client.record({ ...sale, orderId: "A-always" }), "replayed_nonce", 2);
	match(detail, /sent this request twice.* make the call again/);
	equal((await live.countRows("A-always")).conversions, 1);
});

test("another brand is spoken when it is given, and refused when it is not", async () => {
	const acme = branded.createClient({ brand: "Acme" });
	const recorded = await acme.record(sale);
	equal(recorded.ok && recorded.outcome, "RECORDED");
	equal((await acme.conversions({ orderId: "A-1" })).ok, true);
	const detail = await isRefused(branded.createClient().record(sale), "missing_signature_header");
	match(detail, /X-Acme-/);
});

test("a request signed by hand with signRequest is heard, and its signature holds for nothing else", async () => {
	const { apiKey, secret } = live.account;
	const path = "/v1/conversions?orderId=B%C3%BCcher+1%2F2&limit=10";
	const signed = await signRequest({ method: "GET", path, secret, apiKey });
	const ask = async (target: string) => {
		const response = await fetch(live.service.url + target, { headers: signed.headers });
		await response.arrayBuffer();
		return response.status;
	};
	deepEqual([await ask(path.replace("10", "11")), await ask(path), await ask(path)], [401, 200, 401]);
	const outcomes = await live.inboundOutcomes();
	deepEqual(outcomes.slice(-3), ["bad_signature", "LISTED", "replayed_nonce"]);
});

test("after a replacement the old secret is good for a day, and the new one at once", async () => {
	const replaced = expectValue(await replaceSecret(live.service, live.account.programmeId));
	equal((await live.createClient().conversions()).ok, true);
	equal((await live.createClient({ secret: replaced }).conversions()).ok, true);
});

async function isRefused(call: Promise<RecordResult>, code: string, attempts = 1): Promise<string> {
	const result = await call;
	ok(!result.ok && result.kind === "refused", JSON.stringify(result));
	const isOf401 = [result.code, result.status, result.attempts];
	deepEqual(isOf401, [code, 401, attempts]);
	equal((await live.countRows("A-1")).conversions, 0);
	return result.detail;
}
