// Tests replacing a signing secret on both databases. At most one secret is prepared and one active, even if
// many people act at once, and each step happens once.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Result } from "#core/domain/fault.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { REPLACED_SECRET_GRACE_MS } from "#core/domain/secret-life.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "#core/programmes/signing-secret.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { findUsableSecrets, insertSecret, stateOf } from "#core/store/queries/signing-secrets.ts";
import type { Store } from "#core/store/store.ts";
import { createRandom } from "../../src/outside/random.ts";
import { makeStillClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, newSecret } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";

/** Number of competing requests. It exceeds the size of the connection pool, so that some must wait. */
const RIVALS = 16;
const random = createRandom();

eachDatabase("signing secrets", (database) => {
	const depsOf = (store: Store, nowMs = START_MS): AccountsDeps => ({
		store,
		random,
		keyRing: createKeyRing([new Uint8Array(32).fill(7)]),
		clock: makeStillClock(() => nowMs),
	});
	/** Runs an action many times at once, through two connections to the same database. */
	const race = <Value>(act: (deps: AccountsDeps, n: number) => Promise<Value>): Promise<Value[]> =>
		Promise.all(
			Array.from({ length: RIVALS }, (_, n) => act(depsOf(n % 2 === 0 ? database.store : database.rival), n)),
		);
	const prepare = async (programme: Programme, nowMs?: number) =>
		expectValue(await prepareSecret(depsOf(database.store, nowMs), programme.public_id, COMMAND_LINE));
	const activate = async (programme: Programme, secretId: string, nowMs?: number) =>
		activateSecret(depsOf(database.store, nowMs), programme.public_id, secretId, COMMAND_LINE);
	const states = async (programme: Programme, nowMs = START_MS) => {
		const rows = await database.store.db
			.selectFrom("signing_secrets")
			.selectAll()
			.where("receiver_id", "=", programme.receiver_id)
			.orderBy("id")
			.execute();
		return rows.map((row) => stateOf(row, nowMs));
	};
	const audited = async (programme: Programme) => {
		const rows = await database.store.db
			.selectFrom("audit_entries")
			.select("action")
			.where("programme_id", "=", programme.id)
			.orderBy("id")
			.execute();
		return rows.map(({ action }) => action);
	};

	test("a replaced secret is accepted for a day or until it is ended", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const { secretId } = await prepare(programme);
		deepEqual(await states(programme), ["active", "prepared"]);
		equal((await activate(programme, secretId, START_MS + 10)).ok, true);
		deepEqual(await states(programme, START_MS + 10), ["replaced", "active"]);
		const usable = async (nowMs: number) =>
			(await findUsableSecrets(store.db, [programme.receiver_id], nowMs)).length;
		const dayLaterMs = START_MS + 10 + REPLACED_SECRET_GRACE_MS;
		deepEqual([await usable(dayLaterMs - 1), await usable(dayLaterMs)], [2, 1]);
		const ended = await endReplacedSecrets(depsOf(store, START_MS + 20), programme.public_id, COMMAND_LINE);
		equal(expectValue(ended), 1);
		equal(await usable(START_MS + 20), 1);
		deepEqual(await states(programme, START_MS + 20), ["ended", "active"]);
		deepEqual(await audited(programme), ["secret.prepared", "secret.activated", "secret.ended"]);
	});

	test("two rapid replacements leave two old secrets, which are ended together", async () => {
		const programme = await addProgramme(database.store);
		for (const atMs of [START_MS + 1, START_MS + 2]) {
			const { secretId } = await prepare(programme, atMs);
			equal((await activate(programme, secretId, atMs)).ok, true);
		}
		const ended = await endReplacedSecrets(
			depsOf(database.store, START_MS + 3),
			programme.public_id,
			COMMAND_LINE,
		);
		equal(expectValue(ended), 2);
		deepEqual(await states(programme, START_MS + 3), ["ended", "ended", "active"]);
		equal(
			expectValue(await endReplacedSecrets(depsOf(database.store), programme.public_id, COMMAND_LINE)),
			0,
		);
	});

	test("one of many simultaneous preparations succeeds, and the others are refused", async () => {
		const programme = await addProgramme(database.store);
		const made = await race((deps) => prepareSecret(deps, programme.public_id, COMMAND_LINE));
		deepEqual(codesOf(made), { made: 1, secret_already_prepared: RIVALS - 1 });
		deepEqual(await states(programme), ["active", "prepared"]);
		deepEqual(await audited(programme), ["secret.prepared"]);
	});

	test("a secret that many activate at once is activated once", async () => {
		const programme = await addProgramme(database.store);
		const { secretId } = await prepare(programme);
		const activated = await race((deps) => activateSecret(deps, programme.public_id, secretId, COMMAND_LINE));
		deepEqual(codesOf(activated), { made: RIVALS });
		deepEqual(await states(programme), ["replaced", "active"]);
		deepEqual(await audited(programme), ["secret.prepared", "secret.activated"]);
	});

	test("a secret that is activated and discarded at once ends in one state, and one secret stays active", async () => {
		const programme = await addProgramme(database.store);
		const { secretId } = await prepare(programme);
		await race((deps, n) =>
			n % 4 < 2
				? activateSecret(deps, programme.public_id, secretId, COMMAND_LINE)
				: discardSecret(deps, programme.public_id, secretId, COMMAND_LINE),
		);
		const found = (await states(programme)).join();
		equal(found === "replaced,active" || found === "active,ended", true, found);
		equal((await audited(programme)).length, 2);
	});

	test("a discarded secret is not accepted, and another can be prepared", async () => {
		const programme = await addProgramme(database.store);
		const { secretId } = await prepare(programme);
		const discard = () => discardSecret(depsOf(database.store), programme.public_id, secretId, COMMAND_LINE);
		deepEqual([(await discard()).ok, (await discard()).ok], [true, true]);
		equal((await findUsableSecrets(database.store.db, [programme.receiver_id], START_MS)).length, 1);
		deepEqual(codesOf([await activate(programme, secretId)]), { secret_not_prepared: 1 });
		await prepare(programme);
		deepEqual(await states(programme), ["active", "ended", "prepared"]);
		deepEqual(await audited(programme), ["secret.prepared", "secret.discarded", "secret.prepared"]);
	});

	test("an active secret cannot be discarded, and another programme's cannot be changed", async () => {
		const [mine, other] = [await addProgramme(database.store), await addProgramme(database.store)];
		const { secretId } = await prepare(mine);
		const deps = depsOf(database.store);
		const foreign = [
			await activateSecret(deps, other.public_id, secretId, COMMAND_LINE),
			await discardSecret(deps, other.public_id, secretId, COMMAND_LINE),
		];
		deepEqual(codesOf(foreign), { secret_not_prepared: 2 });
		equal((await activate(mine, secretId)).ok, true);
		deepEqual(codesOf([await discardSecret(deps, mine.public_id, secretId, COMMAND_LINE)]), {
			secret_not_prepared: 1,
		});
		deepEqual([await states(mine), await states(other)], [["replaced", "active"], ["active"]]);
	});

	test("without a secret there is nothing to replace", async () => {
		const programme = await addProgramme(database.store);
		await database.store.db
			.deleteFrom("signing_secrets")
			.where("receiver_id", "=", programme.receiver_id)
			.execute();
		const made = await prepareSecret(depsOf(database.store), programme.public_id, COMMAND_LINE);
		deepEqual(codesOf([made]), { no_signing_secret: 1 });
	});

	test("the database refuses a second active and a second prepared secret", async () => {
		const programme = await addProgramme(database.store);
		const insert = (change: { activated_at_ms: number | null }) =>
			insertSecret(database.store.db, newSecret(programme.receiver_id, change)).then(isStored, isRefused);
		equal(await insert({ activated_at_ms: START_MS }), false);
		equal(await insert({ activated_at_ms: null }), true);
		equal(await insert({ activated_at_ms: null }), false);
	});
});

function codesOf(results: readonly Result<unknown>[]): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const result of results) {
		const code = result.ok ? "made" : result.fault.code;
		counts[code] = (counts[code] ?? 0) + 1;
	}
	return counts;
}

const isStored = (): boolean => true;
const isRefused = (): boolean => false;
