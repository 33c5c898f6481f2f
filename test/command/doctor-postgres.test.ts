// What `ringback doctor` says about PostgreSQL: the server's state, its clock, and where the two addresses lead.

import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { hasStack, openHome } from "../support/command-home.ts";
import { startPostgres } from "../support/postgres.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { emptyPostgres, examine, KEY, withNames } from "./doctor-setup.ts";

describe("doctor on PostgreSQL", { concurrency: 2 }, () => {
	test("looks at what PostgreSQL has for us", async (t) => {
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
		const bad = await examine(home, { ...settings, RINGBACK_DATABASE_POOL: "500" });
		match(
			bad.of("connections"),
			/^warning .* up to 501, more than there are left\. Lower RINGBACK_DATABASE_POOL/,
		);
		equal(bad.code, 0, "it works all the same");
	});

	test("compares this machine's clock with PostgreSQL's: a warning above 5 s, a problem above a minute", async (t) => {
		const home = openHome(t);
		const settings = { ...(await withNames(t, "example.com")), ...(await emptyPostgres(t)) };
		const cases: readonly [shiftMs: number, said: RegExp, code: number][] = [
			[-1_000, /^ok \d+ ms from the database server's clock$/, 0],
			[29_000, /^warning This machine's clock is 2[89]\.\d s ahead of .* set by NTP/, 0],
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

	test("names two addresses that lead to different databases; `migrate` builds nothing in either", async (t) => {
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
		const cause =
			/DATABASE_URL and RINGBACK_DATABASE_DIRECT_URL lead to different databases \(.*on one server\)\./;
		const { code, of } = await examine(home, settings);
		equal(code, 1);
		match(of("settings"), cause);
		for (const args of [["migrate", "--check"], ["migrate"], ["serve"]]) {
			const ended = await (args[0] === "serve" ? home.run : home.runHere)(args, settings);
			equal(hasStack(ended), false, ended.stderr);
			equal(ended.code, 1, args.join(" "));
			match(ended.stderr, cause);
		}
		for (const { db } of [queried.open(), direct.open()]) {
			deepEqual(await db.introspection.getTables(), []);
		}
		// A copy of the whole cluster has the same names and numbers.
		const other = await startPostgres({ settings: { fsync: "off" } });
		t.after(() => other.stop());
		const copy = await other.createDatabase(new URL(queried.location).pathname.slice(1));
		const elsewhere = await examine(home, { ...settings, RINGBACK_DATABASE_DIRECT_URL: copy });
		match(elsewhere.of("settings"), /lead to different databases \(.*on different servers\)\./);
		const same = await examine(home, { ...settings, RINGBACK_DATABASE_DIRECT_URL: queried.location });
		match(same.of("database"), /^ok /);
	});
});
