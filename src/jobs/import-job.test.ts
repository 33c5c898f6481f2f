// Uploaded files from their first line to their end, over both databases.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { createLog } from "../../test/support/log.ts";
import { newId } from "../../test/support/rows.ts";
import { until } from "../../test/support/until.ts";
import { DAY_MS } from "../domain/time.ts";
import { createMailDispatcher } from "../mail/dispatcher.ts";
import { IMPORTED_INVITATIONS, useLimits } from "../people/limits.ts";
import { listAudit } from "../store/queries/audit-list.ts";
import { findImport, type ImportJob, listImports, moveImport } from "../store/queries/import-jobs.ts";
import { checkLedger } from "../store/queries/ledger.ts";
import { startImportChore } from "../watch/chores.ts";
import { discardImport, startImport, stopImport } from "./import-job.ts";
import { createJobSetup, history, makerOf, never } from "./import-jobs.test-support.ts";
import { workOffImports } from "./import-work.ts";
import { importDeps, runLines } from "./imports.test-support.ts";
import { importResult } from "./job-result.ts";

eachDatabase("a file that is uploaded", (database) => {
	const { open, addStaff, upload, reload, summaryOf, countImported } = createJobSetup(database);

	test("says in its preview what the command says, and brings in just that, in the name of whoever pressed the button", async () => {
		const { deps, staff, programme } = await open();
		const id = programme.public_id;
		const lines = [
			"programme;order_id;status;sold_at;amount;reason",
			`${id};A-1;approved;2025-02-01;12,50;`,
			`${id};A-2;rejected;2025-02-01;7;Out of stock`,
			`${id};A-1;approved;2025-02-01;12,50;`,
			`${id};A-3;approved;2025-02-01;1;`,
			`${id};A-3;approved;2025-02-01;2;`,
			`${id};A-4;pending;2025-02-01;2;`,
		];
		const said = await runLines(importDeps(database.store), "conversions", lines, "preview");
		const job = await upload(deps, staff, "conversions", lines);
		await workOffImports(deps, never);
		equal((await reload(job)).state, "previewed");
		deepEqual(await summaryOf(job), said.summary);
		deepEqual(said.summary.counts, { import: 2, already: 1, refused: 3 });
		deepEqual(said.summary.programmes, [
			{
				...{ id, name: programme.name, currency: "EUR", rows: 2 },
				...{ basket: "19.50", commission: "1.47", fee: "0.39" },
			},
		]);
		equal(await countImported(programme), 0, "a preview stores nothing");

		const other = await addStaff();
		deepEqual(await startImport(deps, await reload(job), makerOf(other), false), {
			ok: true,
			value: "started",
		});
		const twice = await startImport(
			deps,
			{ ...(await reload(job)), state: "previewed" },
			makerOf(staff),
			false,
		);
		deepEqual(twice, { ok: true, value: "already" }, "of two who press the button one is taken");
		await workOffImports(deps, never);
		equal((await reload(job)).state, "done");
		deepEqual(await summaryOf(job), said.summary);
		equal(await countImported(programme), 2);
		const { rows } = await listAudit(database.store.db, {}, { limit: 3 });
		deepEqual(
			rows.map(({ action, email, subject, detail }) => [action, email, subject, detail]),
			[
				[
					...["import.finished", other.email, "conversions.csv"],
					"conversions: 2 imported, 1 already there, 3 need fixing",
				],
				["import.started", other.email, "conversions.csv", "6 conversions"],
				["import.prepared", staff.email, "conversions.csv", "6 conversions"],
			],
		);
		const moves = await database.store.db
			.selectFrom("moves")
			.innerJoin("conversions", "conversions.id", "moves.conversion_id")
			.select(["move", "person_id"])
			.where("conversions.programme_id", "=", programme.id)
			.execute();
		deepEqual(
			moves.map(({ move, person_id }) => [move, person_id]),
			[
				["import", other.id],
				["import", other.id],
			],
		);
		for (const table of ["events", "deliveries", "queue", "mail_queue"] as const) {
			deepEqual(await database.store.db.selectFrom(table).selectAll().execute(), [], table);
		}
		const { broken } = await checkLedger(database.store);
		deepEqual(broken, []);
		const result = (await Array.fromAsync(importResult(database.store.db, await reload(job), false))).join(
			"",
		);
		deepEqual(
			result.split("\r\n").map((line) => line.split(",").slice(0, 2).join(" ")),
			[
				"\u{FEFF}line result",
				...["2 imported", "3 imported", "4 no_change_needed", "5 needs_fixing", "6 needs_fixing"],
				"7 needs_fixing",
				"",
			],
		);
		const toFix = (await Array.fromAsync(importResult(database.store.db, await reload(job), true))).join("");
		equal(toFix.split("\r\n").length, 5, "a header and three lines");
	});

	test("is gone when it is discarded, or left for a day; of one that was brought in the counts stay", async () => {
		const { deps, staff, programme } = await open();
		const lines = history(programme, 700);
		const linesOf = async ({ id }: ImportJob) =>
			(await deps.store.db.selectFrom("import_batches").select("seq").where("job_id", "=", id).execute())
				.length;
		const [discarded, left, done] = [
			await upload(deps, staff, "conversions", lines),
			await upload(deps, staff, "conversions", lines),
			await upload(deps, staff, "conversions", lines),
		];
		ok((await discardImport(deps, await reload(discarded), staff.id)).ok);
		await workOffImports(deps, never);
		equal(await findImport(deps.store.db, discarded.public_id), undefined);
		equal(await linesOf(discarded), 0);
		ok((await startImport(deps, await reload(done), makerOf(staff), false)).ok);
		await workOffImports(deps, never);
		await deps.clock.moveBy(DAY_MS);
		await workOffImports(deps, never);
		equal((await reload(left)).state, "previewed", "a day and not a moment less");
		const [first] = await listImports(deps.store.db, 1);
		equal(first?.public_id, left.public_id, "before what is done, although that is newer");
		await deps.clock.moveBy(1);
		await workOffImports(deps, never);
		equal(await findImport(deps.store.db, left.public_id), undefined);
		deepEqual([await linesOf(left), await linesOf(done)], [0, 0]);
		const { state, lines: kept } = await reload(done);
		deepEqual([state, kept, (await summaryOf(done)).counts.import], ["done", "gone", 700]);
		const { rows } = await listAudit(deps.store.db, {}, { limit: 1 });
		deepEqual(
			rows.map(({ action, email, detail }) => [action, email, detail]),
			[["import.discarded", null, "not imported within a day"]],
		);
	});

	test("has no result that looks whole when its lines go while it is read", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 1_200));
		await workOffImports(deps, never);
		const whole = await Array.fromAsync(importResult(deps.store.db, await reload(job), false));
		equal(whole.join("").split("\r\n").length, 1_202, "with a header");
		const result = importResult(deps.store.db, await reload(job), false);
		await result.next();
		await result.next();
		ok((await discardImport(deps, await reload(job), staff.id)).ok);
		await workOffImports(deps, never);
		await rejects(Array.fromAsync(result), /removed while they were read/);
	});

	test("is not said to be under way when somebody else has discarded or stopped it meanwhile", async () => {
		const { deps, staff, programme } = await open();
		const start = async (job: ImportJob) => {
			const started = await startImport(deps, job, makerOf(staff), false);
			return started.ok ? started.value : started.fault.detail;
		};
		const prepare = async () => {
			const job = await upload(deps, staff, "conversions", history(programme, 3));
			await workOffImports(deps, never);
			return reload(job);
		};
		const discarded = await prepare();
		ok((await discardImport(deps, discarded, staff.id)).ok);
		const gone = "This file was discarded, and nothing was imported. Upload it again.";
		equal(await start(discarded), gone);
		await workOffImports(deps, never);
		equal(await start(discarded), gone, "nor once it is cleared");

		const previewed = await prepare();
		equal(await start(previewed), "started");
		equal(await start(previewed), "already");
		ok((await stopImport(deps, await reload(previewed), staff.id)).ok);
		equal(await start(previewed), "Somebody else has stopped this import. Look at it, then go on with it.");
		const stopped = await reload(previewed);
		ok(await moveImport(deps.store.db, stopped.id, ["stopped"], { lines: "going" }));
		equal(
			await start(stopped),
			"The lines of this file were removed: they are kept for a day, or until somebody discards them. Upload it again.",
		);
	});

	test("invites people where that was asked for, and not without end", async () => {
		const { deps, staff, programme } = await open();
		const mails = createMailDispatcher({
			...deps,
			log: createLog(),
			sealingKey: new Uint8Array(32),
			mailer: { send: async () => null },
		});
		const use = { limit: IMPORTED_INVITATIONS, subject: String(staff.id) };
		for (let used = 2; used < IMPORTED_INVITATIONS.max; used++) {
			equal(await useLimits(deps.store.db, [use], deps.clock.nowMs()), null);
		}
		const emails = ["one", "two", "three"].map((name) => `${name}@${newId("usr")}.example`.toLowerCase());
		const lines = [
			"email,programme,role",
			...emails.map((email) => `${email},${programme.public_id},viewer`),
		];
		const job = await upload(deps, staff, "people", lines);
		await workOffImports({ ...deps, mails }, never);
		ok((await startImport(deps, await reload(job), makerOf(staff), true)).ok);
		await workOffImports({ ...deps, mails }, never);
		await mails.stop();
		const sent = await deps.store.db
			.selectFrom("mail_queue")
			.select("to_address")
			.where("to_address", "in", emails)
			.orderBy("id")
			.execute();
		deepEqual(
			sent.map(({ to_address }) => to_address),
			emails.slice(0, 2),
		);
		const { counts, remarks } = await summaryOf(job);
		deepEqual([counts.import, remarks], [3, 1], "the third is added without a mail");
		const text = (await Array.fromAsync(importResult(deps.store.db, await reload(job), false))).join("");
		match(text, /4,imported,"?Added without a mail: 200 invitations were mailed within an hour\./);
		const links = await deps.store.db
			.selectFrom("links")
			.select("made_by")
			.where("made_by", "=", staff.id)
			.execute();
		equal(links.length, 2, "they end with the access of whoever made them");
	});

	test("is worked off by the chore when it is told to, and now and then by itself", async () => {
		const { deps, staff, programme } = await open();
		const log = createLog();
		const chore = startImportChore({ ...deps, log });
		const told = await upload(deps, staff, "conversions", history(programme, 3));
		chore.runSoon();
		await until(async () => (await reload(told)).state === "previewed");
		const found = await upload(deps, staff, "conversions", history(programme, 3));
		await until(async () => {
			await deps.clock.moveBy(10_000);
			return (await reload(found)).state === "previewed";
		});
		// The clock was moved while a batch was at work: the chore may rest now, by that clock.
		let hasStopped = false;
		const stopping = chore.stop().then(() => {
			hasStopped = true;
		});
		await until(async () => {
			await deps.clock.moveBy(1_000);
			return hasStopped;
		});
		await stopping;
		deepEqual([deps.clock.waitingTimers, log.lines], [0, []]);
	});
});
