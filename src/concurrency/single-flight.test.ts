import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { settle } from "../../test/support/clock.ts";
import { createSingleFlight } from "./single-flight.ts";

/** Records the runs and ends each of them only when `endRun` is called. */
function setUp() {
	const ends: PromiseWithResolvers<void>[] = [];
	const errors: unknown[] = [];
	const flight = createSingleFlight({
		run() {
			const end = Promise.withResolvers<void>();
			ends.push(end);
			return end.promise;
		},
		onError: (error) => errors.push(error),
	});
	const endRun = async (error?: Error) => {
		if (error === undefined) ends.at(-1)?.resolve();
		else ends.at(-1)?.reject(error);
		await settle();
	};
	return { flight, errors, endRun, countRuns: () => ends.length };
}

describe("a single flight", () => {
	test("starts a run within the request and only one at a time", async () => {
		const { flight, endRun, countRuns } = setUp();
		equal(flight.isRunning, false);
		flight.request();
		equal(countRuns(), 1);
		equal(flight.isRunning, true);
		await endRun();
		equal(flight.isRunning, false);
		equal(countRuns(), 1);
	});

	test("runs once more after the run in progress, however often it was requested meanwhile", async () => {
		const { flight, endRun, countRuns } = setUp();
		for (let request = 0; request < 4; request++) flight.request();
		equal(countRuns(), 1);
		await endRun();
		equal(countRuns(), 2);
		await endRun();
		equal(countRuns(), 2);
	});

	test("never runs twice at once if a run requests the next one in its first statement", async () => {
		let runs = 0;
		let running = 0;
		let most = 0;
		const flight = createSingleFlight({
			async run() {
				running++;
				most = Math.max(most, running);
				if (++runs < 3) flight.request();
				await settle();
				running--;
			},
			onError: () => undefined,
		});
		flight.request();
		await flight.whenIdle();
		deepEqual([runs, most], [3, 1]);
	});

	test("passes an error to its handler, and still makes the run that was requested meanwhile", async () => {
		const { flight, errors, endRun, countRuns } = setUp();
		flight.request();
		flight.request();
		const error = new Error("no database");
		await endRun(error);
		deepEqual(errors, [error]);
		equal(countRuns(), 2);
		await endRun();
		flight.request();
		equal(countRuns(), 3);
		await endRun();
	});

	test("passes on an error that the run throws before it returns a promise", async () => {
		const errors: unknown[] = [];
		const error = new Error("not started");
		const flight = createSingleFlight({
			run() {
				throw error;
			},
			onError: (thrown) => errors.push(thrown),
		});
		flight.request();
		await flight.whenIdle();
		deepEqual(errors, [error]);
	});

	test("is idle only when the requested run has ended, too", async () => {
		const { flight, endRun } = setUp();
		let isIdle = false;
		flight.request();
		flight.request();
		const idle = flight.whenIdle().then(() => {
			isIdle = true;
		});
		await endRun();
		equal(isIdle, false);
		await endRun();
		equal(isIdle, true);
		await idle;
		await flight.whenIdle();
	});

	test("waits for the run in progress when it is stopped, and starts no other", async () => {
		const { flight, endRun, countRuns } = setUp();
		flight.request();
		flight.request();
		let isStopped = false;
		const stopped = flight.stop().then(() => {
			isStopped = true;
		});
		await settle();
		equal(isStopped, false);
		await endRun();
		await stopped;
		flight.request();
		await settle();
		equal(countRuns(), 1);
	});
});
