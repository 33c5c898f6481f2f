// What the pages of programmes, people and notices read, on both databases: the right rows, along an index,
// and nobody left without an owner or without staff however two people press at once.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import { deactivateStaff, removeProgrammeOwner } from "../../src/accounts/owners-and-staff.ts";
import { listAuditOfProgramme } from "../../src/store/audit.ts";
import { tallySlice } from "../../src/store/conversion-tally.ts";
import { findOpenNotice, listNotices } from "../../src/store/notice-list.ts";
import { insertPerson, type Person } from "../../src/store/people.ts";
import { listOwners, listStaff } from "../../src/store/people-list.ts";
import { hasConversions, listProgrammes } from "../../src/store/programme-list.ts";
import { addOwner } from "../../src/store/programmes.ts";
import { hasPassword, setPassword } from "../../src/store/sign-in.ts";
import type { Db, Store } from "../../src/store/store.ts";
import type { Role } from "../../src/store/tables/people.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { analyseAsInService, plansOf } from "../support/query-plan.ts";
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
		const owner = await addPerson(store, "owner");
		await addOwner(store.db, mine.id, owner.id);
		for (const search of [undefined, "SHOP", "shöp", theirs.public_id]) {
			const found = await listProgrammes(store.db, { ownerId: owner.id, search, limit: 50 });
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
			await addPerson(store, "owner"),
			await addPerson(store, "owner"),
			await addPerson(store, "owner"),
		];
		for (const { id } of [joined, invited, late]) await addOwner(store.db, programme.id, id);
		await store.transact((trx) => setPassword(trx, joined, "hash", START_MS));
		for (const [person, endsAtMs] of [
			[invited, START_MS + 1],
			[late, START_MS],
		] as const) {
			await store.db
				.insertInto("links")
				.values({
					public_id: newId("lnk"),
					purpose: "owner_invitation",
					token_hash: newId("usr"),
					person_id: person.id,
					created_at_ms: 0,
					expires_at_ms: endsAtMs,
				})
				.execute();
		}
		const listed = await listOwners(store.db, programme.id, START_MS);
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
			const [one, other] = [await addPerson(store, "owner"), await addPerson(store, "owner")];
			for (const person of [one, other]) {
				await addOwner(store.db, programme.id, person.id);
				await signInAs(store, person);
			}
			const remove = (by: Person, whom: Person, at: Store) =>
				removeProgrammeOwner(
					{ store: at, clock: createClock() },
					{ personId: by.id, role: "owner", sessionId: by.public_id },
					programme,
					whom.public_id,
				);
			const results = await Promise.all([remove(one, other, store), remove(other, one, rival)]);
			equal(results.filter(({ ok }) => ok).length, 1);
			equal((await listOwners(store.db, programme.id, START_MS)).length, 1);
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
					{ personId: by.id, role: "staff", sessionId: by.public_id },
					whom.public_id,
				);
			const results = await Promise.all([end(one, other, store), end(other, one, rival)]);
			equal(results.filter(({ ok }) => ok).length, 1);
			const left = await Promise.all([one, other].map(({ public_id }) => hasPassword(store.db, public_id)));
			equal(left.filter((has) => has).length, 1);
		}
	});
});

const ROWS = 40_000;
const PROGRAMMES = 200;
/** Has half of all rows; the others share the rest. */
const LARGE_PROGRAMME = 1;
const SMALL_PROGRAMME = 7;
const OWNERS = 1_000;

eachDatabase("plans of what the pages of programmes read", (database) => {
	before(() => fill(database.store));

	const READS: readonly (readonly [what: string, index: string | null, run: (db: Db) => Promise<unknown>])[] =
		[
			[
				"a slice of a programme",
				"conversions_by_programme",
				(db) => tallySlice(db, SMALL_PROGRAMME, ROWS / 2, 2_000),
			],
			["whether anything came in", null, (db) => hasConversions(db, SMALL_PROGRAMME)],
			["the first page of programmes", "notices_open", (db) => listProgrammes(db, { limit: 50 })],
			[
				"a later page of programmes",
				"notices_open",
				(db) => listProgrammes(db, { after: { at: 100, id: 100 }, limit: 50 }),
			],
			[
				"an owner's programmes",
				"programme_owners_by_person",
				(db) => listProgrammes(db, { ownerId: 7, limit: 50 }),
			],
			[
				"an owner's programmes and what waits there",
				"conversions_by_bucket",
				(db) => listProgrammes(db, { ownerId: 7, limit: 50 }),
			],
			[
				"a programme found by its id",
				"conversions_by_bucket",
				(db) => listProgrammes(db, { search: "prg_7", limit: 50 }),
			],
			["programmes found by their name", null, (db) => listProgrammes(db, { search: "sHÖp", limit: 50 })],
			["a programme's owners", "links_by_person", (db) => listOwners(db, SMALL_PROGRAMME, START_MS)],
			["the staff", "people_by_role", (db) => listStaff(db, START_MS)],
			["a page of notices", "notices_by_programme", (db) => listNotices(db, SMALL_PROGRAMME, { limit: 20 })],
			[
				"a later page of notices",
				"notices_by_programme",
				(db) => listNotices(db, SMALL_PROGRAMME, { after: { at: ROWS / 2, id: ROWS / 2 }, limit: 20 }),
			],
			["the open notice", "notices_open", (db) => findOpenNotice(db, LARGE_PROGRAMME)],
			[
				"who did what",
				"audit_entries_by_programme",
				(db) => listAuditOfProgramme(db, SMALL_PROGRAMME, { limit: 50 }),
			],
		];

	for (const [what, index, run] of READS) {
		test(`${what}: no table is read from end to end`, async () => {
			const { kind, store } = database;
			const plans = await plansOf(kind, store.db, run);
			ok(plans.length > 0);
			for (const { walks, indexes } of plans) {
				// SQLite calls a walk along the primary key a scan as well; it ends with the page.
				deepEqual(
					walks.filter((walk) => !["programmes", "slice", "waiting_few"].includes(walk)),
					[],
				);
				if (index !== null) ok(indexes.includes(index), `uses ${indexes.join(", ")} instead of ${index}`);
			}
		});
	}
});

async function addPerson({ db }: Store, role: Role): Promise<Person> {
	const public_id = newId("usr");
	const email = `${public_id.toLowerCase()}@shop.example`;
	const person = await insertPerson(db, { public_id, email, role, created_at_ms: START_MS });
	if (person === undefined) throw new Error("the address is taken");
	return person;
}

async function fill(store: Store): Promise<void> {
	const { db, kind } = store;
	const isTrue = kind === "sqlite" ? "1" : "true";
	const insert = (table: string, columns: string, values: string, rows = ROWS) =>
		sql
			.raw(
				`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
				insert into ${table} (${columns}) select ${values} from n`,
			)
			.execute(db);
	const programme = `case when i % 2 = 0 then ${LARGE_PROGRAMME} else 2 + i % ${PROGRAMMES - 1} end`;
	await insert(
		"programmes",
		"id, public_id, name, currency, commission_rate, fee_rate, approval_days, parks_pixels, parked_days, created_at_ms",
		"i, 'prg_' || i, 'Shop', 'EUR', '1', '1', 30, 1, 30, 0",
		PROGRAMMES,
	);
	await insert(
		"people",
		"id, public_id, email, role, created_at_ms",
		"i, 'usr' || i, i || '@shop.example', case when i % 500 = 0 then 'staff' else 'owner' end, 0",
		ROWS / 4,
	);
	await insert("programme_owners", "programme_id, person_id", `1 + i % ${PROGRAMMES}, i`, OWNERS);
	await insert(
		"auth_users",
		`id, name, email, "emailVerified", "createdAt", "updatedAt"`,
		`'usr' || i, 'X', i || '@shop.example', ${isTrue}, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'`,
		ROWS / 4,
	);
	await insert(
		"auth_accounts",
		`id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt"`,
		"'usr' || i, 'usr' || i, 'credential', 'usr' || i, 'hash', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'",
		ROWS / 4,
	);
	await insert(
		"links",
		"public_id, purpose, token_hash, person_id, created_at_ms, expires_at_ms",
		"'lnk_' || i, 'owner_invitation', 't' || i, i, 0, 1",
		ROWS / 4,
	);
	await insert(
		"conversions",
		`id, public_id, programme_id, order_id, event_type, status, basket_value, commission, network_fee, currency,
			test, source, occurred_at_ms, created_at_ms, updated_at_ms`,
		`i, 'cnv' || i, ${programme}, 'order ' || i, 'SALE', case when i % 10 = 1 then 'RECORDED' else 'APPROVED' end,
			'100.00', '7.50', '2.00', 'EUR', 0, 'postback', 0, i, 0`,
	);
	await insert(
		"deliveries",
		"id, public_id, programme_id, state, run, attempts, created_at_ms",
		`i, 'dlv' || i, ${programme}, 'delivered', 1, 1, 0`,
	);
	await insert(
		"notices",
		"public_id, programme_id, kind, opened_at_ms, updated_at_ms, ended_at_ms, failures, mailed_failures, last_delivery_id",
		`'ntc' || i, ${programme}, 'callbacks_failing', 0, 0, case when i > 1 then 1 end, 1, 1, i`,
	);
	await insert(
		"audit_entries",
		"at_ms, person_id, programme_id, action",
		`i, 1 + i % 1000, ${programme}, 'programme.changed'`,
	);
	await analyseAsInService(store);
}
