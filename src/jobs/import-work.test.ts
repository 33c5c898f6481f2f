// Whoever works on uploaded files, and whenever they stop: over both databases.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { newId } from "../../test/support/rows.ts";
import { moveImport } from "../store/queries/import-jobs.ts";
import { claimJob } from "../store/queries/job-claims.ts";
import { readFailure } from "./batch-failure.ts";
import { CLAIM_MS } from "./claimed-jobs.ts";
import { discardImport, startImport, stopImport } from "./import-job.ts";
import {
	createInterruption,
	createJobSetup,
	history,
	type JobDeps,
	makerOf,
	never,
} from "./import-jobs.test-support.ts";
import { workOffImports } from "./import-work.ts";
import { watchLinkLock } from "./imports.test-support.ts";
import { importResult } from "./job-result.ts";

eachDatabase("work on an uploaded file", (database) => {
	const { open, upload, reload, summaryOf, countImported } = createJobSetup(database);

	test("goes on where it was when its process stops or dies, and no line counts twice", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 1_700));
		await workOffImports(deps, never);
		ok((await startImport(deps, await reload(job), makerOf(staff), false)).ok);
		let looks = 0;
		// Asked before each claim and each batch.
		await workOffImports(deps, () => ++looks > 2);
		deepEqual([(await reload(job)).state, await countImported(programme)], ["applying", 500]);
		// One that dies has its claim still.
		const nowMs = deps.clock.nowMs();
		ok(await claimJob(deps.store.db, "import_jobs", "the dead", nowMs, nowMs + CLAIM_MS));
		await workOffImports({ ...deps, store: database.rival }, never);
		equal(await countImported(programme), 500, "it is somebody's");
		await deps.clock.moveBy(CLAIM_MS);
		await workOffImports({ ...deps, store: database.rival }, never);
		const { state, done_rows } = await reload(job);
		deepEqual([state, done_rows, await countImported(programme)], ["done", 1_700, 1_700]);
		deepEqual((await summaryOf(job)).counts, { import: 1_700, already: 0, refused: 0 });
	});

	test("one that fails in the middle of a batch has stored nothing of it, and is tried again", async () => {
		const { deps, staff } = await open();
		const name = newId("prg");
		const lines = [
			"programme,owner_email,currency,commission,fee,approval_days",
			...["a", "b", "c"].map((shop) => `${name} ${shop},${shop}@${name}.example,EUR,7,2,30`),
		];
		const job = await upload(deps, staff, "programmes", lines);
		await workOffImports(deps, never);
		ok((await startImport(deps, await reload(job), makerOf(staff), false)).ok);
		let ids = 0;
		const bytes = (length: number) => {
			ids += 1;
			if (ids === 4) throw new Error("out of luck");
			return deps.random.bytes(length);
		};
		const failing = { ...deps, random: { ...deps.random, bytes } };
		await workOffImports(failing, never).then(
			() => ok(false, "it should have failed"),
			(error: unknown) => match(String(error), /out of luck/),
		);
		const count = async () =>
			(
				await database.store.db
					.selectFrom("programmes")
					.select("id")
					.where("name", "like", `${name}%`)
					.execute()
			).length;
		equal(await count(), 0);
		deepEqual(readFailure((await reload(job)).failure ?? ""), {
			...{ cause: "unexpected", firstLine: 2, lastLine: 4 },
			atMs: deps.clock.nowMs(),
		});
		await deps.clock.moveBy(CLAIM_MS);
		await workOffImports(deps, never);
		deepEqual([(await reload(job)).state, await count()], ["done", 3]);
		equal((await reload(job)).failure, null);
		deepEqual((await summaryOf(job)).counts, { import: 3, already: 0, refused: 0 });
	});

	test("two processes share the work, and the same file uploaded twice comes in once", async () => {
		const { deps, staff, programme } = await open();
		const jobs = [
			await upload(deps, staff, "conversions", history(programme, 1_200)),
			await upload(deps, staff, "conversions", history(programme, 1_200)),
		];
		const rival = { ...deps, store: database.rival };
		const both = () => Promise.all([workOffImports(deps, never), workOffImports(rival, never)]);
		await both();
		for (const job of jobs) ok((await startImport(deps, await reload(job), makerOf(staff), false)).ok);
		await both();
		equal(await countImported(programme), 1_200);
		const counts = await Promise.all(jobs.map(async (job) => (await summaryOf(job)).counts));
		equal(
			counts.reduce((sum, each) => sum + each.import, 0),
			1_200,
		);
		equal(
			counts.reduce((sum, each) => sum + each.already, 0),
			1_200,
		);
		deepEqual(await Promise.all(jobs.map(async (job) => (await reload(job)).state)), ["done", "done"]);
	});

	test("whoever lost the claim, or was told to stop, brings in nothing more; it can be gone on with", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 1_700));
		await workOffImports(deps, never);
		ok((await startImport(deps, await reload(job), makerOf(staff), false)).ok);
		const afterOneBatch = (act: () => Promise<void>): JobDeps => {
			let yields = 0;
			const yieldLoop = async () => {
				yields += 1;
				if (yields === 1) await act();
			};
			return { ...deps, clock: { ...deps.clock, yieldLoop } };
		};
		const robbed = afterOneBatch(async () => {
			const late = deps.clock.nowMs() + CLAIM_MS;
			ok(await claimJob(database.rival.db, "import_jobs", "the other", late, late + CLAIM_MS));
		});
		await workOffImports(robbed, never);
		equal(await countImported(programme), 500);
		await deps.clock.moveBy(3 * CLAIM_MS);
		const stopped = afterOneBatch(async () => {
			ok((await stopImport(deps, await reload(job), staff.id)).ok);
		});
		await workOffImports(stopped, never);
		deepEqual([(await reload(job)).state, await countImported(programme)], ["stopped", 1_000]);
		const files = async () =>
			(await Array.fromAsync(importResult(deps.store.db, await reload(job), false))).join("");
		equal((await files()).match(/,imported,/g)?.length, 1_000);
		equal((await files()).match(/,will_be_imported,/g)?.length, 700);
		deepEqual(await startImport(deps, await reload(job), makerOf(staff), false), {
			ok: true,
			value: "started",
		});
		await workOffImports(deps, never);
		deepEqual([(await reload(job)).state, await countImported(programme)], ["done", 1_700]);
		deepEqual((await summaryOf(job)).counts, { import: 1_700, already: 0, refused: 0 });
		const late = await discardImport(deps, await reload(job), staff.id);
		equal(late.ok, false, "what was done stays on record");
	});

	test("takes the lock of the links once, and before the job's own row", async () => {
		const { deps, staff, programme } = await open();
		const line = `${newId("usr").toLowerCase()}@shop.example,${programme.public_id},viewer`;
		const job = await upload(deps, staff, "people", ["email,programme,role", line]);
		await workOffImports(deps, never);
		ok((await startImport(deps, await reload(job), makerOf(staff), false)).ok);
		const { store, taken } = watchLinkLock(deps.store);
		await workOffImports({ ...deps, store }, never);
		equal((await reload(job)).state, "done");
		deepEqual(taken, [[1]]);
	});

	test("whoever clears a file that another has cleared already leaves the next one alone", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 3));
		ok((await discardImport(deps, await reload(job), staff.id)).ok);
		ok(await moveImport(deps.store.db, job.id, ["discarded"], { lines: "going" }));
		const late = createInterruption(deps.store);
		let next = job;
		late.afterReading(job, async () => {
			await workOffImports({ ...deps, store: database.rival }, never);
			next = await upload(deps, staff, "conversions", history(programme, 3));
		});
		await workOffImports({ ...deps, store: late.store }, never);
		ok(late.hasHappened);
		equal((await reload(next)).state, "uploaded");
		await workOffImports(deps, never);
		equal((await reload(next)).state, "previewed", "with its lines");
	});

	test("rests between two batches as long as one took, and never for long", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 1_200));
		const rests: number[] = [];
		let [nowMs, stepMs] = [deps.clock.nowMs(), 7];
		const clock = {
			...deps.clock,
			nowMs: () => {
				nowMs += stepMs;
				return nowMs;
			},
			after: (delayMs: number, run: () => void) => {
				rests.push(delayMs);
				run();
				return () => undefined;
			},
		};
		await workOffImports({ ...deps, clock }, never);
		equal((await reload(job)).state, "previewed");
		equal(rests.length, 3, "one for each batch");
		ok(rests.every((restMs) => restMs >= stepMs && restMs < 20 * stepMs));
		rests.length = 0;
		stepMs = 10_000;
		ok((await startImport(deps, await reload(job), makerOf(staff), false)).ok);
		await workOffImports({ ...deps, clock }, () => rests.length > 0);
		deepEqual(rests, [500]);
	});
});
