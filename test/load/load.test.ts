// A few seconds of load on both databases, or on SQLite only in the short form. `npm run load` runs for five minutes.

import { ok, rejects, throws } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { startHttpServer } from "../support/http-server.ts";
import { isLong, noProgress } from "../support/proof.ts";
import { until } from "../support/until.ts";
import { describeFloods, measureFloods } from "./floods.ts";
import { startIntake } from "./intake.ts";
import { growthOf } from "./memory.ts";
import { runLoad } from "./proof.ts";

const SECONDS = isLong ? 5 : 2;
const WITH_POSTGRES = isLong ? [false, true] : [false];
/**
 * Time limit for the last deliveries. It is shorter than the delay of a retry, so that these tests do not
 * wait for one.
 */
const DRAIN_SECONDS = 50;

for (const usesPostgres of WITH_POSTGRES) {
	const database = usesPostgres ? "PostgreSQL" : "SQLite";
	test(`under load with shops that hang, no call fails, memory does not grow and nothing is lost (${database})`, async (t) => {
		const seed = randomInt(2 ** 31);
		const options = { seconds: SECONDS, seed, usesPostgres, drainSeconds: DRAIN_SECONDS };
		const { calls, delivered, waiting, text } = await runLoad(options, noProgress);
		t.diagnostic(text);
		ok(calls > 0 && delivered > 0 && waiting > 0, "the run was too short to prove anything");
		// The processes have ended, but Node releases their handles only in the next rounds of the event loop.
		await until(() => !process.getActiveResourcesInfo().includes("ProcessWrap"));
	});
}

for (const usesPostgres of WITH_POSTGRES) {
	const database = usesPostgres ? "PostgreSQL" : "SQLite";
	test(`a sale is stored in time during a flood of pages, sign-ins, reads, signature checks, made-up links or bad signatures (${database})`, async (t) => {
		const names = isLong ? {} : { names: ["search", "signature checks", "bad signatures"] };
		const all = await measureFloods(database, { sales: 15, rounds: 1, ...names }, () => undefined);
		t.diagnostic(describeFloods(database, all));
		// On a quiet machine the goal is a factor of 3 (`npm run load -- --floods 1`). Without admission control
		// it was 100.
		for (const { name, quietMs, floodMs } of all)
			ok(floodMs < 20 * Math.max(quietMs, 10), `${name}: ${floodMs}`);
	});
}

test("an answer that is not JSON ends the run, and the error has its text and status", async (t) => {
	const url = await startHttpServer(t, (_, answer) => answer.writeHead(502).end("<html>Bad Gateway</html>"));
	const { done } = startIntake(url, [{ apiKey: "rbk_1", secret: "rbs_1" }], 1);
	await rejects(done, /answered 502 .*<html>Bad Gateway/);
});

test("a size that rises all the time counts as growth, and one that varies or settles in the first third does not", () => {
	const steady = Array.from({ length: 30 }, (_, at) => 100 + (at % 3));
	ok(growthOf(steady) <= 5);
	ok(growthOf([...Array(10).fill(10), ...Array(20).fill(100)]) <= 5);
	ok(growthOf(steady.map((size, at) => size + at)) > 5);
	throws(() => growthOf([1, 2]), RangeError);
});
