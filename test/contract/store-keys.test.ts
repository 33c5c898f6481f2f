// Tests API keys and nonces on both databases.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createKeyRing } from "../../src/domain/key-ring.ts";
import { SEALING_KEY_BYTES } from "../../src/domain/sealing.ts";
import { createRandom } from "../../src/outside/random.ts";
import { COMMAND_LINE } from "../../src/people/actor.ts";
import { issueManyKeys, MAX_MANY_KEYS } from "../../src/programmes/many-keys.ts";
import { findApiKeysByHash, insertApiKey, revokeApiKey } from "../../src/store/queries/keys.ts";
import { listKeylessProgrammes } from "../../src/store/queries/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, newId } from "../support/rows.ts";

/** Number of competing requests. It exceeds the size of the connection pool, so that some must wait. */
const RIVALS = 16;

eachDatabase("keys", (database) => {
	test("a key is found by its hash, and revoking it works once", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const publicId = newId("key");
		await insertApiKey(store.db, {
			public_id: publicId,
			programme_id: id,
			name: "Shop server",
			hash: `hash of ${publicId}`,
			hint: "abcd",
			key_right: "report",
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

	test("two calls at once that issue keys for many programmes issue one for each programme", async () => {
		const { store } = database;
		const programmes = [await addProgramme(store), await addProgramme(store), await addProgramme(store)];
		const random = createRandom();
		const deps = {
			store,
			clock: createClock(),
			random,
			keyRing: createKeyRing([random.bytes(SEALING_KEY_BYTES)]),
		};
		const programmeIds = programmes.map(({ id }) => id);
		const calls = await Promise.all(
			[1, 2].map(() => issueManyKeys(deps, COMMAND_LINE, { programmeIds, right: "report" })),
		);
		const issued = calls.flatMap((call) => (call.ok ? call.value.issued : []));
		deepEqual(
			issued.map(({ programmePublicId }) => programmePublicId).toSorted(),
			programmes.map(({ public_id }) => public_id).toSorted(),
		);
		deepEqual(
			calls.map((call) => call.ok && call.value.issued.length + call.value.skipped),
			[3, 3],
		);
		const many = Array.from({ length: MAX_MANY_KEYS + 1 }, (_, at) => at);
		const refused = await issueManyKeys(deps, COMMAND_LINE, { programmeIds: many, right: "" });
		equal(!refused.ok && refused.fault.code, "too_many_rows");
		const missing = await listKeylessProgrammes(store.db, 10_000);
		equal(
			missing.some((id) => programmeIds.includes(id)),
			false,
		);
	});
});

async function spend(
	store: Store,
	programmeId: number,
	nonce: string,
	expiresAtMs = START_MS,
): Promise<boolean> {
	const row = { programme_id: programmeId, nonce, expires_at_ms: expiresAtMs };
	return (await store.writes.spendNonces(store.db, [row])).has(row);
}

eachDatabase("nonces", (database) => {
	test("spending a set of nonces skips used ones, and of two equal nonces in a set the first is spent", async () => {
		const { store } = database;
		await spend(store, 5, "used");
		const rows = ["b", "used", "a", "b", "a", "c", 'quo"te', "1,2", "Used"].map((nonce) => ({
			programme_id: 5,
			nonce,
			expires_at_ms: START_MS,
		}));
		rows.push({ programme_id: 6, nonce: "used", expires_at_ms: START_MS });
		const spent = await store.transact((trx) => store.writes.spendNonces(trx, rows));
		deepEqual(
			rows.flatMap((row, at) => (spent.has(row) ? [at] : [])),
			[0, 2, 5, 6, 7, 8, 9],
		);
		equal((await store.transact((trx) => store.writes.spendNonces(trx, rows))).size, 0);
		equal((await store.writes.spendNonces(store.db, [])).size, 0);
	});

	test("one of many simultaneous requests with the same nonce is accepted", async () => {
		const { store, rival } = database;
		const spent = await Promise.all(
			Array.from({ length: RIVALS }, (_, n) => {
				const either = n % 2 === 0 ? store : rival;
				return either.transact((trx) => spend({ ...either, db: trx }, 1, "raced"));
			}),
		);
		equal(spent.filter(Boolean).length, 1);
	});

	test("two processes that spend the same nonces in opposite orders do not deadlock", async () => {
		const { store, rival } = database;
		for (let round = 0; round < 5; round++) {
			const rows = Array.from({ length: 200 }, (_, n) => ({
				programme_id: 7,
				nonce: `${round} ${n}`,
				expires_at_ms: START_MS,
			}));
			const spent = await Promise.all([
				store.transact((trx) => store.writes.spendNonces(trx, rows)),
				rival.transact((trx) => rival.writes.spendNonces(trx, rows.toReversed())),
			]);
			equal((spent[0]?.size ?? 0) + (spent[1]?.size ?? 0), 200);
		}
	});

	test("a nonce that is spent outside a transaction survives another transaction's rollback", async () => {
		const { store } = database;
		let spent: Promise<boolean> | undefined;
		const rolledBack = store.transact(async (trx) => {
			await spend({ ...store, db: trx }, 8, "theirs");
			// On SQLite this write waits until the open transaction ends.
			spent = spend(store, 8, "ours");
			await new Promise((resolve) => setImmediate(resolve));
			throw new Error("the request failed");
		});
		equal(await rolledBack.then(isStored, isRefused), false);
		equal(await spent, true);
		equal(await spend(store, 8, "ours"), false);
	});
});

const isStored = (): boolean => true;
const isRefused = (): boolean => false;
