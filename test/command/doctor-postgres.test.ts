// Tests the findings of `ringback doctor` about PostgreSQL: the server's state and its clock.

import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { openHome } from "../support/command-home.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { emptyPostgres, examine, KEY, withNames } from "./doctor-setup.ts";

describe("ringback doctor on PostgreSQL", { concurrency: 2 }, () => {
	test("ringback doctor checks the PostgreSQL server and its settings", async (t) => {
		const home = openHome(t);
		const database = await createTestDatabase("PostgreSQL");
		t.after(() => database.remove());
		const settings = {
			...(await withNames(t, "example.com")),
			DATABASE_URL: database.location,
			RINGBACK_SECRET_KEY: KEY,
		};
		await home.runHere(["migrate"], settings);
		const good = await examine(home, settings);
		for (const check of ["listen", "timeouts", "connections"]) {
			match(good.of(check), /^ok /, check);
		}
		equal(good.of("autovacuum"), "", "it is on: nothing is said of it");
		const without = { ...settings, DATABASE_URL: `${database.location}?options=-c%20track_counts%3Doff` };
		match(
			(await examine(home, without)).of("autovacuum"),
			/^warning autovacuum is off, .* Set both on in postgresql\.conf/,
		);
		const bad = await examine(home, { ...settings, RINGBACK_DATABASE_POOL: "500" });
		match(
			bad.of("connections"),
			/^warning .* up to 501, more than there are left\. Lower RINGBACK_DATABASE_POOL/,
		);
		equal(bad.code, 0, "it works all the same");
	});

	test("ringback doctor refuses two addresses that lead to different databases, and changes neither", async (t) => {
		const home = openHome(t);
		const [queried, direct] = [
			await createTestDatabase("PostgreSQL"),
			await createTestDatabase("PostgreSQL"),
		];
		t.after(() => Promise.all([queried.remove(), direct.remove()]));
		const settings = {
			...(await withNames(t, "example.com")),
			DATABASE_URL: queried.location,
			RINGBACK_DATABASE_DIRECT_URL: direct.location,
			RINGBACK_SECRET_KEY: KEY,
		};
		for (const command of ["doctor", "migrate"]) {
			const { code, stdout, stderr } = await home.runHere([command], settings);
			equal(code, 1, command);
			match(stdout + stderr, /lead to different databases \(.*on one server\)\./, command);
		}
		for (const { db } of [queried.open(), direct.open()]) {
			deepEqual(await db.introspection.getTables(), []);
		}
	});

	test("ringback doctor compares this machine's clock with PostgreSQL's, with a warning above 5 s and a problem above a minute", async (t) => {
		const home = openHome(t);
		const settings = { ...(await withNames(t, "example.com")), ...(await emptyPostgres(t)) };
		const cases: readonly [shiftMs: number, said: RegExp, code: number][] = [
			[-1_000, /^ok \d+ ms from the database server's clock$/, 0],
			[29_000, /^warning This machine's clock is 2[89]\.\d s ahead of .* synchronized by NTP/, 0],
			[-3_600_000, /^problem This machine's clock is 3(?:599|600)\.\d s behind .* it is not ready/, 1],
		];
		for (const [shiftMs, said, code] of cases) {
			const program = `const now = Date.now; Date.now = () => now() + ${shiftMs};`;
			const shifted = `--import=data:text/javascript,${encodeURIComponent(program)}`;
			const findings = await examine(home, { ...settings, NODE_OPTIONS: shifted }, home.run);
			match(findings.of("clock"), said);
			equal(findings.code, code);
		}
	});
});
