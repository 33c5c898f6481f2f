// Files while they are uploaded, over both databases: what is left of one that breaks off, and how many may wait at once.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { MEGABYTE } from "../domain/bytes.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import { findImport, insertImport, sumUnfinishedImports } from "../store/queries/import-jobs.ts";
import type { Person } from "../store/queries/people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { discardImport } from "./import-job.ts";
import { createJobSetup, history, type JobDeps, makerOf, never } from "./import-jobs.test-support.ts";
import { importKind } from "./import-kinds.ts";
import { MAX_WAITING_FILES, MAX_WAITING_MEGABYTES, uploadImport } from "./import-upload.ts";
import { workOffImports } from "./import-work.ts";
import { fileOf } from "./imports.test-support.ts";

eachDatabase("a file that is being uploaded", (database) => {
	const { open, reload } = createJobSetup(database);

	/** In three parts of several batches each; `between` happens after the first and after the second. */
	function uploadSlowly(deps: JobDeps, staff: Person, programme: Programme, between: () => Promise<void>) {
		const lines = history(programme, 3_300);
		async function* read() {
			for (let at = 0; at < lines.length; at += 1_101) {
				if (at > 0) await between();
				yield new TextEncoder().encode(`${lines.slice(at, at + 1_101).join("\n")}\n`);
			}
		}
		const file = { read, name: "slow.csv", bytes: 50 * MEGABYTE };
		return uploadImport(deps, importKind("conversions"), makerOf(staff), file);
	}

	const listAll = ({ store: { db } }: JobDeps) =>
		Promise.all([
			db.selectFrom("import_batches").select("seq").execute(),
			db.selectFrom("import_jobs").select("id").execute(),
		]);

	test("and breaks off takes no room from then on, and leaves nothing behind", async () => {
		const { deps, staff, programme } = await open();
		let parts = 0;
		const broken = uploadSlowly(deps, staff, programme, async () => {
			parts += 1;
			if (parts === 2) throw new Error("the disk");
		});
		await rejects(broken, /the disk/);
		deepEqual(await sumUnfinishedImports(deps.store.db), { files: 0, bytes: 0 });
		await workOffImports(deps, never);
		deepEqual(await listAll(deps), [[], []]);
	});

	test("and is left by a process that died is cleared after some minutes, and stores no line after that", async () => {
		const { deps, staff, programme } = await open();
		const late = uploadSlowly(deps, staff, programme, async () => {
			await deps.clock.moveBy(5 * MINUTE_MS + 1);
			await workOffImports(deps, never);
			deepEqual(await listAll(deps), [[], []]);
		});
		await rejects(late, /cleared before its last line was stored/);
		deepEqual(await listAll(deps), [[], []]);
	});

	test("may take longer than that, as long as it gets on", async () => {
		const { deps, staff, programme } = await open();
		const uploaded = await uploadSlowly(deps, staff, programme, async () => {
			await deps.clock.moveBy(4 * MINUTE_MS);
			await workOffImports(deps, never);
		});
		ok(uploaded.ok, JSON.stringify(uploaded));
		await workOffImports(deps, never);
		const { state, row_count: rows } = await reload(uploaded.value);
		deepEqual([state, rows], ["previewed", 3_300]);
	});
});

eachDatabase("files that wait", (database) => {
	const { open, upload, reload } = createJobSetup(database);

	for (const [what, files, bytesEach, words] of [
		[
			"so many",
			MAX_WAITING_FILES - 1,
			10,
			/: 50 files wait to be imported or discarded, 1 MB in all\. The limit is 50 files and 200 MB in total\./,
		],
		["so large", 1, MAX_WAITING_MEGABYTES * MEGABYTE - 1_000, /: 2 files wait .*, 200 MB in all\. The limit/],
	] as const) {
		test(`${what} that there is no room for another are told of, and room is made by discarding one`, async () => {
			const { deps, staff, programme } = await open();
			const nowMs = deps.clock.nowMs();
			await deps.store.db.deleteFrom("import_batches").execute();
			await deps.store.db.deleteFrom("import_jobs").execute();
			for (let at = 0; at < files; at++) {
				await insertImport(deps.store.db, {
					public_id: `imp_${what}_${at}`,
					kind: "people",
					file_name: "x.csv",
					file_bytes: bytesEach,
					person_id: staff.id,
					state: "previewed",
					invites: 0,
					row_count: 1,
					done_rows: 1,
					done_batches: 1,
					lines: "kept",
					claim_until_ms: 0,
					created_at_ms: nowMs,
				});
			}
			const last = await upload(deps, staff, "conversions", history(programme, 3));
			const lines = history(programme, 30).join("\n");
			const another = () =>
				uploadImport(deps, importKind("conversions"), makerOf(staff), {
					...fileOf(lines),
					name: "one more.csv",
					bytes: Buffer.byteLength(lines),
				});
			const refused = await another();
			equal(refused.ok ? "" : refused.fault.code, "too_many_uploads");
			match(refused.ok ? "" : refused.fault.detail, words);
			match(refused.ok ? "" : refused.fault.detail, /Import or discard some of those listed below/);
			equal((await reload(last)).state, "uploaded");
			const first = await findImport(deps.store.db, `imp_${what}_0`);
			ok(first !== undefined && (await discardImport(deps, first, staff.id)).ok);
			ok((await another()).ok);
			await deps.clock.moveBy(2 * DAY_MS);
			await workOffImports(deps, never);
		});
	}
});
