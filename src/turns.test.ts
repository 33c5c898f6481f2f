import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { createClock, settle } from "../test/support/clock.ts";
import { createTurns, LATE_MS, MAX_BEHIND_MS } from "./turns.ts";

/** So many rounds of the event loop that everything has begun that may. */
async function settleAll(): Promise<void> {
	for (let round = 0; round < 4; round++) await settle();
}

function openTurns() {
	const clock = createClock();
	const turns = createTurns(clock, undefined);
	const begun: string[] = [];
	const ends: (() => void)[] = [];
	const ask = (name: string, lane: "pages" | "passwords" = "pages") =>
		turns.wait(lane, name).then((end) => {
			begun.push(end === undefined ? `no ${name}` : name);
			if (end !== undefined) ends.push(end);
		});
	const endAll = async () => {
		while (ends.length > 0) {
			ends.shift()?.();
			await settle();
		}
	};
	return { clock, turns, begun, ends, ask, endAll };
}

test("names take turns: one that floods waits for itself, and few are at work at once", async () => {
	const { begun, ask, endAll } = openTurns();
	for (let n = 0; n < 50; n++) void ask("flood");
	for (const name of ["a", "b"]) void ask(name);
	await settleAll();
	deepEqual(begun.toSorted(), ["a", "b", "flood", "flood"], "two of a name at most");
	await endAll();
	equal(begun.length, 52, "and all come to their turn");
	const many = openTurns();
	for (let n = 0; n < 50; n++) void many.ask(`name ${n}`);
	await settleAll();
	equal(many.begun.length, 8, "eight in all");
	await many.endAll();
	equal(many.begun.length, 50);
	equal(many.clock.waitingTimers, 0);
});

test("a place that is not there is told a second later: for one name, and for all together", async () => {
	const { clock, begun, ask, endAll } = openTurns();
	for (let n = 0; n < 64 + 3; n++) void ask("flood");
	await settleAll();
	equal(begun.length, 2);
	void ask("other");
	await settleAll();
	deepEqual(begun, ["flood", "flood", "other"]);
	await clock.moveBy(LATE_MS - 1);
	equal(begun.length, 3);
	await clock.moveBy(1);
	deepEqual(begun.slice(3), ["no flood", "no flood", "no flood"]);
	await endAll();
	const floods = Array.from({ length: 9 }, (_, n) => `flood ${n}`);
	for (let n = 0; n < 66; n++) for (const name of floods) void ask(name);
	void ask("quiet");
	await settleAll();
	await clock.moveBy(LATE_MS);
	ok(begun.some((name) => name.startsWith("no flood ")));
	await endAll();
	ok(begun.includes("quiet"), "whoever has nothing waiting has a place where others fill the lane");
	for (let n = 0; n < 1_100; n++) void ask(`name ${n}`);
	await settleAll();
	await clock.moveBy(LATE_MS);
	equal(begun.filter((name) => name.startsWith("no name")).length, 1_100 - 2 * 512, "up to twice as many");
	await endAll();
	equal(clock.waitingTimers, 0);
});

test("no turn begins or goes on while a report is at work, but for one in a while where reports never end", async () => {
	const { clock, turns, begun, ask, endAll } = openTurns();
	const report = Promise.withResolvers<void>();
	const reported = turns.goAhead(() => report.promise);
	for (const name of ["a", "b", "c"]) void ask(name);
	let hasGivenWay = false;
	void turns.giveWay().then(() => {
		hasGivenWay = true;
	});
	await settleAll();
	deepEqual([begun, hasGivenWay], [[], false]);
	await clock.moveBy(MAX_BEHIND_MS);
	deepEqual([begun, hasGivenWay], [["a"], true]);
	report.resolve();
	await reported;
	await settleAll();
	deepEqual(begun, ["a", "b", "c"]);
	await endAll();
	equal(clock.waitingTimers, 0);
});

test("a report that fails lets the others go on, and passwords have a lane of their own", async () => {
	const { turns, begun, ask, endAll } = openTurns();
	await turns.goAhead(() => Promise.reject(new Error("no"))).catch(() => undefined);
	for (let n = 0; n < 20; n++) void ask(`sign-in ${n}`, "passwords");
	for (let n = 0; n < 3; n++) void ask(`page ${n}`);
	await settleAll();
	deepEqual(begun.toSorted(), ["page 0", "page 1", "page 2", "sign-in 0"]);
	await endAll();
	equal(begun.length, 23);
});
