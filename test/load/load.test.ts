// A few seconds of load on both databases, in `npm test` on SQLite alone; `npm run load` goes on for five minutes.

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
/** Here nobody waits for a retry that comes a minute later. */
const DRAIN_SECONDS = 50;

for (const usesPostgres of WITH_POSTGRES) {
	const database = usesPostgres ? "PostgreSQL" : "SQLite";
	test(`under load with hanging shops nothing fails, grows or gets lost (${database})`, async (t) => {
		const seed = randomInt(2 ** 31);
		const options = { seconds: SECONDS, seed, usesPostgres, drainSeconds: DRAIN_SECONDS };
		const { calls, delivered, waiting, text } = await runLoad(options, noProgress);
		t.diagnostic(text);
		ok(calls > 0 && delivered > 0 && waiting > 0, "it proves too little");
		// Each of them has ended; their handles go with the next rounds of the event loop.
		await until(() => !process.getActiveResourcesInfo().includes("ProcessWrap"));
	});
}

for (const usesPostgres of WITH_POSTGRES) {
	const database = usesPostgres ? "PostgreSQL" : "SQLite";
	test(`in a flood of pages, sign-ins, reads or checks a sale goes ahead (${database})`, async (t) => {
		const names = isLong ? {} : { names: ["search", "signature checks"] };
		const all = await measureFloods(database, { sales: 15, rounds: 1, ...names }, () => undefined);
		t.diagnostic(describeFloods(database, all));
		// Three times is for `npm run load -- --floods 1` on a quiet machine; without turns it was a hundred times.
		for (const { name, quietMs, floodMs } of all)
			ok(floodMs < 20 * Math.max(quietMs, 10), `${name}: ${floodMs}`);
	});
}

test("an answer that is no JSON ends the run and is shown with its status", async (t) => {
	const url = await startHttpServer(t, (_, answer) => answer.writeHead(502).end("<html>Bad Gateway</html>"));
	const { done } = startIntake(url, [{ apiKey: "rbk_1", secret: "rbs_1" }], 1);
	await rejects(done, /answered 502 .*<html>Bad Gateway/);
});

test("a size grows that goes up all the time, not one that comes and goes or finds its level in the first third", () => {
	const steady = Array.from({ length: 30 }, (_, at) => 100 + (at % 3));
	ok(growthOf(steady) <= 5);
	ok(growthOf([...Array(10).fill(10), ...Array(20).fill(100)]) <= 5);
	ok(growthOf(steady.map((size, at) => size + at)) > 5);
	throws(() => growthOf([1, 2]), RangeError);
});
