import { deepEqual, equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MINUTE_MS } from "#core/domain/time.ts";
import { createClock, START_MS, settle } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import { createMigratedSqlite } from "../../test/support/sqlite-database.ts";
import { startChore } from "./chores.ts";

async function setUp(
	t: TestContext,
	work: (isStopping: () => boolean) => Promise<void> = async () => undefined,
	isSure: () => boolean = () => true,
) {
	const clock = createClock(START_MS, { isSure });
	const log = createLog();
	const database = await createMigratedSqlite();
	t.after(() => database.remove());
	const store = database.open();
	const runs: number[] = [];
	const chore = startChore({ store, clock, log }, "approvals", async (isStopping) => {
		runs.push(clock.nowMs());
		await work(isStopping);
	});
	return { clock, log, runs, chore };
}

test("a failure is logged with the chore's name and tried again", async (t) => {
	const { clock, log, runs, chore } = await setUp(t, () => Promise.reject(new Error("no room")));
	await clock.moveBy(0);
	await clock.moveBy(10_000);
	equal(runs.length, 2);
	await chore.stop();
	deepEqual(
		log.lines.map(({ fields }) => "chore" in fields && fields.chore),
		["approvals", "approvals"],
	);
});

test("a chore does not run and logs nothing while the clock is not sure of the time", async (t) => {
	let isSure = false;
	const { clock, log, runs, chore } = await setUp(t, undefined, () => isSure);
	await clock.moveBy(0);
	chore.runSoon();
	await settle();
	equal(clock.waitingTimers, 1);
	await clock.moveBy(3 * MINUTE_MS);
	deepEqual(runs, []);
	deepEqual(log.lines, []);
	isSure = true;
	await clock.moveBy(5_000);
	equal(runs.length, 1, "within five seconds, however long its interval");
	await clock.moveBy(10_000);
	equal(runs.length, 2, "and from then on at its interval");
	await chore.stop();
	equal(clock.waitingTimers, 0);
});

test("a run ends at its next batch when the clock is no longer sure of the time, and does not begin again", async (t) => {
	let isSure = true;
	const gate = Promise.withResolvers<void>();
	const seen: boolean[] = [];
	const { clock, runs, chore } = await setUp(
		t,
		async (isStopping) => {
			seen.push(isStopping());
			await gate.promise;
			seen.push(isStopping());
		},
		() => isSure,
	);
	await clock.moveBy(0);
	chore.runSoon();
	isSure = false;
	gate.resolve();
	await settle();
	deepEqual(seen, [false, true]);
	await clock.moveBy(20_000);
	equal(runs.length, 1, "although it was asked for meanwhile");
	isSure = true;
	await clock.moveBy(5_000);
	equal(runs.length, 2);
	await chore.stop();
});
