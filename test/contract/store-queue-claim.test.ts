// Claiming on both databases: what is due, in order, within the limits, and never by two at once.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { addFailures } from "../../src/store/notices.ts";
import { CLAIM_LAPSE_MS } from "../../src/store/queue.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { claimDue, claimFor, claimOne, readAll, settle } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, newId, retried } from "../support/rows.ts";

eachDatabase("claiming", (database) => {
	test("what is due comes in the order of its due time, up to the limit of each programme", async () => {
		const { store } = database;
		const [first, second] = [await addProgramme(store), await addProgramme(store)];
		const [c = 0, a = 0, b = 0] = await addDeliveries(store, first, START_MS - 1, START_MS - 3, START_MS - 2);
		const others = await addDeliveries(store, second, START_MS - 9, START_MS);
		const { deliveries } = await claimFor(
			store,
			[
				{ programmeId: first.id, limit: 2 },
				{ programmeId: second.id, limit: 5 },
			],
			START_MS,
		);
		const idsOf = (programmeId: number) =>
			deliveries.filter((delivery) => delivery.programmeId === programmeId).map(({ id }) => id);
		deepEqual(idsOf(first.id), [a, b]);
		deepEqual(idsOf(second.id), others);
		deepEqual(
			(await claimDue(store, first.id, 2, START_MS)).map(({ id }) => id),
			[c],
		);
	});

	test("many due rows come in order, too", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const due = Array.from({ length: 40 }, (_, n) => START_MS - ((n * 17) % 40));
		const ids = await addDeliveries(store, programme, ...due);
		const inOrder = ids.map((id, n) => ({ id, due: due[n] ?? 0 })).sort((a, b) => a.due - b.due);
		deepEqual(
			(await claimDue(store, programme.id, 40, START_MS)).map(({ id }) => id),
			inOrder.map(({ id }) => id),
		);
	});

	test("a row is taken at its due time and not a millisecond earlier", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme, START_MS + 100);
		deepEqual(await claimDue(store, programme.id, 5, START_MS + 99), []);
		equal((await claimOne(store, programme.id, START_MS + 100)).id, id);
	});

	test("a claimed delivery brings what is needed to send it", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const [delivery] = await claimDue(store, programme.id, 1, START_MS + 4);
		const [target] = await store.queue.readTargets(store.db, [programme.id]);
		deepEqual(
			{ ...delivery, claim: 0, eventBody: "" },
			{
				id,
				programmeId: programme.id,
				claim: 0,
				claimedAtMs: START_MS + 4,
				endpointEpoch: 0,
				run: 1,
				counted: 0,
				seq: 0,
				eventName: "conversion.recorded",
				eventBody: "",
			},
		);
		deepEqual(
			[target?.url, target?.sealedSecret, target?.endpointEpoch, target?.isFailing],
			["https://shop.example/postback", "sealed", 0, false],
		);
		equal((await readAll(store, id)).queued?.due_at_ms, START_MS + 4 + CLAIM_LAPSE_MS);
	});

	test("a target says whether callbacks are failing, and none is read where none is asked for", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		deepEqual(await store.queue.readTargets(store.db, []), []);
		const failure = { programmeId: programme.id, failures: 1, lastDeliveryId: 1 };
		await store.transact((trx) =>
			addFailures(
				trx,
				{ ...failure, lastVerdict: "refused", lastHttpStatus: 404 },
				{ publicId: newId("ntc"), mailDueAtMs: START_MS },
				START_MS,
			),
		);
		const other = await addProgramme(store);
		const targets = await store.queue.readTargets(store.db, [programme.id, other.id]);
		deepEqual(targets.map(({ programmeId, isFailing }) => [programmeId, isFailing]).sort(), [
			[programme.id, true],
			[other.id, false],
		]);
	});

	test("no requests at all claim nothing", async () => {
		deepEqual(await claimFor(database.store, [], START_MS), { deliveries: [], nextDue: [] });
	});

	test("a programme that gave less than was asked for says when its next row may be taken", async () => {
		const { store } = database;
		const [later, empty, enough] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await addDeliveries(store, later, START_MS + 900, START_MS + 700);
		await addDeliveries(store, enough, START_MS, START_MS);
		const requests = [later, empty, enough].map(({ id }) => ({ programmeId: id, limit: 1 }));
		const { nextDue } = await claimFor(store, requests, START_MS);
		const byProgramme = new Map(nextDue.map(({ programmeId, dueAtMs }) => [programmeId, dueAtMs]));
		deepEqual(
			[...byProgramme].sort(([a], [b]) => a - b),
			[
				[later.id, START_MS + 700],
				[empty.id, null],
			],
		);
	});

	test("a claimed row is not taken again until the claim lapses, and then shows as interrupted", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const first = await claimOne(store, programme.id, START_MS + 5);
		const lapsesAtMs = START_MS + 5 + CLAIM_LAPSE_MS;
		deepEqual(await claimDue(store, programme.id, 5, lapsesAtMs - 1), []);
		const second = await claimOne(store, programme.id, lapsesAtMs);
		deepEqual([second.id, second.seq, second.counted], [id, 1, 0]);
		equal(second.claim === first.claim, false);
		const { attempts, delivery, queued } = await readAll(store, id);
		equal(delivery.attempts, 1);
		equal(queued?.claim, second.claim);
		deepEqual(
			attempts.map(({ seq, run, result, started_at_ms }) => [seq, run, result, started_at_ms]),
			[[1, 1, "interrupted", START_MS + 5]],
		);
	});

	test("an interrupted attempt is numbered behind those before it and is not counted", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		await settle(store, retried(await claimOne(store, programme.id, START_MS), START_MS + 60_000));
		await claimOne(store, programme.id, START_MS + 60_000);
		await claimOne(store, programme.id, START_MS + 60_000 + CLAIM_LAPSE_MS);
		const last = await claimOne(store, programme.id, START_MS + 60_000 + 2 * CLAIM_LAPSE_MS);
		deepEqual([last.seq, last.counted], [3, 1]);
		const { attempts, delivery } = await readAll(store, id);
		deepEqual(
			attempts.map(({ seq, result }) => [seq, result]),
			[
				[1, "answered"],
				[2, "interrupted"],
				[3, "interrupted"],
			],
		);
		equal(delivery.attempts, 3);
	});

	test("many claimers at once never get the same row, and together get them all", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const ids = await addDeliveries(store, programme, ...Array.from({ length: 60 }, () => START_MS));
		const claims = await Promise.all(
			Array.from({ length: 20 }, (_, n) => claimDue(n % 2 === 0 ? store : rival, programme.id, 5, START_MS)),
		);
		const taken = claims.flat().map(({ id }) => id);
		equal(new Set(taken).size, taken.length);
		// Whoever came while others held the rows may have got none; a last look finds what is left.
		taken.push(...(await claimDue(store, programme.id, 100, START_MS)).map(({ id }) => id));
		deepEqual(
			taken.sort((a, b) => a - b),
			ids,
		);
	});

	if (database.kind === "PostgreSQL") {
		test("a claim that is not yet committed already keeps others from the row, without making them wait", async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const [first = 0, second = 0] = await addDeliveries(store, programme, START_MS, START_MS + 1);
			const request = { programmeId: programme.id, limit: 1 };
			await store.transact(async (trx) => {
				const { deliveries } = await store.queue.claim(trx, [request], 91, START_MS + 1);
				equal(deliveries[0]?.id, first);
				const others = await claimDue(rival, programme.id, 5, START_MS + 1);
				deepEqual(
					others.map(({ id }) => id),
					[second],
				);
			});
		});
	}
});

eachDatabase("the agenda", (database) => {
	test("every programme with something in the queue, and when its first row may be taken", async () => {
		const { store } = database;
		deepEqual(await agenda(), []);
		const [busy, claimed, idle, done] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await addDeliveries(store, busy, START_MS + 30, START_MS + 10, START_MS + 20);
		await addDelivery(store, claimed);
		await claimOne(store, claimed.id, START_MS);
		await addDelivery(store, done);
		const delivery = await claimOne(store, done.id, START_MS);
		await settle(store, { kind: "cancelled", delivery, endedAtMs: START_MS });
		deepEqual(await agenda(), [
			[busy.id, START_MS + 10],
			[claimed.id, START_MS + CLAIM_LAPSE_MS],
		]);
		await addDelivery(store, idle, START_MS + 5);
		deepEqual(await agenda(), [
			[busy.id, START_MS + 10],
			[claimed.id, START_MS + CLAIM_LAPSE_MS],
			[idle.id, START_MS + 5],
		]);
	});

	const agenda = async () => {
		const { store } = database;
		const rows = await store.queue.agenda(store.db);
		return rows.map(({ programmeId, dueAtMs }) => [programmeId, dueAtMs]);
	};
});
