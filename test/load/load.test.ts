// A few seconds of load on both databases, in `npm test` on SQLite alone; `npm run load` goes on for five minutes.

import { ok, rejects, throws } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import { portOf } from "../support/port-of.ts";
import { isLong, noProgress } from "../support/proof.ts";
import { until } from "../support/until.ts";
import { judgeGrowth } from "./growth.ts";
import { startIntake } from "./intake.ts";
import { runLoad } from "./proof.ts";
import { describeReport, type LoadOptions } from "./report.ts";

const SECONDS = isLong ? 5 : 2;
const WITH_POSTGRES = isLong ? [false, true] : [false];
/** Here nobody waits for a retry that comes a minute later. */
const DRAIN_SECONDS = 50;

for (const usesPostgres of WITH_POSTGRES) {
	const database = usesPostgres ? "PostgreSQL" : "SQLite";
	test(`under load with hanging shops nothing fails, grows or gets lost (${database})`, async (t) => {
		const options: LoadOptions = {
			seconds: SECONDS,
			seed: randomInt(2 ** 31),
			usesPostgres,
			drainSeconds: DRAIN_SECONDS,
		};
		const report = await runLoad(options, noProgress);
		t.diagnostic(describeReport(report, options));
		ok(report.calls > 0 && report.losses.delivered > 0 && report.losses.waiting > 0, "it proves too little");
		// Each of them has ended; their handles go with the next rounds of the event loop.
		await until(() => !process.getActiveResourcesInfo().includes("ProcessWrap"));
	});
}

test("an answer that is no JSON ends the run and is shown with its status", async () => {
	const server = createServer((_, response) => response.writeHead(502).end("<html>Bad Gateway</html>"));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	try {
		const account = { apiKey: "rbk_1", secret: "rbs_1" };
		const { done } = startIntake(`http://127.0.0.1:${portOf(server)}`, [account], 1);
		await rejects(done, /answered 502 .*<html>Bad Gateway/);
	} finally {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	}
});

describe("the judgement of growth", () => {
	const steady = Array.from({ length: 30 }, (_, at) => 100 + (at % 3));

	test("a size that comes and goes does not grow", () => {
		ok(!judgeGrowth(steady, 5).isGrowing);
	});

	test("a size that only finds its level in the first third does not grow", () => {
		ok(!judgeGrowth([...Array(10).fill(10), ...Array(20).fill(100)], 5).isGrowing);
	});

	test("a size that goes up all the time grows", () => {
		ok(
			judgeGrowth(
				steady.map((size, at) => size + at),
				5,
			).isGrowing,
		);
	});

	test("too few sizes are no proof", () => {
		throws(() => judgeGrowth([1, 2], 5), RangeError);
	});
});
