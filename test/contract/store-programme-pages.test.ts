// What the pages of programmes, people and notices read, on both databases: the right rows, along an index,
// and nobody left without an owner or without staff however two people press at once.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { changeRole, removePerson } from "../../src/accounts/programme-people.ts";
import { deactivateStaff } from "../../src/accounts/staff.ts";
import type { PersonKind } from "../../src/domain/roles.ts";
import { tallySlice } from "../../src/store/conversion-tally.ts";
import { insertPerson, type Person } from "../../src/store/people.ts";
import { listProgrammePeople } from "../../src/store/people-list.ts";
import { hasConversions, listProgrammes } from "../../src/store/programme-list.ts";
import { addToProgramme } from "../../src/store/programme-people.ts";
import { hasPassword, setPassword } from "../../src/store/sign-in.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addConversion, addProgramme, newId } from "../support/rows.ts";
import { signInAs } from "../support/signed-in.ts";

eachDatabase("programmes and people as the pages read them", (database) => {
	test("a slice sums what 64 bits cannot hold, to the last digit, and says where the next begins", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const most = {
			basket_value: "999999999999.9999",
			commission: "0.0001",
			network_fee: "123456789012.3456",
		};
		const rows = 1_000;
		for (let n = 0; n < rows; n++) await addConversion(store, id, most);
		await addConversion(store, id, { ...most, test: 1 });
		const { groups, lastId } = await tallySlice(store.db, id, 0, rows + 10);
		deepEqual(groups, [
			{
				status: "RECORDED",
				day: Math.floor(START_MS / 86_400_000),
				count: rows,
				basketMinor: 9_999_999_999_999_999n * BigInt(rows),
				commissionMinor: BigInt(rows),
				feeMinor: 1_234_567_890_123_456n * BigInt(rows),
			},
		]);
		const first = await tallySlice(store.db, id, 0, 10);
		deepEqual([first.groups[0]?.count, (await tallySlice(store.db, id, lastId ?? 0, 10)).lastId], [10, null]);
		equal((await tallySlice(store.db, id, first.lastId ?? 0, rows)).groups[0]?.count, rows - 10);
	});

	test("what waits is counted up to a thousand, without tests", async () => {
		const { store } = database;
		const { id, public_id } = await addProgramme(store);
		equal(await hasConversions(store.db, id), false);
		await addConversion(store, id, { test: 1 });
		for (let n = 0; n < 1_001; n++) await addConversion(store, id);
		const { rows } = await listProgrammes(store.db, { search: public_id, limit: 5 });
		const [listed] = rows;
		deepEqual(
			[listed?.publicId, listed?.waiting, listed?.hasUrl, listed?.failingSinceMs],
			[public_id, 1_000, true, null],
		);
		equal(await hasConversions(store.db, id), true);
	});

	test("an owner's list has their programmes alone, and a search keeps to it", async () => {
		const { store } = database;
		const [mine, theirs] = [await addProgramme(store), await addProgramme(store)];
		const owner = await addPerson(store, "shop");
		await addToProgramme(store.db, mine.id, owner.id, "owner");
		for (const search of [undefined, "SHOP", "shöp", theirs.public_id]) {
			const found = await listProgrammes(store.db, { personId: owner.id, search, limit: 50 });
			deepEqual(
				found.rows.map(({ id }) => id),
				search === theirs.public_id ? [] : [mine.id],
			);
		}
	});

	test("a person's state is in their row: joined, invited, link expired", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [joined, invited, late] = [
			await addPerson(store, "shop"),
			await addPerson(store, "shop"),
			await addPerson(store, "shop"),
		];
		for (const { id } of [joined, invited, late]) await addToProgramme(store.db, programme.id, id, "owner");
		await store.transact((trx) => setPassword(trx, joined, "hash", START_MS));
		for (const [person, endsAtMs] of [
			[invited, START_MS + 1],
			[late, START_MS],
		] as const) {
			await store.db
				.insertInto("links")
				.values({
					public_id: newId("lnk"),
					purpose: "programme_invitation",
					token_hash: newId("usr"),
					person_id: person.id,
					created_at_ms: 0,
					expires_at_ms: endsAtMs,
				})
				.execute();
		}
		const listed = await listProgrammePeople(store.db, programme.id, START_MS);
		deepEqual(
			listed.map((person) => [person.id, person.hasPassword, person.linkEndsAtMs]),
			[
				[joined.id, true, null],
				[invited.id, false, START_MS + 1],
				[late.id, false, null],
			],
		);
	});

	test("two owners who remove each other at once leave one", async () => {
		const { store, rival } = database;
		for (let round = 0; round < 10; round++) {
			const programme = await addProgramme(store);
			const [one, other] = [await addPerson(store, "shop"), await addPerson(store, "shop")];
			for (const person of [one, other]) {
				await addToProgramme(store.db, programme.id, person.id, "owner");
				await signInAs(store, person);
			}
			const remove = (by: Person, whom: Person, at: Store) =>
				removePerson(
					{ store: at, clock: createClock() },
					{ personId: by.id, kind: "shop", sessionId: by.public_id },
					programme,
					whom.public_id,
				);
			const results = await Promise.all([remove(one, other, store), remove(other, one, rival)]);
			equal(results.filter(({ ok }) => ok).length, 1);
			equal((await listProgrammePeople(store.db, programme.id, START_MS)).length, 1);
		}
	});

	test("two owners who make each other viewers at once leave one", async () => {
		const { store, rival } = database;
		for (let round = 0; round < 10; round++) {
			const programme = await addProgramme(store);
			const [one, other] = [await addPerson(store, "shop"), await addPerson(store, "shop")];
			for (const person of [one, other]) {
				await addToProgramme(store.db, programme.id, person.id, "owner");
				await signInAs(store, person);
			}
			const lower = (by: Person, whom: Person, at: Store) =>
				changeRole(
					{ store: at, clock: createClock() },
					{ personId: by.id, kind: "shop", sessionId: by.public_id },
					programme,
					whom.public_id,
					"viewer",
				);
			const results = await Promise.all([lower(one, other, store), lower(other, one, rival)]);
			equal(results.filter(({ ok }) => ok).length, 1);
			const people = await listProgrammePeople(store.db, programme.id, START_MS);
			deepEqual(people.map(({ role }) => role).toSorted(), ["owner", "viewer"]);
		}
	});

	test("two of the staff who deactivate each other at once leave one", async () => {
		const { store, rival } = database;
		for (let round = 0; round < 10; round++) {
			const [one, other] = [await addPerson(store, "staff"), await addPerson(store, "staff")];
			for (const person of [one, other]) await signInAs(store, person);
			const end = (by: Person, whom: Person, at: Store) =>
				deactivateStaff(
					{ store: at, clock: createClock() },
					{ personId: by.id, kind: "staff", sessionId: by.public_id },
					whom.public_id,
				);
			const results = await Promise.all([end(one, other, store), end(other, one, rival)]);
			equal(results.filter(({ ok }) => ok).length, 1);
			const left = await Promise.all([one, other].map(({ public_id }) => hasPassword(store.db, public_id)));
			equal(left.filter((has) => has).length, 1);
		}
	});
});

async function addPerson({ db }: Store, kind: PersonKind): Promise<Person> {
	const public_id = newId("usr");
	const email = `${public_id.toLowerCase()}@shop.example`;
	const person = await insertPerson(db, { public_id, email, kind, created_at_ms: START_MS });
	if (person === undefined) throw new Error("the address is taken");
	return person;
}
