// API keys and nonces on both databases.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { findApiKeysByHash, insertApiKey, revokeApiKey, spendNonce } from "../../src/store/keys.ts";
import { pruneNonces } from "../../src/store/prune.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, newId } from "../support/rows.ts";

/** More than a pool holds, so that some of them have to wait. */
const RIVALS = 16;

eachDatabase("keys", (database) => {
	test("a key is found by its hash, and revoking it works once", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const publicId = newId("key");
		await insertApiKey(store.db, {
			public_id: publicId,
			programme_id: id,
			hash: `hash of ${publicId}`,
			hint: "abcd",
			created_at_ms: START_MS,
		});
		const [found] = await findApiKeysByHash(store.db, [`hash of ${publicId}`]);
		deepEqual([found?.public_id, found?.revoked_at_ms], [publicId, null]);
		const stranger = await addProgramme(store);
		equal(await revokeApiKey(store.db, stranger.id, publicId, START_MS), undefined, "another shop's key");
		const revoked = await Promise.all(
			[1, 2, 3].map((n) => revokeApiKey(store.db, id, publicId, START_MS + n)),
		);
		equal(revoked.filter(Boolean).length, 1);
		deepEqual(await findApiKeysByHash(store.db, ["another hash"]), []);
	});
});

eachDatabase("nonces", (database) => {
	test("a nonce is spent once per programme", async () => {
		const { db } = database.store;
		equal(await spendNonce(db, 1, "first", START_MS), true);
		equal(await spendNonce(db, 1, "first", START_MS + 1), false);
		equal(await spendNonce(db, 2, "first", START_MS), true);
		equal(await spendNonce(db, 1, "First", START_MS), true);
	});

	test("of many requests with the same nonce at once one gets through", async () => {
		const { store, rival } = database;
		const spent = await Promise.all(
			Array.from({ length: RIVALS }, (_, n) => {
				const { transact } = n % 2 === 0 ? store : rival;
				return transact((trx) => spendNonce(trx, 1, "raced", START_MS));
			}),
		);
		equal(spent.filter(Boolean).length, 1);
	});

	test("a nonce whose request was rolled back can be spent", async () => {
		const { store } = database;
		const rolledBack = store.transact(async (trx) => {
			equal(await spendNonce(trx, 1, "rolled back", START_MS), true);
			throw new Error("the request failed");
		});
		equal(await rolledBack.then(isStored, isRefused), false);
		equal(await spendNonce(store.db, 1, "rolled back", START_MS), true);
	});

	test("pruning removes expired nonces five minutes late, for clocks that are behind, and no others", async () => {
		const { store } = database;
		await spendNonce(store.db, 3, "expired", START_MS - 300_001);
		await spendNonce(store.db, 3, "still good", START_MS - 300_000);
		await pruneNonces(store, START_MS);
		equal(await spendNonce(store.db, 3, "expired", START_MS), true);
		equal(await spendNonce(store.db, 3, "still good", START_MS), false);
	});
});

const isStored = (): boolean => true;
const isRefused = (): boolean => false;
