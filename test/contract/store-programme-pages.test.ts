// Tests the queries of the pages about programmes, people and notices, on both databases. The queries return
// the right rows and use an index. Two people who act at once never leave a programme without an owner or the
// network without staff.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createNetworkTallies } from "#core/conversions/tally.ts";
import type { Cursor } from "#core/domain/cursor.ts";
import type { ProgrammeRole } from "#core/domain/roles.ts";
import { DAY_MS, HOUR_MS, QUARTER_MS } from "#core/domain/time.ts";
import type { SignedInPerson } from "#core/people/actor.ts";
import { changeRole, deactivateStaff, leaveProgramme, removePerson } from "#core/people/programme-people.ts";
import { tallySlice } from "#core/store/queries/conversion-tally.ts";
import { addCallbackCounts } from "#core/store/queries/delivery-health.ts";
import { hasPassword, setPassword } from "#core/store/queries/passwords.ts";
import { listProgrammePeople, type Person } from "#core/store/queries/people.ts";
import { hasConversions, listProgrammes } from "#core/store/queries/programme-list.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { addConversion, addProgramme, newId } from "../support/rows.ts";
import { addPerson, signInAs } from "../support/signed-in.ts";

type PeopleDeps = Parameters<typeof removePerson>[0];
type Target = { programme: Programme; whom: Person };
type AtOnce = (deps: PeopleDeps, actor: SignedInPerson, to: Target) => Promise<{ ok: boolean }>;

eachDatabase("programmes and people as the pages read them", (database) => {
	test("a slice sums amounts exactly, even beyond 64 bits, and says where the next slice begins", async () => {
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
		const slice = (after: Cursor, limit: number) => tallySlice(store.db, { programmeId: id, after, limit });
		const start = { at: 0, id: 0 };
		const { groups, last } = await slice(start, rows + 10);
		deepEqual(groups, [
			{
				status: "RECORDED",
				currency: "EUR",
				day: Math.floor(START_MS / 86_400_000),
				count: rows,
				basketMinor: 9_999_999_999_999_999n * BigInt(rows),
				commissionMinor: BigInt(rows),
				feeMinor: 1_234_567_890_123_456n * BigInt(rows),
			},
		]);
		equal(last, null);
		const first = await slice(start, 10);
		equal(first.groups[0]?.count, 10);
		const rest = await slice(first.last ?? start, rows);
		deepEqual([rest.groups[0]?.count, rest.tests], [rows - 10, [{ status: "RECORDED", count: 1 }]]);
	});

	test("conversions that wait for a decision are counted up to a thousand, without tests", async () => {
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

	test("an owner lists and searches only their own programmes", async () => {
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

	test("a listed person shows their state: joined, invited or link expired", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [joined, invited, late] = [
			await addPerson(store, "shop"),
			await addPerson(store, "shop"),
			await addPerson(store, "shop"),
		];
		for (const { id } of [joined, invited, late]) await addToProgramme(store.db, programme.id, id, "owner");
		await store.transact((trx) => setPassword(trx, joined.id, "hash", START_MS));
		for (const [person, endsAtMs] of [
			[invited, START_MS + 1],
			[late, START_MS],
		] as const) {
			await store.db
				.insertInto("sign_in_links")
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

	test("the network's totals are grouped by currency, status and day of the period, leave out tests, and include callbacks", async () => {
		const { store } = database;
		const [one, other] = [await addProgramme(store), await addProgramme(store)];
		// The time is after everything that other tests have recorded.
		const nowMs = START_MS + 1_000 * DAY_MS;
		const today = Math.floor(nowMs / DAY_MS);
		const at = (daysAgo: number) => ({ created_at_ms: nowMs - daysAgo * DAY_MS });
		await addConversion(store, one.id, { ...at(8), basket_value: "5.00" });
		await addConversion(store, one.id, { ...at(6), basket_value: "10.10", status: "APPROVED" });
		await addConversion(store, other.id, { ...at(0), basket_value: "999999999999.99", status: "APPROVED" });
		await addConversion(store, other.id, { ...at(0), test: 1 });
		const yen = { currency: "JPY", basket_value: "300", commission: "30", network_fee: "3" };
		await addConversion(store, other.id, { ...at(0), ...yen });
		const hour = (daysAgo: number) => (today - daysAgo) * DAY_MS;
		await addCallbackCounts(store.db, [
			{ receiverId: one.receiver_id, quarterMs: hour(0), delivered: 3, failed: 1 },
			{ receiverId: other.receiver_id, quarterMs: hour(0) + HOUR_MS, delivered: 4, failed: 0 },
			{ receiverId: other.receiver_id, quarterMs: hour(6), delivered: 0, failed: 2 },
			{ receiverId: other.receiver_id, quarterMs: hour(7), delivered: 50, failed: 50 },
		]);
		const tallies = createNetworkTallies({ store, clock: createClock(nowMs), log: createLog() });
		const { count } = await tallies.look({ days: 7, zone: "UTC" });
		deepEqual([...(count?.currencies.keys() ?? [])].toSorted(), ["EUR", "JPY"]);
		const euros = count?.currencies.get("EUR");
		deepEqual([...(euros?.keys() ?? [])], ["APPROVED"]);
		deepEqual(
			[euros?.get("APPROVED")?.count, euros?.get("APPROVED")?.basketMinor],
			[2, 100_000_000_001_009n],
		);
		deepEqual(count?.currencies.get("JPY")?.get("RECORDED"), {
			count: 1,
			basketMinor: 300n,
			commissionMinor: 30n,
			feeMinor: 3n,
		});
		deepEqual(count?.days.get(today - 6), new Map([["APPROVED", 1]]));
		deepEqual(
			count?.callbacks,
			new Map([
				[today - 6, { delivered: 0, failed: 2 }],
				[today, { delivered: 7, failed: 1 }],
			]),
		);
		const half = hour(0) - 5.5 * HOUR_MS;
		await addCallbackCounts(store.db, [
			{ receiverId: one.receiver_id, quarterMs: half - QUARTER_MS, delivered: 100, failed: 0 },
			{ receiverId: one.receiver_id, quarterMs: half, delivered: 10, failed: 0 },
		]);
		const inIndia = (await tallies.look({ days: 7, zone: "Asia/Kolkata" })).count?.callbacks;
		deepEqual(inIndia?.get(today), { delivered: 17, failed: 1 }, "days there begin at 18:30 UTC");
		equal(inIndia?.get(today - 1)?.delivered, 100);
		const longer = (await tallies.look({ days: 30, zone: "UTC" })).count;
		equal(longer?.currencies.get("EUR")?.get("RECORDED")?.basketMinor, 500n);
	});

	const AT_ONCE: readonly [what: string, act: AtOnce, left: readonly ProgrammeRole[]][] = [
		[
			"remove each other",
			(deps, actor, { programme, whom }) => removePerson(deps, actor, programme, whom.public_id),
			["owner"],
		],
		["leave", (deps, actor, { programme }) => leaveProgramme(deps, actor, programme), ["owner"]],
		[
			"make each other viewers",
			(deps, actor, { programme, whom }) => changeRole(deps, actor, programme, whom.public_id, "viewer"),
			["owner", "viewer"],
		],
	];
	for (const [what, act, left] of AT_ONCE) {
		test(`one owner remains if two owners ${what} at once`, async () => {
			const { store, rival } = database;
			for (let round = 0; round < 10; round++) {
				const programme = await addProgramme(store);
				const [one, other] = [await addPerson(store, "shop"), await addPerson(store, "shop")];
				for (const person of [one, other]) {
					await addToProgramme(store.db, programme.id, person.id, "owner");
					await signInAs(store, person);
				}
				const actAs = (by: Person, whom: Person, at: Store) => {
					const actor = { personId: by.id, kind: "shop", sessionId: by.public_id } as const;
					return act({ store: at, clock: createClock() }, actor, { programme, whom });
				};
				const results = await Promise.all([actAs(one, other, store), actAs(other, one, rival)]);
				equal(results.filter(({ ok }) => ok).length, 1, "one of them is refused");
				const people = await listProgrammePeople(store.db, programme.id, START_MS);
				deepEqual(people.map(({ role }) => role).toSorted(), left);
			}
		});
	}

	test("one member of staff remains if two deactivate each other at once", async () => {
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
			const left = await Promise.all([one, other].map(({ id }) => hasPassword(store.db, id)));
			equal(left.filter((has) => has).length, 1);
		}
	});
});
