import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { interruptAfter } from "../../../test/support/between-statements.ts";
import { createClock, START_MS, type TestClock } from "../../../test/support/clock.ts";
import { createLog } from "../../../test/support/log.ts";
import { raiseReceiverIds } from "../../../test/support/receiver-ids.ts";
import { addConversion, addProgramme } from "../../../test/support/rows.ts";
import { untilOnClock } from "../../../test/support/until.ts";
import { realClock } from "../../outside/clock.ts";
import { DAY_MS } from "../domain/time.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import { cacheCounts, createTallies, dayOf } from "./tally.ts";

const TODAY = Math.floor(START_MS / DAY_MS);

test("counts by status and day, sums amounts exactly, and leaves tests and other programmes out", async (t) => {
	const { store, deps } = await open(t);
	const { id } = await addProgramme(store);
	const other = await addProgramme(store);
	// Floating-point arithmetic would lose the cents of these amounts.
	const huge = { basket_value: "999999999999.99", commission: "0.10", network_fee: "0.20" };
	await addConversion(store, id, { ...huge, status: "APPROVED" });
	await addConversion(store, id, { ...huge, status: "APPROVED", created_at_ms: START_MS - DAY_MS });
	await addConversion(store, id, { ...huge, status: "APPROVED" });
	await addConversion(store, id, { basket_value: "0.01", status: "REVERSED" });
	await addConversion(store, id, { test: 1, status: "APPROVED" });
	await addConversion(store, other.id, {});
	const { count: tally, isCounting } = await createTallies(deps).look({ programmeId: id, zone: "UTC" });
	assert.equal(isCounting, false);
	assert.deepEqual(tally?.totals.get("APPROVED"), {
		count: 3,
		basketMinor: 299999999999997n,
		commissionMinor: 30n,
		feeMinor: 60n,
	});
	assert.deepEqual(tally?.tests, new Map([["APPROVED", 1]]), "listed, and in no sum");
	assert.equal(tally?.totals.get("REVERSED")?.basketMinor, 1n);
	assert.equal(tally?.totals.get("RECORDED")?.count, 0);
	assert.deepEqual(
		tally?.days.get(TODAY),
		new Map([
			["APPROVED", 2],
			["REVERSED", 1],
		]),
	);
	assert.deepEqual(tally?.days.get(TODAY - 1), new Map([["APPROVED", 1]]));
});

test("days are those of the time zone, on both sides of a change of clocks", async (t) => {
	const { store, deps } = await open(t);
	const { id } = await addProgramme(store);
	// In Berlin clocks go forward on 29 March 2026, so the offset is one hour before and two hours after it.
	const clock = createClock(Date.UTC(2026, 3, 2));
	for (const at of [
		Date.UTC(2026, 2, 1, 22, 30),
		Date.UTC(2026, 2, 1, 23, 30),
		Date.UTC(2026, 2, 30, 22, 30),
	]) {
		await addConversion(store, id, { created_at_ms: at });
	}
	const daysIn = async (zone: string) => {
		const { count } = await createTallies({ ...deps, clock }).look({ programmeId: id, zone });
		return [...(count?.days.keys() ?? [])].map(dayOf).toSorted();
	};
	assert.deepEqual(await daysIn("UTC"), ["2026-03-01", "2026-03-30"]);
	assert.deepEqual(await daysIn("Europe/Berlin"), ["2026-03-01", "2026-03-02", "2026-03-31"]);
	assert.deepEqual(await daysIn("Asia/Kolkata"), ["2026-03-02", "2026-03-31"]);
});

test("a programme with more than one slice of conversions counts each of them once", async (t) => {
	const { store, deps } = await open(t);
	const { id } = await addProgramme(store);
	await fill(store, id, 4_001);
	const { count: tally } = await createTallies(deps).look({ programmeId: id, zone: "UTC" });
	assert.equal(tally?.totals.get("RECORDED")?.count, 4_001);
	assert.equal(tally?.totals.get("RECORDED")?.basketMinor, 4_001n * 10_000n);
});

test("a page waits for a count for at most 30 ms, and a large programme is counted in the background", {
	timeout: 20_000,
}, async (t) => {
	const { store, deps, clock } = await open(t);
	const { id } = await addProgramme(store);
	await fill(store, id, 2_001);
	const gate = createGate();
	const reader = interruptAfter(store.reader, 1, () => gate.passed);
	const tallies = createTallies({ ...deps, store: { ...store, reader } });
	const first = tallies.look({ programmeId: id, zone: "UTC" });
	await untilOnClock(clock, "the reader waits", () => clock.timersDueIn(30) > 0, 0);
	await clock.moveBy(30);
	assert.deepEqual(await first, { count: null, isCounting: true });
	gate.open();
	await untilOnClock(
		clock,
		"it is counted",
		async () => !(await tallies.look({ programmeId: id, zone: "UTC" })).isCounting,
	);
	assert.equal(
		(await tallies.look({ programmeId: id, zone: "UTC" })).count?.totals.get("RECORDED")?.count,
		2_001,
	);
	assert.equal(clock.waitingTimers, 0);
});

test("a count stays fresh for twenty times as long as it took", async (t) => {
	const { store, deps, clock } = await open(t);
	const { id } = await addProgramme(store);
	await addConversion(store, id);
	const startMs = clock.nowMs();
	let tookMs = 0;
	const slow = { ...clock, nowMs: () => clock.nowMs() + tookMs };
	const reader = interruptAfter(store.reader, 1, async () => {
		tookMs = 1_000;
	});
	const tallies = createTallies({ ...deps, clock: slow, store: { ...store, reader } });
	assert.equal(
		(await tallies.look({ programmeId: id, zone: "UTC" })).count?.totals.get("RECORDED")?.count,
		1,
	);
	await addConversion(store, id);
	await clock.moveTo(startMs + 18_999);
	assert.equal(
		(await tallies.look({ programmeId: id, zone: "UTC" })).count?.totals.get("RECORDED")?.count,
		1,
	);
	await clock.moveTo(startMs + 19_000);
	assert.equal(
		(await tallies.look({ programmeId: id, zone: "UTC" })).count?.totals.get("RECORDED")?.count,
		2,
	);
});

test("a count that fails is logged, and the next request tries again", async (t) => {
	const { store, deps } = await open(t);
	const { id } = await addProgramme(store);
	let isBroken = true;
	const flaky = {
		...store,
		get reader() {
			if (isBroken) throw new Error("gone for a moment");
			return store.reader;
		},
	};
	const log = createLog();
	const tallies = createTallies({ ...deps, store: flaky, log });
	assert.deepEqual(await tallies.look({ programmeId: id, zone: "UTC" }), { count: null, isCounting: false });
	assert.match(log.text(), /could not be counted/);
	isBroken = false;
	assert.notEqual((await tallies.look({ programmeId: id, zone: "UTC" })).count, null);
});

test("when the service stops, the count in progress ends and no other begins", async (t) => {
	const { store, deps } = await open(t);
	const { id } = await addProgramme(store);
	await addConversion(store, id);
	const stopping = new AbortController();
	const reader = interruptAfter(store.reader, 1, async () => stopping.abort());
	const tallies = createTallies({ ...deps, store: { ...store, reader }, stopSignal: stopping.signal });
	assert.deepEqual(await tallies.look({ programmeId: id, zone: "UTC" }), { count: null, isCounting: false });
	assert.deepEqual(await tallies.look({ programmeId: id, zone: "UTC" }), { count: null, isCounting: false });
});

test("eight counts run at once, and another one begins when one of them has ended", async (t) => {
	const { deps, clock } = await open(t);
	const gate = createGate();
	const begun: number[] = [];
	const counts = cacheCounts(deps, async (key: number) => {
		begun.push(key);
		await gate.passed;
		return { countedAtMs: START_MS };
	});
	const looks = Array.from({ length: 9 }, (_, key) => counts.look(key));
	assert.deepEqual(await looks[8], { count: null, isCounting: true });
	assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6, 7]);
	gate.open();
	await untilOnClock(clock, "the ninth is counted", async () => (await counts.look(8)).count !== null);
	assert.deepEqual(begun.at(-1), 8);
	await Promise.all(looks);
});

async function open(t: TestContext) {
	const store = openSqlite(":memory:", realClock);
	t.after(() => store.close());
	await store.migrate(START_MS);
	await raiseReceiverIds(store);
	const clock: TestClock = createClock();
	return { store, clock, deps: { store, clock, log: createLog() } };
}

async function fill(store: Store, programmeId: number, rows: number): Promise<void> {
	await store.transact(async (trx) => {
		for (let n = 0; n < rows; n++) await addConversion({ ...store, db: trx }, programmeId);
	});
}

function createGate(): { passed: Promise<void>; open(): void } {
	const { promise, resolve } = Promise.withResolvers<void>();
	return { passed: promise, open: resolve };
}
