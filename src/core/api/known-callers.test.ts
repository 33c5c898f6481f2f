// These tests show how long cached keys, secrets and programmes are used.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectValue } from "../../../test/support/shop-account.ts";
import { signedRequest } from "../../../test/support/signed-request.ts";
import { createApp } from "../../app.ts";
import { SECOND_MS } from "../domain/time.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { issueKey, revokeKey } from "../programmes/keys.ts";
import { changeProgramme } from "../programmes/programme-terms.ts";
import { discardSecret, prepareSecret } from "../programmes/signing-secret.ts";
import type { BatchStore } from "../store/batch.ts";
import { revokeApiKey } from "../store/queries/keys.ts";
import type { Store } from "../store/store.ts";
import { openTestShop, read, START_MS, type TestShop } from "./test-shop.test-support.ts";

async function addKey({ deps, programme, credentials }: TestShop) {
	const { keyId, key } = expectValue(await issueKey(deps, programme.public_id, COMMAND_LINE));
	return { keyId, credentials: { ...credentials, key } };
}

/** Returns a store that calls `onRead` after each read of a key, before the caller gets the answer. */
function watchKeyReads(store: Store, onRead: () => Promise<unknown>): Store {
	const { batch } = store;
	const find: BatchStore["find"] = async (db, read, keys) => {
		const found = await batch.find(db, read, keys);
		if ("hash" in read.key) await onRead();
		return found;
	};
	return { ...store, batch: { ...batch, find } };
}

test("a key is read once for all calls within a second, and again after it", async (t) => {
	const shop = await openTestShop(t);
	let readings = 0;
	const store = watchKeyReads(shop.store, async () => {
		readings++;
	});
	const app = createApp({ ...shop.deps, store });
	const call = async () => {
		const request = signedRequest("GET", "/v1/conversions", shop.credentials, { nowMs: START_MS });
		assert.equal((await app.request(request)).status, 200);
	};
	await Promise.all(Array.from({ length: 10 }, call));
	await call();
	assert.equal(readings, 1);
	shop.moveClock(SECOND_MS - 1);
	await call();
	assert.equal(readings, 1);
	shop.moveClock(1);
	await call();
	assert.equal(readings, 2);
});

test("a key that is revoked in this process is refused at once, and one that is revoked in another process after a second", async (t) => {
	const shop = await openTestShop(t);
	for (const isHere of [true, false]) {
		const { keyId, credentials } = await addKey(shop);
		const call = async () =>
			read(await shop.request(signedRequest("GET", "/v1/conversions", credentials, { nowMs: START_MS })));
		assert.equal((await call()).status, 200);
		if (isHere) {
			expectValue(await revokeKey(shop.deps, shop.programme.public_id, keyId, COMMAND_LINE));
		} else {
			// Another process revokes the key, so this process is not notified.
			await revokeApiKey(shop.store.db, shop.programme.id, keyId, START_MS);
			shop.moveClock(SECOND_MS - 1);
			assert.equal((await call()).status, 200);
			shop.moveClock(1);
		}
		assert.equal((await call()).json.code, "revoked_api_key");
	}
});

test("a key that is revoked while it is being read is not cached as valid", async (t) => {
	let onReading: (() => Promise<unknown>) | undefined;
	const shop = await openTestShop(t, {
		change: ({ store }) => ({
			store: watchKeyReads(store, async () => {
				const [run] = [onReading];
				onReading = undefined;
				await run?.();
			}),
		}),
	});
	const { keyId, credentials } = await addKey(shop);
	const call = async () =>
		read(await shop.request(signedRequest("GET", "/v1/conversions", credentials, { nowMs: START_MS })));
	// The key is revoked during the first read, after that read has found the key still valid.
	onReading = () =>
		revokeKey({ ...shop.deps, store: shop.store }, shop.programme.public_id, keyId, COMMAND_LINE);
	await call();
	assert.equal(onReading, undefined);
	assert.equal((await call()).json.code, "revoked_api_key");
});

test("a key that is revoked while the body is being sent is refused", async (t) => {
	const shop = await openTestShop(t);
	const { keyId, credentials } = await addKey(shop);
	const body = { orderId: "A-1", basketValue: "100.00" };
	const signed = signedRequest("POST", "/v1/conversions", credentials, { body, nowMs: START_MS });
	const slow = new ReadableStream({
		async pull(controller) {
			expectValue(await revokeKey(shop.deps, shop.programme.public_id, keyId, COMMAND_LINE));
			controller.enqueue(new TextEncoder().encode(JSON.stringify(body)));
			controller.close();
		},
	});
	const request = new Request(signed.url, {
		method: "POST",
		headers: signed.headers,
		body: slow,
		duplex: "half",
	});
	const before = await shop.stored();
	const { status, json } = await read(await shop.request(request));
	assert.deepEqual([status, json.code], [401, "revoked_api_key"]);
	assert.deepEqual(await shop.stored(), before);
});

test("a secret that is prepared or discarded in this process takes effect with the next call", async (t) => {
	const shop = await openTestShop(t);
	assert.equal((await shop.call("GET", "/v1/conversions")).status, 200);
	const { secretId, secret } = expectValue(
		await prepareSecret(shop.deps, shop.programme.public_id, COMMAND_LINE),
	);
	const credentials = { ...shop.credentials, secret };
	const call = async () =>
		read(await shop.request(signedRequest("GET", "/v1/conversions", credentials, { nowMs: START_MS })));
	assert.equal((await call()).status, 200);
	expectValue(await discardSecret(shop.deps, shop.programme.public_id, secretId, COMMAND_LINE));
	assert.equal((await call()).json.code, "bad_signature");
});

test("a call whose commit fails leaves nothing of it in memory, and the next call is noted as the first", async (t) => {
	let isBroken = true;
	const shop = await openTestShop(t, {
		change: ({ store }) => ({
			store: {
				...store,
				transact: (work) =>
					store.transact(async (trx) => {
						const done = await work(trx);
						if (isBroken) throw new Error("the disk is full");
						return done;
					}),
			},
		}),
	});
	const readTimes = async () => {
		const { db } = shop.store;
		const programme = await db
			.selectFrom("programmes")
			.select("first_signed_at_ms")
			.executeTakeFirstOrThrow();
		const key = await db.selectFrom("api_keys").select("last_used_at_ms").executeTakeFirstOrThrow();
		return [programme.first_signed_at_ms, key.last_used_at_ms];
	};
	const sell = () =>
		shop.call("POST", "/v1/conversions", { body: { orderId: "A-1", basketValue: "100.00" } });
	assert.equal((await sell()).status, 500);
	assert.deepEqual(await readTimes(), [null, null]);
	isBroken = false;
	assert.equal((await sell()).status, 201);
	assert.deepEqual(await readTimes(), [START_MS, START_MS]);
	shop.moveClock(10);
	assert.equal((await sell()).status, 200);
	assert.deepEqual(
		await readTimes(),
		[START_MS, START_MS],
		"the first time stays, and a use is noted now and then",
	);
});

test("terms that are changed in this process take effect with the next call", async (t) => {
	const shop = await openTestShop(t);
	const record = async (orderId: string) => {
		const { json } = await shop.call("POST", "/v1/conversions", { body: { orderId, basketValue: "100.00" } });
		return json.conversion?.commission;
	};
	assert.equal(await record("A-1"), "8.00");
	await changeProgramme(shop.deps, COMMAND_LINE, shop.programme.id, { commissionRate: "5" });
	assert.equal(await record("A-2"), "5.00");
});
