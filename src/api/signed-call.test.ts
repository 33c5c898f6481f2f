import assert from "node:assert/strict";
import { test } from "node:test";
import { replaceSecret } from "../../test/support/replace-secret.ts";
import { expectValue } from "../../test/support/shop-account.ts";
import { signedRequest } from "../../test/support/signed-request.ts";
import { createApp } from "../app.ts";
import { DAY_MS } from "../domain/time.ts";
import { createKnownNetwork } from "../store/queries/known-network.ts";
import { makeShop, openTestShop, read, START_MS } from "./test-shop.test-support.ts";

const SALE = { orderId: "A-1", basketValue: "100.00" };

test("the very same request is accepted once, also when two copies arrive together", async (t) => {
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

test("a nonce belongs to its programme, and a read spends one too", async (t) => {
	const shop = await openTestShop(t);
	const nonce = "0123456789abcdef";
	assert.equal((await shop.call("GET", "/v1/conversions", { nonce })).status, 200);
	assert.equal((await shop.call("GET", "/v1/conversions", { nonce })).json.code, "replayed_nonce");
	const other = await makeShop(shop.deps);
	const request = signedRequest("GET", "/v1/conversions", other.credentials, { nowMs: START_MS, nonce });
	assert.equal((await shop.request(request)).status, 200);
});

test("a call that fails on our side spends no nonce: the same request then goes through", async (t) => {
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

test("a timestamp is good up to 300 seconds either way", async (t) => {
	const shop = await openTestShop(t);
	for (const nowMs of [START_MS - 300_000, START_MS + 300_000]) {
		assert.equal((await shop.call("GET", "/v1/conversions", { nowMs })).status, 200);
	}
});

test("an upper-case signature is accepted", async (t) => {
	const shop = await openTestShop(t);
	const request = signedRequest("POST", "/v1/conversions", shop.credentials, { body: SALE, nowMs: START_MS });
	const signature = request.headers.get("x-service-signature") ?? "";
	request.headers.set("x-service-signature", signature.toUpperCase());
	assert.equal((await shop.request(request)).status, 201);
});

test("a replaced secret is good for 24 hours more, and the new one at once", async (t) => {
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

test("method, path, query and every byte of the body are signed", async (t) => {
	const shop = await openTestShop(t);
	const send = async (method: string, target: string, like: Request, body?: string) => {
		const init = body === undefined ? {} : { body };
		const request = new Request(`http://localhost${target}`, { method, headers: like.headers, ...init });
		return read(await shop.request(request));
	};
	const sale = signedRequest("POST", "/v1/conversions", shop.credentials, { body: SALE, nowMs: START_MS });
	const list = signedRequest("GET", "/v1/conversions?limit=1", shop.credentials, { nowMs: START_MS });
	const text = JSON.stringify(SALE);
	const tampered = [
		await send("POST", "/v1/conversions", sale, text.replace("100.00", "900.00")),
		await send("POST", "/v1/conversions", sale, `${text} `),
		await send("POST", "/v1/conversions?x=1", sale, text),
		await send("POST", "/v1/approvals", sale, text),
		await send("GET", "/v1/conversions", sale),
		await send("GET", "/v1/conversions?limit=2", list),
		await send("GET", "/v1/conversions", list),
	];
	assert.deepEqual(
		tampered.map(({ json }) => json.code),
		tampered.map(() => "bad_signature"),
	);
	const rows = await shop.inbound();
	assert.deepEqual(
		rows.map((row) => row.programme_id),
		tampered.map(() => shop.programme.id),
	);
});

test("what is signed is the target on the wire, however the server rewrites it", async (t) => {
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

test("another brand has its own header names", async (t) => {
	const shop = await openTestShop(t);
	const app = createApp({ ...shop.deps, network: createKnownNetwork(shop.deps, "Acme") });
	const signed = signedRequest("GET", "/v1/conversions", shop.credentials, {
		nowMs: START_MS,
		brand: "Acme",
	});
	assert.equal((await app.request(signed)).status, 200);
	const other = signedRequest("GET", "/v1/conversions", shop.credentials, { nowMs: START_MS });
	const refused = await read(await app.request(other));
	assert.equal(refused.json.code, "missing_signature_header");
	assert.match(refused.json.detail ?? "", /X-Acme-Timestamp/);
});
