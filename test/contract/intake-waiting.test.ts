// Tests which calls are stored first when there are too many, on both databases. Shops take turns, no call
// waits too long, and a locked row affects only its own shop.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import {
	HELD_MS,
	MAX_BATCH_REQUESTS,
	MAX_WAIT_MS,
	MAX_WAIT_WHILE_STOPPING_MS,
	WAITING_ROOM,
} from "#core/api/intake.ts";
import type { Answered } from "#core/api/test-shop.test-support.ts";
import { REFUSAL_DELAY_MS } from "../../src/concurrency/admission.ts";
import { settle } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { createIntakeSetup, word } from "./intake-setup.ts";

eachDatabase("calls that wait to be stored", (database) => {
	const { clock, openShop, sale, approval, bulk, eventsOf } = createIntakeSetup(database);

	test("a shop that has used all its places in the queue leaves room for other shops, and every acknowledged call is stored", async () => {
		const { programme, credentials, other, send, makeBusy } = await openShop();
		const lines = await makeBusy();
		const surplus = 7;
		const calls = Array.from({ length: WAITING_ROOM.single.ofProgramme + surplus }, (_, n) =>
			send(sale(credentials, `A-${n}`)),
		);
		const refused = await Promise.race(calls);
		deepEqual([refused.status, word(refused), refused.headers.get("retry-after")], [503, "unavailable", "5"]);
		const another = send(sale(other.credentials, "B-1"));
		await settle();
		await lines.setFree();
		equal(word(await another), "RECORDED");
		const answers = await Promise.all(calls);
		const taken = answers.filter((answer) => word(answer) === "RECORDED").length;
		equal(taken, WAITING_ROOM.single.ofProgramme);
		equal(answers.filter((answer) => word(answer) === "unavailable").length, surplus);
		equal((await eventsOf(programme.id)).length, taken);
	});

	test("shops take turns, so a shop with many waiting calls keeps nobody out of the next batch", async () => {
		const { credentials, other, watched, makeBusy, oneByOne } = await openShop();
		const lines = await makeBusy();
		const many = await oneByOne(
			Array.from({ length: MAX_BATCH_REQUESTS + 10 }, (_, n) => sale(credentials, `A-${n}`)),
		);
		const [one = nobody] = await oneByOne([sale(other.credentials, "B-1")]);
		const gate = Promise.withResolvers<void>();
		await lines.setFree(async () => {
			if (watched.transactions > 1) await gate.promise;
		});
		// The first batch has the first calls of both shops, and the batch after it is held.
		equal(word((await many[0]?.()) ?? (await nobody())), "RECORDED");
		equal(word(await one()), "RECORDED");
		equal(await isAnswered(many.at(-1)), false);
		gate.resolve();
		deepEqual([...new Set((await Promise.all(many.map((answer) => answer()))).map(word))], ["RECORDED"]);
	});

	test("each shop may have one bulk call in progress and a few waiting, and calls of other shops join its batch", async () => {
		const { credentials, other, watched, makeBusy, oneByOne } = await openShop();
		const items = Math.floor(WAITING_ROOM.bulk.ofProgramme / 2);
		const lines = await makeBusy();
		const [first, second, third] = await oneByOne(
			["K", "L", "M"].map((name) => bulk(credentials, name, items)),
		);
		const others = await oneByOne(["B-1", "B-2"].map((orderId) => sale(other.credentials, orderId)));
		await clock.moveBy(REFUSAL_DELAY_MS);
		equal((await third?.())?.status, 503);
		const gate = Promise.withResolvers<void>();
		await lines.setFree(() => gate.promise);
		await until(() => watched.transactions > 0);
		await settle();
		equal(watched.transactions, 1, "the second bulk call waits for the first");
		gate.resolve();
		for (const answer of others) equal(word(await answer()), "RECORDED");
		for (const answer of [first, second]) equal((await answer?.())?.status, 200);
		equal(
			watched.transactions,
			2,
			"the second bulk call is not in the batch of the first, but calls of others are",
		);
	});

	test("a call that waits too long gets a 503, and nothing of it is stored", async () => {
		const { programme, credentials, send, makeBusy, oneByOne } = await openShop();
		const lines = await makeBusy();
		const request = sale(credentials, "A-1");
		const again = request.clone();
		const [waiting = nobody] = await oneByOne([request]);
		await clock.moveBy(MAX_WAIT_MS - 1);
		equal(await isAnswered(waiting), false);
		const [later = nobody] = await oneByOne([sale(credentials, "A-2")]);
		await clock.moveBy(1);
		await lines.setFree();
		const { status, headers } = await waiting();
		deepEqual([status, headers.get("retry-after")], [503, "5"]);
		equal(word(await later()), "RECORDED");
		equal((await eventsOf(programme.id)).length, 1);
		equal(word(await send(again)), "RECORDED", "its nonce is not spent");
	});

	test("a stopping service stores the calls in progress and answers waiting calls with a 503", async () => {
		const stopping = new AbortController();
		const { credentials, makeBusy, oneByOne } = await openShop({ stopSignal: stopping.signal });
		const lines = await makeBusy();
		const waiting = await oneByOne(["A-1", "A-2"].map((orderId) => sale(credentials, orderId)));
		stopping.abort();
		await settle();
		equal(await isAnswered(waiting[0]), false, "waiting calls still have a moment before they are refused");
		await clock.moveBy(MAX_WAIT_WHILE_STOPPING_MS);
		const atWork = await lines.setFree();
		deepEqual(atWork.map(word), ["RECORDED", "RECORDED"]);
		const told = await Promise.all(waiting.map((answer) => answer()));
		deepEqual(
			told.map(({ status }) => status),
			[503, 503],
		);
	});

	if (database.kind === "PostgreSQL") {
		test("a locked row delays other shops' calls for a moment, and then not at all", async () => {
			const { credentials, other, watched, send, identify, ...shop } = await openShop();
			const { makeBusy, oneByOne } = shop;
			for (const known of [credentials, other.credentials]) await send(sale(known, "known"));
			await send(sale(credentials, "held"));
			await identify();
			const free = Promise.withResolvers<void>();
			const isHeld = Promise.withResolvers<void>();
			const holding = database.rival.transact(async (trx) => {
				await sql`select 1 from conversions where order_id = 'held' for update`.execute(trx);
				isHeld.resolve();
				await free.promise;
			});
			await isHeld.promise;
			try {
				const busy = await makeBusy();
				const sent = await oneByOne([
					...Array.from({ length: 3 }, () => approval(credentials, "held")),
					sale(other.credentials, "B-1"),
					approval(other.credentials, "known"),
				]);
				await busy.setFree();
				equal(word((await sent[3]?.()) ?? (await nobody())), "RECORDED");
				equal(await isAnswered(sent[4]), false, "a new sale does not wait for the lock, as its batch does");
				const answers = await Promise.all(sent.map((answer) => answer()));
				deepEqual(answers.map(word), [...Array(3).fill("unavailable"), "RECORDED", "APPROVED"]);
				equal(answers[0]?.headers.get("retry-after"), "5");
				equal(
					watched.transactions,
					1 + 1 + 1,
					"once together, once for the call that waits in vain, and once for the other decision",
				);

				// For a while, calls of the shop with the locked row are stored in separate batches, by at most one
				// of the two workers.
				const lines = await makeBusy();
				const [again = nobody] = await oneByOne([approval(credentials, "held")]);
				const [another = nobody] = await oneByOne([sale(other.credentials, "B-2")]);
				await lines.setFree();
				equal(word(await another()), "RECORDED");
				equal(await isAnswered(again), false);
				equal(word(await again()), "unavailable");
			} finally {
				free.resolve();
				await holding;
			}
			await clock.moveBy(HELD_MS);
			equal(word(await send(approval(credentials, "held"))), "APPROVED");
		});

		test("a shop whose only call with a lock waited in vain occupies one of the two workers from then on", async () => {
			const { credentials, other, send, identify, makeBusy, oneByOne } = await openShop();
			await send(sale(credentials, "held"));
			await send(sale(other.credentials, "known"));
			await identify();
			const free = Promise.withResolvers<void>();
			const isHeld = Promise.withResolvers<void>();
			const holding = database.rival.transact(async (trx) => {
				await sql`select 1 from conversions where order_id = 'held' for update`.execute(trx);
				isHeld.resolve();
				await free.promise;
			});
			await isHeld.promise;
			try {
				const busy = await makeBusy();
				const sent = await oneByOne([sale(other.credentials, "B-1"), approval(credentials, "held")]);
				await busy.setFree();
				deepEqual((await Promise.all(sent.map((answer) => answer()))).map(word), ["RECORDED", "unavailable"]);

				const [first = nobody] = await oneByOne([approval(credentials, "held")]);
				const [second = nobody] = await oneByOne([approval(credentials, "held")]);
				const [another = nobody] = await oneByOne([sale(other.credentials, "B-2")]);
				equal(word(await another()), "RECORDED");
				deepEqual([await isAnswered(first), await isAnswered(second)], [false, false]);
				deepEqual([word(await first()), word(await second())], ["unavailable", "unavailable"]);
			} finally {
				free.resolve();
				await holding;
			}
		});
	}
});

async function nobody(): Promise<Answered> {
	throw new Error("a call that was never sent");
}

async function isAnswered(answer: (() => Promise<Answered>) | undefined): Promise<boolean> {
	const not = Symbol();
	await settle();
	return (await Promise.race([answer?.(), not])) !== not;
}
