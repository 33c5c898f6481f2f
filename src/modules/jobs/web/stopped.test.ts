import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { MEGABYTE } from "#core/domain/bytes.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { createTestSite, NEW_PASSWORD, PASSWORD } from "#core/web/test-site.test-support.ts";
import { createMigratedSqlite } from "../../../../test/support/sqlite-database.ts";
import { findJob, insertJob } from "../store/jobs.ts";
import { discardJob } from "../use-cases/job.ts";
import { createInterruption } from "../use-cases/jobs.test-support.ts";
import { MAX_WAITING_FILES, MAX_WAITING_MEGABYTES } from "../use-cases/make-job.ts";
import { workOffJobs } from "../use-cases/work.ts";
import { HISTORY, openNetwork, send, upload, workOff } from "./import-site.test-support.ts";

const lines = Array.from({ length: 600 }, (_, at) => `Garden Shop;A-${at};approved;2026-02-01;1;`);

test("a new password stops the person's imports, which they or others can continue or discard", async (t) => {
	const { site, staff } = await openNetwork(t);
	const other = await site.signIn(await site.addStaff("ute@network.example"));
	await site.addProgramme("Garden Shop");
	const paths: string[] = [];
	for (let at = 0; at < 3; at++) paths.push(await upload(staff, "conversions", [HISTORY, ...lines]));
	const [first = "", second = "", waiting = ""] = paths;
	await workOff(site);
	await staff.open(first);
	for (const job of [first, second]) await staff.submit(`${job}/apply`, {});
	let looks = 0;
	await workOffJobs(site.deps, () => ++looks > 2);
	await staff.open("/account");
	const changed = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
	equal((await staff.submit("/account/password", changed)).status, 303);
	match((await staff.open("/account")).text, /Your password is changed\. 2 jobs were stopped\./);
	await workOff(site);

	const stopped =
		/Stopped after 500 of 600 lines\. The changes made until then stay\..*sam@.* got a new password or lost their access.*\/apply".*Continue<\/button>.*Discard the rest/s;
	match((await other.open(first)).text, stopped);
	match(
		(await other.open(waiting)).text,
		/sam@.* got a new password or lost their access.*If you do not recognise the file, discard it/s,
	);
	match((await staff.open(first)).text, stopped, "the person who changed it stays signed in");
	await staff.submit(`${first}/apply`, {});
	await workOff(site);
	match((await other.open(first)).text, /<h1>Done</);
	doesNotMatch((await other.open(first)).text, /got a new password/);

	await other.open(second);
	equal((await other.submit(`${second}/discard`, {})).location, second);
	await workOff(site);
	const discarded = (await other.open(second)).text;
	match(discarded, /Stopped, rest discarded.*Its other lines were removed\. Upload the file again/s);
	doesNotMatch(discarded, /\/apply"|discard the rest/i);
	equal((await other.submit(`${second}/discard`, {})).location, second);
	match((await other.open("/import/conversions")).text, />Stopped, rest discarded</);
	match(
		(await other.open("/system/audit")).text,
		/600 of 600 lines discarded.*continued after 500 of 600 lines.*Import stopped.*the access of sam@network\.example ended/s,
	);
});

test("a failed batch is shown on the page with its lines and advice, until it succeeds", async (t) => {
	const { site, staff } = await openNetwork(t);
	await site.addProgramme("Garden Shop");
	const job = await upload(staff, "conversions", [HISTORY, ...lines]);
	await workOff(site);
	await staff.open(job);
	await staff.submit(`${job}/apply`, {});
	const failWith = async (error: Error) => {
		const random = {
			...site.deps.random,
			bytes: () => {
				throw error;
			},
		};
		await workOffJobs({ ...site.deps, random }, () => false).catch(() => undefined);
		site.moveClock(60_000);
		return (await staff.open(job)).text;
	};
	const text = await failWith(new Error("insert into conversions: secret"));
	match(text, /Lines 2 to 501 could not be stored.*an unexpected error\. None of them was stored/s);
	match(text, /None of them was stored, and they are tried again every 30 seconds\./);
	match(text, /look for “a chore failed” in the service’s log.*remove these from the file/s);
	doesNotMatch(text, /insert into|secret/);
	match((await staff.open("/import/conversions")).text, />Trying again</);
	const full = Object.assign(new Error("disk"), { code: "ERR_SQLITE_ERROR", errcode: 13 });
	match(await failWith(full), /the database was unreachable, too busy or full.*System page/s);
	await staff.submit(`${job}/stop`, {});
	match(
		(await staff.open(job)).text,
		/Stopped after 0 of 600 lines.*could not be stored.*None of them was stored\. If it continues, /s,
	);
	await staff.submit(`${job}/apply`, {});
	await workOff(site);
	const done = (await staff.open(job)).text;
	match(done, /600 conversions imported/);
	doesNotMatch(done, /could not be stored/);
});

test("a job that no process works on says so, and since when", async (t) => {
	const { site, staff } = await openNetwork(t);
	await site.addProgramme("Garden Shop");
	const path = await upload(staff, "conversions", [HISTORY, ...lines]);
	const textOf = async (claimUntilMs: number) => {
		await site.store.db.updateTable("jobs").set({ claim_until_ms: claimUntilMs }).execute();
		return (await staff.open(path)).text;
	};
	const free = await textOf(0);
	match(free, /<h1>Checking the file<.*It begins as soon as a process is free/s);
	const nowMs = site.deps.clock.nowMs();
	const held = await textOf(nowMs + 1);
	match(held, /<h1>Checking the file<.*The work continues/s);
	const dead = await textOf(nowMs);
	match(
		dead,
		/<h1>Waiting for a process<.*No process has worked on it since <time.*It continues as soon as/s,
	);
	doesNotMatch(dead, /The work continues/);
	match((await staff.open("/import/conversions")).text, />Waiting for a process</);
});

test("a file that exceeds the limits on waiting files is refused on the form with advice", async (t) => {
	const { site, staff } = await openNetwork(t);
	const { db } = site.store;
	const waiting = await upload(staff, "conversions", [HISTORY, ...lines]);
	await db
		.updateTable("jobs")
		.set({ file_bytes: MAX_WAITING_MEGABYTES * MEGABYTE })
		.execute();
	const { id: _, ...job } = await db.selectFrom("jobs").selectAll().executeTakeFirstOrThrow();
	for (let at = 0; at < 2 * MAX_WAITING_FILES; at++) {
		await insertJob(db, { ...job, public_id: `imp_${at}`, state: "done", lines: "gone" });
	}
	const refused = await send(staff, "conversions", [HISTORY, ...lines].join("\n"));
	equal(refused.status, 429);
	match(
		refused.text,
		/There is no room for this file: 1 file waits to be applied or discarded, 200 MB in all/,
	);
	match(refused.text, /aria-invalid="true"/);
	const listed = [...refused.text.matchAll(/href="(\/import\/jobs\/[^"]*)"/g)].map(([, path]) => path);
	deepEqual(listed.slice(0, 3), [waiting, "/import/jobs/imp_99", "/import/jobs/imp_98"]);
});

test("pressing a button while another person discards the file leads to a page that says so", async (t) => {
	const database = await createMigratedSqlite();
	t.after(database.remove);
	const store = database.open();
	const interruption = createInterruption(store);
	const site = createTestSite(interruption.store);
	const staff = await site.signIn(await site.addStaff());
	const path = await upload(staff, "people", ["email,programme,role", "a@b.example,none,viewer"]);
	await workOff(site);
	const job = await findJob(store.db, null, path.split("/").at(-1) ?? "");
	ok(job !== undefined);
	await staff.open(path);
	interruption.afterReading(job, () => discardJob({ ...site.deps, store }, job, COMMAND_LINE));
	const { location } = await staff.submit(`${path}/apply`, {});
	ok(interruption.hasHappened);
	equal(location, "/import/people");
	match((await staff.open("/import/people")).text, /This file was discarded, and nothing was changed/);
});
