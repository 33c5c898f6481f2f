// Tests API keys and nonces on both databases.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import { REPLACED_SECRET_GRACE_MS } from "#core/domain/secret-life.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { issueManyKeys, MAX_MANY_KEYS } from "#core/programmes/many-keys.ts";
import { keyOfNonce, type NewNonce } from "#core/store/batch.ts";
import { ConflictError } from "#core/store/conflict.ts";
import { findKeyHolders, findProgrammesToCall } from "#core/store/queries/callers.ts";
import { insertApiKey, revokeApiKey } from "#core/store/queries/keys.ts";
import { findProgramme, listKeylessProgrammes } from "#core/store/queries/programmes.ts";
import { insertSecret } from "#core/store/queries/signing-secrets.ts";
import type { Db, Store } from "#core/store/store.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, findConversion, newConversion, newId, newSecret } from "../support/rows.ts";

/** Number of competing requests. It exceeds the size of the connection pool, so that some must wait. */
const RIVALS = 16;

eachDatabase("keys", (database) => {
	test("a key is found by its hash with its programme and secret, and revoking it works once", async () => {
		const { store } = database;
		const { id, public_id, receiver_id } = await addProgramme(store);
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
		const find = (...hashes: string[]) => findKeyHolders(store, hashes, START_MS);
		const [found, ...others] = await find("another hash", `hash of ${publicId}`);
		const apiKey = await store.db.selectFrom("api_keys").selectAll().where("public_id", "=", publicId);
		const secret = await store.db
			.selectFrom("signing_secrets")
			.selectAll()
			.where("receiver_id", "=", receiver_id);
		const programme = await findProgramme(store.db, public_id);
		deepEqual(found, {
			apiKey: await apiKey.executeTakeFirst(),
			programme,
			secret: await secret.executeTakeFirst(),
		});
		deepEqual(others, []);
		deepEqual(await findProgrammesToCall(store, [public_id, "prg_unknown"]), [programme]);
		const stranger = await addProgramme(store);
		equal(await revokeApiKey(store.db, stranger.id, publicId, START_MS), undefined, "another shop's key");
		const revoked = await Promise.all(
			[1, 2, 3].map((n) => revokeApiKey(store.db, id, publicId, START_MS + n)),
		);
		equal(revoked.filter(Boolean).length, 1);
		deepEqual(
			(await find(`hash of ${publicId}`)).map((one) => one.apiKey.revoked_at_ms !== null),
			[true],
		);
	});

	test("a key of a programme without a secret is found, and so is one with several, the newest first", async () => {
		const { store } = database;
		const { id, receiver_id } = await addProgramme(store);
		const hash = newId("key");
		const names = { public_id: newId("key"), name: "", hint: "", key_right: "report" } as const;
		await insertApiKey(store.db, { ...names, programme_id: id, hash, created_at_ms: START_MS });
		const secretsOf = async () =>
			(await findKeyHolders(store, [hash], START_MS)).map(({ secret }) => secret?.sealed ?? null);
		const add = (sealed: string, replaced_at_ms: number | null, ended_at_ms: number | null = null) =>
			insertSecret(store.db, newSecret(receiver_id, { sealed, replaced_at_ms, ended_at_ms }));
		await store.db.deleteFrom("signing_secrets").where("receiver_id", "=", receiver_id).execute();
		deepEqual(await secretsOf(), [null]);
		await add("too old", START_MS - REPLACED_SECRET_GRACE_MS);
		await add("replaced", START_MS - REPLACED_SECRET_GRACE_MS + 1);
		await add("ended", START_MS - 1, START_MS);
		await add("active", null);
		deepEqual(await secretsOf(), ["active", "replaced"]);
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

const nonceRow = (programme_id: number, nonce: string): NewNonce => ({
	programme_id,
	nonce,
	expires_at_ms: START_MS,
});

/** Stores nonces as a batch of calls does. Returns false if one of them was used before. */
function spend({ batch }: Store, db: Db, nonces: readonly NewNonce[]): Promise<boolean> {
	return batch.write(db, { nonces }).then(() => true, isUsed);
}

function isUsed(error: unknown): boolean {
	// SQLite reports its own error, because no other process can write there between the look and the write.
	if (error instanceof ConflictError || /UNIQUE constraint failed: nonces/.test(String(error))) return false;
	throw error;
}

eachDatabase("nonces", (database) => {
	const findUsed = async (nonces: readonly NewNonce[]) => {
		const { store } = database;
		return (await store.batch.look(store.db, { nonces, orders: [], programmeIds: [] })).usedNonces;
	};

	test("of a set of nonces the used ones are found, by programme and exact spelling", async () => {
		const { store } = database;
		const used = ["used", 'quo"te', "1,2", "a b", "{}"].map((nonce) => nonceRow(5, nonce));
		ok(await spend(store, store.db, used));
		const others = [nonceRow(5, "Used"), nonceRow(5, "b"), nonceRow(5, "a"), nonceRow(6, "used")];
		deepEqual(await findUsed([...others, ...used, ...used]), new Set(used.map(keyOfNonce)));
		deepEqual(await findUsed([]), new Set());
	});

	test("a write with a used nonce is a conflict, and stores nothing", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [fresh, used] = [nonceRow(programme.id, "fresh"), nonceRow(programme.id, "used")];
		ok(await spend(store, store.db, [used]));
		const started = [{ ...newConversion(programme.id), id: -1 }];
		equal(await store.batch.write(store.db, { nonces: [fresh, used], started }).catch(isUsed), false);
		deepEqual(await findUsed([fresh, used]), new Set([keyOfNonce(used)]));
		equal(await findConversion(store.db, programme.id, started[0]?.order_id ?? ""), undefined);
	});

	test("one of many simultaneous requests with the same nonce is accepted", async () => {
		const { store, rival } = database;
		const spent = await Promise.all(
			Array.from({ length: RIVALS }, async (_, n) => {
				const either = n % 2 === 0 ? store : rival;
				return n % 4 < 2
					? spend(either, either.db, [nonceRow(1, "raced")])
					: either
							.transact((trx) => either.batch.write(trx, { nonces: [nonceRow(1, "raced")] }))
							.then(() => true, isUsed);
			}),
		);
		equal(spent.filter(Boolean).length, 1);
	});

	test("two processes that write the same nonces in opposite orders do not deadlock, and one of them stores all", async () => {
		const { store, rival } = database;
		for (let round = 0; round < 5; round++) {
			const rows = Array.from({ length: 200 }, (_, n) => nonceRow(7, `${round} ${n}`));
			const spent = await Promise.all([
				spend(store, store.db, rows),
				spend(rival, rival.db, rows.toReversed()),
			]);
			deepEqual(spent.toSorted(), [false, true]);
			equal((await findUsed(rows)).size, 200);
		}
	});

	test("a nonce that is written outside a transaction survives another transaction's rollback", async () => {
		const { store } = database;
		const [theirs, ours] = [nonceRow(8, "theirs"), nonceRow(8, "ours")];
		let spent: Promise<boolean> | undefined;
		const rolledBack = store.transact(async (trx) => {
			await store.batch.write(trx, { nonces: [theirs] });
			// On SQLite this write waits until the open transaction ends.
			spent = spend(store, store.db, [ours]);
			await new Promise((resolve) => setImmediate(resolve));
			throw new Error("the request failed");
		});
		await rejects(rolledBack, /the request failed/);
		equal(await spent, true);
		deepEqual(await findUsed([theirs, ours]), new Set([keyOfNonce(ours)]));
	});
});
