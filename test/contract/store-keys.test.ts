// API keys, signing secrets and nonces on both databases.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import {
	findApiKeyByHash,
	findUsableSecrets,
	hasSecret,
	insertApiKey,
	insertSecret,
	retirePresentSecret,
	revokeApiKey,
} from "../../src/store/keys.ts";
import { spendNonce } from "../../src/store/nonces.ts";
import { pruneNonces } from "../../src/store/prune.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, newId } from "../support/rows.ts";

/** More than a pool holds, so that some of them have to wait. */
const RIVALS = 16;

eachDatabase("keys and secrets", (database) => {
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
		equal((await findApiKeyByHash(store.db, `hash of ${publicId}`))?.revoked_at_ms, null);
		const stranger = await addProgramme(store);
		equal(await revokeApiKey(store.db, stranger.id, publicId, START_MS), false, "another shop's key");
		const revoked = await Promise.all(
			[1, 2, 3].map((n) => revokeApiKey(store.db, id, publicId, START_MS + n)),
		);
		equal(revoked.filter(Boolean).length, 1);
		equal(await findApiKeyByHash(store.db, "another hash"), undefined);
	});

	test("a replaced secret stays usable for as long as is asked, behind the present one", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await store.transact((trx) => replaceSecret(trx, id, "second", START_MS + 100));
		await store.transact((trx) => replaceSecret(trx, id, "third", START_MS + 200));
		const usable = async (afterMs: number) =>
			(await findUsableSecrets(store.db, id, afterMs)).map(({ sealed }) => sealed);
		deepEqual(await usable(START_MS), ["third", "second", "sealed"]);
		deepEqual(await usable(START_MS + 100), ["third", "second"]);
		deepEqual(await usable(START_MS + 200), ["third"]);
	});

	test("a second present secret is refused", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const second = insertSecret(store.db, { programme_id: id, sealed: "two", created_at_ms: START_MS });
		equal(await second.then(isStored, isRefused), false);
		deepEqual(await presentSecrets(store, id), ["sealed"]);
	});

	test("a programme has one present secret however many replace it at once", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		const stored = await Promise.all(
			Array.from({ length: RIVALS }, (_, n) => {
				const { transact } = n % 2 === 0 ? store : rival;
				return transact((trx) => replaceSecret(trx, id, `secret ${n}`, START_MS + n)).then(
					isStored,
					isRefused,
				);
			}),
		);
		equal((await presentSecrets(store, id)).length, 1);
		equal(await hasSecret(store.db, id), true);
		// Nobody who was told "stored" lost it: the first one and every stored replacement are on record.
		const all = await findUsableSecrets(store.db, id, 0);
		equal(all.length, 1 + stored.filter(Boolean).length);
	});

	test("retiring without a replacement leaves the programme without a secret", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await retirePresentSecret(store.db, id, START_MS + 1);
		equal(await hasSecret(store.db, id), false);
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

async function replaceSecret(trx: Store["db"], id: number, sealed: string, nowMs: number): Promise<void> {
	await retirePresentSecret(trx, id, nowMs);
	await insertSecret(trx, { programme_id: id, sealed, created_at_ms: nowMs });
}

async function presentSecrets(store: Store, id: number): Promise<string[]> {
	return (await findUsableSecrets(store.db, id, Number.MAX_SAFE_INTEGER)).map(({ sealed }) => sealed);
}

const isStored = (): boolean => true;
const isRefused = (): boolean => false;
