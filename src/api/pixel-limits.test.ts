import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClock, settle } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { createLateAnswer, LATE_MS, MAX_LATE } from "../turns.ts";
import { createKeptBudgets } from "./budgets.ts";
import {
	BLOCK_BUDGET,
	createLimitedCalls,
	createPixelBudgets,
	createPixelSlots,
	INSIDE_BUDGET,
	MAX_AT_ONCE,
	MAX_WAITING,
	PROCESS_BUDGET,
	PROGRAMME_BUDGET,
} from "./pixel-limits.ts";
import { makeShop, openTestShop } from "./test-shop.test-support.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);

function countTaken(calls: number, take: (call: number) => boolean): number {
	return Array.from({ length: calls }, (_, call) => take(call)).filter((isTaken) => isTaken).length;
}

describe("the budgets of the pixel", () => {
	test("one block of addresses ends at its own, and everybody else at the same programme goes on", () => {
		const budgets = createPixelBudgets();
		const flood = () => budgets.take("5.6.7", "prg_1", NOW_MS);
		assert.equal(countTaken(100_000, flood), BLOCK_BUDGET.burst);
		const honest = (call: number) => budgets.take(`9.8.${call}`, "prg_1", NOW_MS);
		assert.equal(countTaken(1_000, honest), 1_000);
		const later = () => budgets.take("5.6.7", "prg_1", NOW_MS + 1_000);
		assert.equal(countTaken(100, later), BLOCK_BUDGET.perSecond);
	});

	for (const [what, blockOf, programmeOf, { burst }] of [
		[
			"from many blocks ends at the programme's",
			(call: number) => `5.${call % 50}.1`,
			() => "prg_1",
			PROGRAMME_BUDGET,
		],
		["from private addresses ends at theirs", () => null, (call: number) => `prg_${call % 7}`, INSIDE_BUDGET],
		[
			"that names anything ends at the process's",
			(call: number) => `2a00:${call}:1`,
			(call: number) => `prg_${call}`,
			PROCESS_BUDGET,
		],
	] as const) {
		test(`a flood ${what}`, () => {
			const budgets = createPixelBudgets();
			const flood = (call: number) => budgets.take(blockOf(call), programmeOf(call), NOW_MS);
			assert.equal(countTaken(50_000, flood), burst);
			assert.equal(
				budgets.take("9.8.7", "prg_other", NOW_MS),
				burst < PROCESS_BUDGET.burst,
				"other programmes",
			);
		});
	}

	test("a Black Friday's peak passes: 500 a second for five minutes, from 2,000 blocks, a fifth of it in one shop", () => {
		const budgets = createPixelBudgets();
		let refused = 0;
		for (let call = 0; call < 300 * 500; call++) {
			const block = `5.${call % 8}.${call % 250}`;
			const programme = call % 5 === 0 ? "prg_big" : `prg_${call % 97}`;
			if (!budgets.take(block, programme, NOW_MS + call * 2)) refused++;
		}
		assert.equal(refused, 0);
	});
});

test("kept budgets forget whoever was silent the longest, and nobody else", () => {
	const kept = createKeptBudgets({ burst: 1, perSecond: 0.001 }, 3);
	for (const name of ["a", "b", "c"]) assert.ok(kept.take(name, NOW_MS));
	assert.ok(!kept.take("a", NOW_MS), "a is not silent");
	assert.ok(kept.take("d", NOW_MS));
	assert.ok(!kept.take("a", NOW_MS));
	assert.ok(!kept.take("c", NOW_MS));
	assert.ok(kept.take("b", NOW_MS), "b was forgotten for d, and begins anew");
});

const YIELDING = { yieldLoop: () => new Promise<void>((resolve) => setImmediate(resolve)) };

test("few work at once, the others in the order of their coming, and one too many is not taken", async () => {
	const slots = createPixelSlots(YIELDING);
	const started: number[] = [];
	const finish: (() => void)[] = [];
	const work = (call: number) => () => {
		started.push(call);
		return new Promise<number>((resolve) => finish.push(() => resolve(call)));
	};
	const room = MAX_AT_ONCE + MAX_WAITING;
	const taken = Array.from({ length: room }, (_, call) => slots.take(work(call)));
	await settle();
	assert.equal(started.length, MAX_AT_ONCE);
	assert.equal(slots.take(work(room)), undefined);
	for (let call = 0; call < room; call++) {
		while (finish.length <= call) await settle();
		finish[call]?.();
	}
	assert.deepEqual(
		await Promise.all(taken),
		Array.from({ length: room }, (_, call) => call),
	);
	assert.deepEqual(
		started,
		[...started].sort((one, other) => one - other),
	);
});

test("between two of them whoever else has come in gets on", async () => {
	const slots = createPixelSlots(YIELDING);
	const order: string[] = [];
	// Ready at once, as a file database is: everything happens without going back to the event loop.
	const calls = Array.from({ length: 3 * MAX_AT_ONCE }, () =>
		slots.take(async () => void order.push("pixel")),
	);
	setImmediate(() => order.push("other"));
	await Promise.all(calls);
	assert.equal(order.indexOf("other"), MAX_AT_ONCE);
});

test("one that fails gives its slot back", async () => {
	const slots = createPixelSlots(YIELDING);
	for (let call = 0; call < 3 * MAX_AT_ONCE; call++) {
		await assert.rejects(slots.take(() => Promise.reject(new Error("no"))) ?? Promise.resolve());
	}
	assert.equal(await slots.take(async () => "done"), "done");
});

test("so many answers are late, and one more comes at once", async () => {
	const clock = createClock();
	const answerLate = createLateAnswer(clock, undefined);
	let answered = 0;
	const ask = () => answerLate().then(() => answered++);
	const late = Array.from({ length: MAX_LATE }, ask);
	await clock.moveBy(LATE_MS - 1);
	assert.equal(answered, 0);
	await ask();
	assert.equal(answered, 1);
	await clock.moveBy(1);
	await Promise.all(late);
	assert.equal(answered, MAX_LATE + 1);
	assert.equal(clock.waitingTimers, 0);
});

test("a stop waits for none of them, and leaves no timer", async () => {
	const clock = createClock();
	const stopping = new AbortController();
	const answerLate = createLateAnswer(clock, stopping.signal);
	const late = Array.from({ length: 3 }, () => answerLate());
	await settle();
	assert.equal(clock.waitingTimers, 3);
	stopping.abort();
	await Promise.all(late);
	await answerLate();
	assert.equal(clock.waitingTimers, 0);
});

test("a flood that names thousands of programmes from thousands of networks leaves a row for those that there are", async (t) => {
	const shop = await openTestShop(t);
	const { programme: other } = await makeShop(shop.deps);
	const clock = createClock(shop.deps.clock.nowMs());
	const log = createLog();
	const limited = createLimitedCalls({ store: shop.store, clock, log });
	for (let call = 0; call < 5_000; call++) {
		limited.note(shop.programme.public_id, `5.${call}.1`);
		if (call < 1) limited.note(other.public_id, null);
		limited.note(`prg_${call}`, "5.6.7");
	}
	await clock.moveBy(MINUTE_MS);
	// Written in one statement, in whatever order.
	const rows = (await shop.inbound()).sort((one, two) => (one.programme_id ?? 0) - (two.programme_id ?? 0));
	assert.deepEqual(
		rows.map(({ programme_id, outcome }) => [programme_id, outcome]),
		[
			[shop.programme.id, "pixel_limited"],
			[other.id, "pixel_limited"],
		],
	);
	const [flooded, once] = rows.map(({ detail }) => detail ?? "");
	assert.match(flooded ?? "", /^5,000 pixel calls were not taken .* came from 1,000 networks or more\./);
	assert.match(once ?? "", /^1 pixel call was not taken /);
	assert.doesNotMatch(once ?? "", /network[s.]/, "behind a proxy nobody knows from where");
	assert.deepEqual(log.lines[0]?.fields, { calls: 10_001, programmes: 100 });
	assert.equal(clock.waitingTimers, 0);
});
