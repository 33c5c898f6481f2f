// Tests the imports page with real processes. The process that works on an import is killed in the middle, and others
// continue it within five seconds. On PostgreSQL two others already run, as on several machines.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { Browser, createTestSite, PASSWORD } from "#core/web/test-site.test-support.ts";
import { findJob } from "#modules/jobs/store/jobs.ts";
import { openHome, type Running } from "../support/command-home.ts";
import { isLong } from "../support/proof.ts";
import { createMigratedDatabase, DATABASE_KINDS } from "../support/test-database.ts";
import { until } from "../support/until.ts";

/** Key with which createTestSite encrypts secrets. */
const SECRET_KEY = "07".repeat(32);
const QUICK_PASSWORDS = `--import=${new URL("../support/quick-passwords.ts", import.meta.url)}`;
const ROWS = 6_000;
/**
 * Time within which a job of a killed process continues. It counts from the kill if other processes run, and otherwise
 * from the moment at which the restarted process listens.
 */
const CONTINUES_WITHIN_MS = 5_000;
/**
 * Short runs test only PostgreSQL. test/crash covers what a killed process leaves in SQLite, and src/modules/jobs
 * covers it for imports.
 */
const KINDS = isLong ? DATABASE_KINDS : (["PostgreSQL"] as const);

for (const kind of KINDS) {
	test(`a service that is killed during an import continues it (${kind})`, async (t) => {
		const database = await createMigratedDatabase(kind);
		const home = openHome({
			after: (clean) =>
				t.after(async () => {
					await clean();
					await database.remove();
				}),
		});
		const store = database.open();
		const site = createTestSite(store);
		const programme = await site.addProgramme("Garden Shop");
		const { email } = await site.addStaff();
		const serve = () =>
			home.start(["serve"], {
				PORT: "0",
				DATABASE_URL: kind === "SQLite" ? `sqlite:${database.location}` : database.location,
				RINGBACK_SECRET_KEY: SECRET_KEY,
				LOG_LEVEL: "warn",
				NODE_OPTIONS: QUICK_PASSWORDS,
			});
		const first = serve();
		const listening = (process: Running) => process.said(/(http:\/\/127\.0\.0\.1:\d+)/);
		const [, url = ""] = await listening(first);
		const others = kind === "SQLite" ? [] : [serve(), serve()];
		await Promise.all(others.map(listening));
		const staff = new Browser((target, init) => fetch(`${url}${target}`, { ...init, redirect: "manual" }));
		await staff.open("/sign-in");
		equal((await staff.submit("/sign-in", { email, password: PASSWORD })).status, 303);
		const lines = Array.from({ length: ROWS }, (_, at) => `Garden Shop,O-${at},approved,2026-01-02,10.00`);
		const form = new FormData();
		form.set(
			"file",
			new File([["programme,order_id,status,sold_at,amount", ...lines].join("\n")], "many.csv"),
		);
		await staff.open("/import/conversions");
		const { location } = await staff.submitForm("/import/conversions", form);
		const path = location ?? "";
		const job = async () => {
			const found = await findJob(store.db, null, path.split("/").at(-1) ?? "");
			ok(found !== undefined);
			return found;
		};
		const count = async () => {
			const rows = await store.db
				.selectFrom("conversions")
				.select((eb) => eb.fn.countAll<number>().as("count"))
				.where("programme_id", "=", programme.id)
				.executeTakeFirstOrThrow();
			return rows.count;
		};
		await until(async () => (await job()).state === "previewed");
		await staff.submit(`${path}/apply`, {});
		/** Time of the kill, or of the restart if no other process runs. */
		let sinceMs = 0;
		// The kill happens while the job is locked, so that the import makes no progress however slow this process is.
		const killInTheMiddle = () =>
			store.transact(async (trx) => {
				await trx
					.updateTable("jobs")
					.set((eb) => ({ id: eb.ref("id") }))
					.execute();
				const { done_rows } = await trx.selectFrom("jobs").select("done_rows").executeTakeFirstOrThrow();
				if (done_rows < 1_000) return false;
				first.kill("SIGKILL");
				sinceMs = performance.now();
				await first.ended();
				return true;
			});
		await until(killInTheMiddle);
		const stored = await count();
		ok(stored < ROWS, "killed in the middle");
		equal(stored % 500, 0, "whole batches");
		equal((await job()).done_rows, stored, "and it is known how many");
		if (kind === "SQLite") {
			const restarted = serve();
			others.push(restarted);
			await listening(restarted);
			sinceMs = performance.now();
		}
		await until(async () => (await job()).done_rows > stored);
		const tookMs = performance.now() - sinceMs;
		t.diagnostic(`a batch was stored after ${Math.round(tookMs)} ms`);
		ok(tookMs < CONTINUES_WITHIN_MS, `it continued after ${Math.round(tookMs)} ms`);
		await until(
			async () => (await job()).state === "done",
			() => others.map(({ stderr }) => stderr).join("\n"),
		);
		equal(await count(), ROWS);
		match((await job()).summary ?? "", new RegExp(`"change":${ROWS},"already":0,"refused":0`));
		const moves = await store.db
			.selectFrom("moves")
			.select("id")
			.where("programme_id", "=", programme.id)
			.execute();
		equal(moves.length, ROWS);
		deepEqual(await store.db.selectFrom("events").select("id").execute(), []);
		for (const other of others) other.kill("SIGTERM");
		for (const other of others) equal((await other.ended()).code, 0);
		await store.close();
	});
}
