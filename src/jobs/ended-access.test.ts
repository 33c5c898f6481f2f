// Uploaded files of somebody whose access ends, over both databases.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { endAccess } from "../people/end-access.ts";
import { listAudit } from "../store/queries/audit-list.ts";
import type { Person } from "../store/queries/people.ts";
import { discardImport, startImport, stopImport } from "./import-job.ts";
import { createJobSetup, history, type JobDeps, makerOf, never } from "./import-jobs.test-support.ts";
import { importKind } from "./import-kinds.ts";
import { uploadImport } from "./import-upload.ts";
import { workOffImports } from "./import-work.ts";
import { fileOf } from "./imports.test-support.ts";

eachDatabase("somebody whose access ends", (database) => {
	const { open, addStaff, upload, reload, countImported } = createJobSetup(database);

	const end = ({ store, clock }: JobDeps, person: Person) =>
		store.transact((trx) => endAccess(trx, person, { endedBy: null, nowMs: clock.nowMs() }));

	test("brings in nothing more, and others go on with it", async () => {
		const { deps, staff, programme } = await open();
		const other = await addStaff();
		const prepare = async (by: Person) => {
			const job = await upload(deps, by, "conversions", history(programme, 1_200));
			await workOffImports(deps, never);
			return reload(job);
		};
		const [begun, waiting, ofOther] = [await prepare(staff), await prepare(staff), await prepare(staff)];
		const idle = await prepare(other);
		ok((await startImport(deps, begun, makerOf(staff), false)).ok);
		let looks = 0;
		await workOffImports(deps, () => ++looks > 2);
		equal(await countImported(programme), 500);
		ok((await startImport(deps, ofOther, makerOf(other), false)).ok);
		await deps.clock.moveBy(1_000);
		const nowMs = deps.clock.nowMs();
		equal((await end(deps, staff)).imports, 1);
		await workOffImports(deps, never);

		const { state, done_rows, access_ended_at_ms, finished_at_ms } = await reload(begun);
		deepEqual([state, done_rows, access_ended_at_ms, finished_at_ms], ["stopped", 500, nowMs, nowMs]);
		const waits = await reload(waiting);
		deepEqual([waits.state, waits.access_ended_at_ms], ["previewed", nowMs]);
		for (const [job, stays] of [
			[ofOther, "done"],
			[idle, "previewed"],
		] as const) {
			const { state, access_ended_at_ms } = await reload(job);
			deepEqual([state, access_ended_at_ms], [stays, null], "what hangs on somebody else");
		}
		const { rows } = await listAudit(deps.store.db, { action: "import.stopped" }, { limit: 1 });
		deepEqual(
			rows.map(({ email, subject, detail }) => [email, subject, detail]),
			[[null, "conversions.csv", `the access of ${staff.email} ended`]],
		);

		ok((await startImport(deps, await reload(begun), makerOf(other), false)).ok);
		await workOffImports(deps, never);
		const done = await reload(begun);
		deepEqual([done.state, done.access_ended_at_ms, done.applied_by], ["done", null, other.id]);
	});

	test("begins nothing with a request that came before, neither an import nor an upload", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 3));
		await workOffImports(deps, never);
		const before = await reload(job);
		await end(deps, staff);
		const file = { ...fileOf(history(programme, 3).join("\n")), name: "late.csv", bytes: 100 };
		for (const refused of [
			await startImport(deps, before, makerOf(staff), false),
			await uploadImport(deps, importKind("conversions"), makerOf(staff), file),
		]) {
			match(refused.ok ? "" : refused.fault.detail, /You have been signed out\. Nothing was changed/);
		}
		await workOffImports(deps, never);
		deepEqual([(await reload(job)).state, await countImported(programme)], ["previewed", 0]);
	});

	test("what was stopped can be discarded: the lines go at once, the record of what was done stays", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 700));
		await workOffImports(deps, never);
		ok((await startImport(deps, await reload(job), makerOf(staff), false)).ok);
		ok((await stopImport(deps, await reload(job), staff.id)).ok);
		const discard = async () => discardImport(deps, await reload(job), staff.id);
		deepEqual(await discard(), { ok: true, value: "rest discarded" });
		deepEqual(await discard(), { ok: true, value: "rest discarded" }, "a second time, too");
		equal((await startImport(deps, await reload(job), makerOf(staff), false)).ok, false);
		await workOffImports(deps, never);
		const { state, lines } = await reload(job);
		deepEqual([state, lines], ["stopped", "gone"]);
		const left = deps.store.db.selectFrom("import_batches").select("seq").where("job_id", "=", job.id);
		deepEqual(await left.execute(), []);
	});
});
