import assert from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "../../../test/support/clock.ts";
import { replaceSecret } from "../../../test/support/replace-secret.ts";
import { expectValue } from "../../../test/support/shop-account.ts";
import { signedRequest } from "../../../test/support/signed-request.ts";
import { DAY_MS } from "../domain/time.ts";
import { makeShop, openTestShop, read, START_MS } from "./test-shop.test-support.ts";

const SALE = { orderId: "A-1", basketValue: "100.00" };

test("the same request is accepted once, also if two copies arrive together", async (t) => {
	const shop = await openTestShop(t);
	const request = signedRequest("POST", "/v1/conversions", shop.credentials, { body: SALE, nowMs: START_MS });
	const answers = await Promise.all([shop.request(request.clone()), shop.request(request.clone())]);
	assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401]);
	const replayed = await read(await shop.request(request));
	assert.equal(replayed.json.code, "replayed_nonce");
	const rows = await shop.inbound();
	assert.deepEqual(rows.map(({ outcome }) => outcome).sort(), [
		"RECORDED",
		"replayed_nonce",
		"replayed_nonce",
	]);
});

test("a nonce is spent for its programme only, and a read spends one, too", async (t) => {
	const shop = await openTestShop(t);
	const nonce = "0123456789abcdef";
	assert.equal((await shop.call("GET", "/v1/conversions", { nonce })).status, 200);
	assert.equal((await shop.call("GET", "/v1/conversions", { nonce })).json.code, "replayed_nonce");
	const other = await makeShop(shop.deps);
	const request = signedRequest("GET", "/v1/conversions", other.credentials, { nowMs: START_MS, nonce });
	assert.equal((await shop.request(request)).status, 200);
});

test("a call that fails on our side does not spend its nonce, so the same request succeeds later", async (t) => {
	let isBroken = true;
	const shop = await openTestShop(t, {
		change: ({ store }) => ({
			store: {
				...store,
				transact: async (work) => {
					const done = await store.transact(async (trx) => {
						const value = await work(trx);
						if (isBroken) throw new Error("the disk is full");
						return value;
					});
					return done;
				},
			},
		}),
	});
	const request = signedRequest("POST", "/v1/conversions", shop.credentials, { body: SALE, nowMs: START_MS });
	const before = await shop.stored();
	assert.equal((await shop.request(request.clone())).status, 500);
	assert.deepEqual(await shop.stored(), before);
	isBroken = false;
	assert.equal((await shop.request(request)).status, 201);
});

test("an upper-case signature is accepted", async (t) => {
	const shop = await openTestShop(t);
	const request = signedRequest("POST", "/v1/conversions", shop.credentials, { body: SALE, nowMs: START_MS });
	const signature = request.headers.get("x-service-signature") ?? "";
	request.headers.set("x-service-signature", signature.toUpperCase());
	assert.equal((await shop.request(request)).status, 201);
});

test("a replaced secret is valid for 24 more hours, and the new one at once", async (t) => {
	const shop = await openTestShop(t);
	const newSecret = expectValue(await replaceSecret(shop.deps, shop.programme.public_id));
	const signWith = async (secret: string, nowMs: number) => {
		const credentials = { ...shop.credentials, secret };
		return read(await shop.request(signedRequest("GET", "/v1/conversions", credentials, { nowMs })));
	};
	assert.equal((await signWith(shop.credentials.secret, START_MS)).status, 200);
	assert.equal((await signWith(newSecret, START_MS)).status, 200);
	shop.moveClock(DAY_MS - 1);
	assert.equal((await signWith(shop.credentials.secret, START_MS + DAY_MS)).status, 200);
	shop.moveClock(1);
	assert.equal((await signWith(shop.credentials.secret, START_MS + DAY_MS)).json.code, "bad_signature");
	assert.equal((await signWith(newSecret, START_MS + DAY_MS)).status, 200);
});

test("pages are served while a caller with a valid key sends its body slowly", async (t) => {
	// The clock does not move, so the test would not end if the page had to wait for the report.
	const shop = await openTestShop(t, { change: () => ({ clock: createClock(START_MS) }) });
	const { headers } = signedRequest("POST", "/v1/conversions", shop.credentials, {
		body: SALE,
		nowMs: START_MS,
	});
	const { readable, writable } = new TransformStream<Uint8Array>();
	const slow = new Request("http://ringback.example/v1/conversions", {
		method: "POST",
		headers,
		body: readable,
		duplex: "half",
	});
	const answered = shop.request(slow);
	const writer = writable.getWriter();
	const bytes = new TextEncoder().encode(JSON.stringify(SALE));
	await writer.write(bytes.subarray(0, 5));
	assert.equal((await shop.request("/openapi.json")).status, 200);
	await writer.write(bytes.subarray(5));
	await writer.close();
	assert.equal((await answered).status, 201);
});

test("the signature covers the target as it was sent, even if the server rewrites it", async (t) => {
	const shop = await openTestShop(t);
	const cases = [
		["/v1/x/../conversions?orderId=a|b", "/v1/x/../conversions?orderId=a|b"],
		["http://ringback.example/v1/conversions?limit=1", "/v1/conversions?limit=1"],
	] as const;
	for (const [onTheWire, target] of cases) {
		const signed = signedRequest("GET", target, shop.credentials, { nowMs: START_MS });
		const response = await shop.request(signed, undefined, { incoming: { url: onTheWire } });
		assert.equal(response.status, 200);
		assert.equal((await shop.inbound()).at(-1)?.target, target);
	}
});
