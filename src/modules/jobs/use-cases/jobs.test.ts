// Tests jobs from upload to result, with stops, crashes and several processes, on both databases.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MEGABYTE } from "#core/domain/bytes.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { createMailDispatcher } from "#core/mail/dispatcher.ts";
import { endAccess } from "#core/people/end-access.ts";
import { LIMITS, useLimits } from "#core/people/limits.ts";
import { listAudit } from "#core/store/queries/audit-list.ts";
import type { Person } from "#core/store/queries/people.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { createLog } from "../../../../test/support/log.ts";
import { newId } from "../../../../test/support/rows.ts";
import { until } from "../../../../test/support/until.ts";
import { checkLedger } from "../../../service/check-ledger.ts";
import { startChore } from "../../../watch/chores.ts";
import { claimJob, findJob, type Job, listJobs, moveJob, sumUnfinishedJobs } from "../store/jobs.ts";
import { CLAIM_MS, RETRY_MS } from "./claim.ts";
import { discardJob, startJob, stopJob } from "./job.ts";
import {
	actorOf,
	createInterruption,
	createJobSetup,
	fileOf,
	history,
	type JobDeps,
	never,
	openJobs,
	reload,
	resultOf,
	runLines,
	summaryOf,
} from "./jobs.test-support.ts";
import { IMPORT_KINDS, JOB_KINDS } from "./kinds.ts";
import { jobResult, readFailure } from "./lines.ts";
import { uploadFile } from "./make-job.ts";
import { createJobWork, workOffJobs } from "./work.ts";

/** Moves the clock until the work has ended, because a process pauses after a batch during which the clock moved. */
async function onMovingClock({ clock }: JobDeps, work: Promise<void>): Promise<void> {
	let hasEnded = false;
	const ending = work.finally(() => {
		hasEnded = true;
	});
	await until(async () => {
		if (!hasEnded) await clock.moveBy(1_000);
		return hasEnded;
	});
	await ending;
}

eachDatabase("a file that is uploaded", (database) => {
	const { open, addPerson, upload, countConversions } = createJobSetup(database);

	test("has the same preview as with the command, and applying it imports exactly that in the name of the person who started it", async () => {
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
		const said = await runLines(openJobs(database.store), "conversions", lines, "preview");
		const job = await upload(deps, staff, "conversions", lines);
		await workOffJobs(deps, never);
		equal((await reload(deps, job)).state, "previewed");
		deepEqual(await summaryOf(deps, job), said.summary);
		deepEqual(said.summary.counts, { change: 2, already: 1, refused: 3 });
		equal(await countConversions(programme), 0, "a preview stores nothing");

		const other = await addPerson();
		deepEqual(await startJob(deps, await reload(deps, job), actorOf(other), false), {
			ok: true,
			value: "started",
		});
		const twice = await startJob(
			deps,
			{ ...(await reload(deps, job)), state: "previewed" },
			actorOf(staff),
			false,
		);
		deepEqual(twice, { ok: true, value: "already" }, "two people press the button, and the job starts once");
		await workOffJobs(deps, never);
		equal((await reload(deps, job)).state, "done");
		deepEqual(await summaryOf(deps, job), said.summary);
		equal(await countConversions(programme), 2);
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
		const result = await resultOf(deps, job);
		deepEqual(
			result.split("\r\n").map((line) => line.split(",").slice(0, 2).join(" ")),
			[
				"\u{FEFF}line result",
				...["2 imported", "3 imported", "4 no_change_needed", "5 needs_fixing", "6 needs_fixing"],
				"7 needs_fixing",
				"",
			],
		);
		const toFix = await resultOf(deps, job, true);
		equal(toFix.split("\r\n").length, 5, "a header and three lines");
	});

	test("is removed when it is discarded or left for three days, but the counts of an applied file stay", async () => {
		const { deps, staff, programme } = await open();
		const lines = history(programme, 700);
		const linesOf = async ({ id }: Job) =>
			(await deps.store.db.selectFrom("job_lines").select("seq").where("job_id", "=", id).execute()).length;
		const [discarded, left, done] = [
			await upload(deps, staff, "conversions", lines),
			await upload(deps, staff, "conversions", lines),
			await upload(deps, staff, "conversions", lines),
		];
		ok((await discardJob(deps, await reload(deps, discarded), actorOf(staff))).ok);
		await workOffJobs(deps, never);
		equal(await findJob(deps.store.db, null, discarded.public_id), undefined);
		equal(await linesOf(discarded), 0);
		ok((await startJob(deps, await reload(deps, done), actorOf(staff), false)).ok);
		await workOffJobs(deps, never);
		await deps.clock.moveBy(3 * DAY_MS);
		await workOffJobs(deps, never);
		equal((await reload(deps, left)).state, "previewed", "it stays for three days");
		const [first] = await listJobs(deps.store.db, null, IMPORT_KINDS, 1);
		equal(
			first?.public_id,
			left.public_id,
			"an open job is listed before a finished one, although it is older",
		);
		await deps.clock.moveBy(1);
		await workOffJobs(deps, never);
		equal(await findJob(deps.store.db, null, left.public_id), undefined);
		deepEqual([await linesOf(left), await linesOf(done)], [0, 0]);
		const { state, lines: kept } = await reload(deps, done);
		deepEqual([state, kept, (await summaryOf(deps, done)).counts.change], ["done", "gone", 700]);
		const { rows } = await listAudit(deps.store.db, {}, { limit: 1 });
		deepEqual(
			rows.map(({ action, email, detail }) => [action, email, detail]),
			[["import.discarded", null, "not applied within three days"]],
		);
	});

	test("has a result download that fails if the lines are removed meanwhile", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 1_200));
		await workOffJobs(deps, never);
		const whole = await Array.fromAsync(jobResult(deps.store.db, await reload(deps, job), false));
		equal(whole.join("").split("\r\n").length, 1_202, "with a header");
		const result = jobResult(deps.store.db, await reload(deps, job), false);
		await result.next();
		await result.next();
		ok((await discardJob(deps, await reload(deps, job), actorOf(staff))).ok);
		await workOffJobs(deps, never);
		await rejects(Array.fromAsync(result), /removed while they were read/);
	});

	test("cannot be started if another person has discarded or stopped it meanwhile", async () => {
		const { deps, staff, programme } = await open();
		const start = async (job: Job) => {
			const started = await startJob(deps, job, actorOf(staff), false);
			return started.ok ? started.value : started.fault.detail;
		};
		const prepare = async () => {
			const job = await upload(deps, staff, "conversions", history(programme, 3));
			await workOffJobs(deps, never);
			return reload(deps, job);
		};
		const discarded = await prepare();
		ok((await discardJob(deps, discarded, actorOf(staff))).ok);
		const gone = "This file was discarded, and nothing was changed. Upload it again.";
		equal(await start(discarded), gone);
		await workOffJobs(deps, never);
		equal(await start(discarded), gone, "the answer is the same after its lines are removed");

		const previewed = await prepare();
		equal(await start(previewed), "started");
		equal(await start(previewed), "already");
		ok((await stopJob(deps, await reload(deps, previewed), actorOf(staff))).ok);
		equal(await start(previewed), "Another person has stopped this job. Check it, then continue it.");
		const stopped = await reload(deps, previewed);
		ok(await moveJob(deps.store.db, stopped.id, ["stopped"], { lines: "going" }));
		equal(
			await start(stopped),
			"The lines of this file were removed, because they were discarded or three days have passed. Upload it again.",
		);
	});

	test("invites people if this was chosen, up to the limit for an hour", async () => {
		const { deps, staff, programme } = await open();
		const mails = createMailDispatcher({
			...deps,
			log: createLog(),
			keyRing: createKeyRing([new Uint8Array(32)]),
			mailer: { send: async () => null },
		});
		const use = { limit: LIMITS.importedInvitations, subject: String(staff.id) };
		for (let used = 2; used < LIMITS.importedInvitations.max; used++) {
			equal(await useLimits(deps.store.db, [use], deps.clock.nowMs()), null);
		}
		const emails = ["one", "two", "three"].map((name) => `${name}@${newId("usr")}.example`.toLowerCase());
		const lines = [
			"email,programme,role",
			...emails.map((email) => `${email},${programme.public_id},viewer`),
		];
		const job = await upload(deps, staff, "people", lines);
		await workOffJobs({ ...deps, mails }, never);
		ok((await startJob(deps, await reload(deps, job), actorOf(staff), true)).ok);
		await workOffJobs({ ...deps, mails }, never);
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
		const { counts, remarks } = await summaryOf(deps, job);
		deepEqual([counts.change, remarks], [3, 1], "the third is added without a mail");
		const text = await resultOf(deps, job);
		match(text, /4,imported,"?Added without a mail: 200 invitations were mailed within an hour\./);
		const links = await deps.store.db
			.selectFrom("sign_in_links")
			.select("made_by")
			.where("made_by", "=", staff.id)
			.execute();
		equal(links.length, 2, "the links belong to the person who started the import");
	});

	test("is processed by the chore when the chore is woken, and otherwise at its interval", async () => {
		const { deps, staff, programme } = await open();
		const log = createLog();
		const chore = startChore({ ...deps, log }, "jobs", createJobWork(deps));
		const announced = await upload(deps, staff, "conversions", history(programme, 3));
		chore.runSoon();
		await until(async () => (await reload(deps, announced)).state === "previewed");
		const found = await upload(deps, staff, "conversions", history(programme, 3));
		await until(async () => {
			await deps.clock.moveBy(10_000);
			return (await reload(deps, found)).state === "previewed";
		});
		await onMovingClock(deps, chore.stop());
		deepEqual([deps.clock.waitingTimers, log.lines], [0, []]);
	});
});

eachDatabase("work on an uploaded file", (database) => {
	const { open, upload, countConversions } = createJobSetup(database);

	test("continues after the last stored batch when its process stops or dies, and no line counts twice", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 1_700));
		await workOffJobs(deps, never);
		ok((await startJob(deps, await reload(deps, job), actorOf(staff), false)).ok);
		let looks = 0;
		// `isStopping` is called before the claim and before each batch, so the work stops after the first batch.
		await workOffJobs(deps, () => ++looks > 2);
		deepEqual([(await reload(deps, job)).state, await countConversions(programme)], ["applying", 500]);
		// The claim of a process that died stays in the database.
		const nowMs = deps.clock.nowMs();
		ok(await claimJob(deps.store, "the dead", nowMs, nowMs + CLAIM_MS));
		await workOffJobs({ ...deps, store: database.rival }, never);
		equal(await countConversions(programme), 500, "another process has the claim");
		await deps.clock.moveBy(CLAIM_MS);
		await workOffJobs({ ...deps, store: database.rival }, never);
		const { state, done_rows } = await reload(deps, job);
		deepEqual([state, done_rows, await countConversions(programme)], ["done", 1_700, 1_700]);
		deepEqual((await summaryOf(deps, job)).counts, { change: 1_700, already: 0, refused: 0 });
	});

	test("stores nothing of a batch that fails in the middle, and tries it again", async () => {
		const { deps, staff } = await open();
		const name = newId("prg");
		const lines = [
			"programme,owner_email,currency,commission,fee,approval_days",
			...["a", "b", "c"].map((shop) => `${name} ${shop},${shop}@${name}.example,EUR,7,2,30`),
		];
		const job = await upload(deps, staff, "programmes", lines);
		await workOffJobs(deps, never);
		ok((await startJob(deps, await reload(deps, job), actorOf(staff), false)).ok);
		let ids = 0;
		const bytes = (length: number) => {
			ids += 1;
			if (ids === 4) throw new Error("out of luck");
			return deps.random.bytes(length);
		};
		const failing = { ...deps, random: { ...deps.random, bytes } };
		await workOffJobs(failing, never).then(
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
		deepEqual(readFailure((await reload(deps, job)).failure), {
			...{ cause: "unexpected", firstLine: 2, lastLine: 4 },
			atMs: deps.clock.nowMs(),
		});
		await deps.clock.moveBy(RETRY_MS.unexpected - 1);
		await workOffJobs(deps, never);
		equal(await count(), 0, "it is tried again later");
		await deps.clock.moveBy(1);
		await workOffJobs(deps, never);
		deepEqual([(await reload(deps, job)).state, await count()], ["done", 3]);
		equal((await reload(deps, job)).failure, null);
		deepEqual((await summaryOf(deps, job)).counts, { change: 3, already: 0, refused: 0 });
	});

	test("is shared by two processes, and the same file uploaded twice is imported once", async () => {
		const { deps, staff, programme } = await open();
		const jobs = [
			await upload(deps, staff, "conversions", history(programme, 1_200)),
			await upload(deps, staff, "conversions", history(programme, 1_200)),
		];
		const rival = { ...deps, store: database.rival };
		const both = () => Promise.all([workOffJobs(deps, never), workOffJobs(rival, never)]);
		await both();
		for (const job of jobs) ok((await startJob(deps, await reload(deps, job), actorOf(staff), false)).ok);
		await both();
		equal(await countConversions(programme), 1_200);
		const counts = await Promise.all(jobs.map(async (job) => (await summaryOf(deps, job)).counts));
		equal(
			counts.reduce((sum, each) => sum + each.change, 0),
			1_200,
		);
		equal(
			counts.reduce((sum, each) => sum + each.already, 0),
			1_200,
		);
		deepEqual(await Promise.all(jobs.map(async (job) => (await reload(deps, job)).state)), ["done", "done"]);
	});

	test("ends when the claim is lost or the job is stopped, and can be continued", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 1_700));
		await workOffJobs(deps, never);
		ok((await startJob(deps, await reload(deps, job), actorOf(staff), false)).ok);
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
			ok(await claimJob(database.rival, "the other", late, late + CLAIM_MS));
		});
		await workOffJobs(robbed, never);
		equal(await countConversions(programme), 500);
		await deps.clock.moveBy(3 * CLAIM_MS);
		const stopped = afterOneBatch(async () => {
			ok((await stopJob(deps, await reload(deps, job), actorOf(staff))).ok);
		});
		await workOffJobs(stopped, never);
		deepEqual([(await reload(deps, job)).state, await countConversions(programme)], ["stopped", 1_000]);
		const files = async () => await resultOf(deps, job);
		equal((await files()).match(/,imported,/g)?.length, 1_000);
		equal((await files()).match(/,will_be_imported,/g)?.length, 700);
		deepEqual(await startJob(deps, await reload(deps, job), actorOf(staff), false), {
			ok: true,
			value: "started",
		});
		await workOffJobs(deps, never);
		deepEqual([(await reload(deps, job)).state, await countConversions(programme)], ["done", 1_700]);
		deepEqual((await summaryOf(deps, job)).counts, { change: 1_700, already: 0, refused: 0 });
		const late = await discardJob(deps, await reload(deps, job), actorOf(staff));
		equal(late.ok, false, "a finished job stays on record");
	});

	test("stays with its process while a batch takes long, and another process that takes it makes the first one store nothing", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 700));
		await workOffJobs(deps, never);
		ok((await startJob(deps, await reload(deps, job), actorOf(staff), false)).ok);
		const rival = { ...deps, store: database.rival };
		const before = (act: () => Promise<void>): JobDeps => {
			let isFirst = true;
			const transact: typeof deps.store.transact = async (work, options) => {
				if (isFirst) {
					isFirst = false;
					await act();
				}
				return deps.store.transact(work, options);
			};
			return { ...deps, store: { ...deps.store, transact } };
		};
		const waited = Promise.withResolvers<void>();
		const slow = before(async () => {
			for (let waitedMs = 0; waitedMs < 3 * CLAIM_MS; waitedMs += 750) {
				await deps.clock.moveBy(750);
				const untilMs = deps.clock.nowMs() + CLAIM_MS;
				await until(async () => (await reload(deps, job)).claim_until_ms === untilMs);
				await workOffJobs(rival, never);
			}
			equal(await countConversions(programme), 0, "the rival has not taken it");
			waited.resolve();
		});
		let looks = 0;
		const work = workOffJobs(slow, () => ++looks > 2);
		await Promise.race([waited.promise, work]);
		await onMovingClock(deps, work);
		equal(await countConversions(programme), 500);

		// A suspended process renews nothing. Its timers fire when it continues.
		const suspended = before(async () => {
			const { claim_until_ms: untilMs } = await reload(deps, job);
			const later = { ...rival, clock: { ...deps.clock, nowMs: () => untilMs } };
			await workOffJobs(later, never);
			equal((await reload(deps, job)).state, "done", "the rival has taken it");
		});
		await workOffJobs(suspended, never);
		deepEqual([(await reload(deps, job)).state, await countConversions(programme)], ["done", 700]);
		deepEqual((await summaryOf(deps, job)).counts, { change: 700, already: 0, refused: 0 });
		equal(deps.clock.waitingTimers, 0, "no renewal is left");
	});

	test("of several files takes turns, so that a long one does not hold up the others", async () => {
		const { deps, staff, programme } = await open();
		const long = await upload(deps, staff, "conversions", history(programme, 5_000));
		const short = await upload(deps, staff, "conversions", history(programme, 3));
		let yields = 0;
		let rowsWhenShortEnded: number | null = null;
		const yieldLoop = async () => {
			yields += 1;
			await deps.clock.moveBy(500);
			const [{ state }, { done_rows }] = [await reload(deps, short), await reload(deps, long)];
			if (state === "previewed") rowsWhenShortEnded ??= done_rows;
		};
		await workOffJobs({ ...deps, clock: { ...deps.clock, yieldLoop } }, never);
		equal(rowsWhenShortEnded, 1_000, "the first file has had two batches, in one second");
		deepEqual([yields, (await reload(deps, long)).state], [11, "previewed"]);
	});

	test("leaves the next file alone when another process has already cleared the old one", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 3));
		ok((await discardJob(deps, await reload(deps, job), actorOf(staff))).ok);
		ok(await moveJob(deps.store.db, job.id, ["discarded"], { lines: "going" }));
		const late = createInterruption(deps.store);
		let next = job;
		late.afterReading(job, async () => {
			await workOffJobs({ ...deps, store: database.rival }, never);
			next = await upload(deps, staff, "conversions", history(programme, 3));
		});
		await workOffJobs({ ...deps, store: late.store }, never);
		ok(late.hasHappened);
		equal((await reload(deps, next)).state, "uploaded");
		await workOffJobs(deps, never);
		equal((await reload(deps, next)).state, "previewed", "its lines are still there");
	});
});

eachDatabase("a file that is being uploaded", (database) => {
	const { open } = createJobSetup(database);

	/** Uploads a file in six parts, and calls `between` before each part except the first. */
	function uploadSlowly(deps: JobDeps, staff: Person, programme: Programme, between: () => Promise<void>) {
		const lines = history(programme, 3_300);
		async function* read() {
			for (let at = 0; at < lines.length; at += 601) {
				if (at > 0) await between();
				yield new TextEncoder().encode(`${lines.slice(at, at + 601).join("\n")}\n`);
			}
		}
		const file = { read, name: "slow.csv", bytes: 50 * MEGABYTE };
		return uploadFile(deps, JOB_KINDS.conversions, { actor: actorOf(staff) }, file);
	}

	const listAll = ({ store: { db } }: JobDeps) =>
		Promise.all([
			db.selectFrom("job_lines").select("seq").execute(),
			db.selectFrom("jobs").select("id").execute(),
		]);

	test("leaves nothing behind and no longer counts towards the limits if the upload breaks off", async () => {
		const { deps, staff, programme } = await open();
		let parts = 0;
		const broken = uploadSlowly(deps, staff, programme, async () => {
			parts += 1;
			if (parts === 2) throw new Error("the disk");
		});
		await rejects(broken, /the disk/);
		deepEqual(await sumUnfinishedJobs(deps.store.db, null), { files: 0, bytes: 0 });
		await workOffJobs(deps, never);
		deepEqual(await listAll(deps), [[], []]);
	});

	test("is cleared five minutes after its process died, and stores no line after that", async () => {
		const { deps, staff, programme } = await open();
		const late = uploadSlowly(deps, staff, programme, async () => {
			// The reader pauses ahead of the store, so the lines before the pause may be stored after the clock moved.
			await until(async () => {
				await deps.clock.moveBy(5 * MINUTE_MS + 1);
				await workOffJobs(deps, never);
				return (await listAll(deps)).flat().length === 0;
			});
		});
		await rejects(late, /cleared before its last line was stored/);
		deepEqual(await listAll(deps), [[], []]);
	});

	test("may take longer than five minutes in all, if lines keep arriving", async () => {
		const { deps, staff, programme } = await open();
		const uploaded = await uploadSlowly(deps, staff, programme, async () => {
			// The five pauses together are longer than the upload's claim. A single pause is much shorter than the
			// claim, because the reader may pause several times before the next lines are stored.
			await deps.clock.moveBy(1.5 * MINUTE_MS);
			await workOffJobs(deps, never);
		});
		ok(uploaded.ok, JSON.stringify(uploaded));
		await workOffJobs(deps, never);
		const { state, row_count: rows } = await reload(deps, uploaded.value);
		deepEqual([state, rows], ["previewed", 3_300]);
	});
});

eachDatabase("somebody whose access ends", (database) => {
	const { open, addPerson, upload, countConversions } = createJobSetup(database);

	const end = ({ store, clock }: JobDeps, person: Person) =>
		store.transact((trx) => endAccess(trx, person.id, { endedBy: null, nowMs: clock.nowMs() }));

	test("has their running imports stopped, and others can continue them", async () => {
		const { deps, staff, programme } = await open();
		const other = await addPerson();
		const prepare = async (person: Person) => {
			const job = await upload(deps, person, "conversions", history(programme, 1_200));
			await workOffJobs(deps, never);
			return reload(deps, job);
		};
		const [begun, waiting, ofOther] = [await prepare(staff), await prepare(staff), await prepare(staff)];
		const idle = await prepare(other);
		ok((await startJob(deps, begun, actorOf(staff), false)).ok);
		let looks = 0;
		await workOffJobs(deps, () => ++looks > 2);
		equal(await countConversions(programme), 500);
		ok((await startJob(deps, ofOther, actorOf(other), false)).ok);
		await deps.clock.moveBy(1_000);
		const nowMs = deps.clock.nowMs();
		equal((await end(deps, staff)).jobs, 1);
		await workOffJobs(deps, never);

		const { state, done_rows, access_ended_at_ms, finished_at_ms } = await reload(deps, begun);
		deepEqual([state, done_rows, access_ended_at_ms, finished_at_ms], ["stopped", 500, nowMs, nowMs]);
		const waits = await reload(deps, waiting);
		deepEqual([waits.state, waits.access_ended_at_ms], ["previewed", nowMs]);
		for (const [job, stays] of [
			[ofOther, "done"],
			[idle, "previewed"],
		] as const) {
			const { state, access_ended_at_ms } = await reload(deps, job);
			deepEqual([state, access_ended_at_ms], [stays, null], "the jobs of other people continue");
		}
		const { rows } = await listAudit(deps.store.db, { action: "import.stopped" }, { limit: 1 });
		deepEqual(
			rows.map(({ email, subject, detail }) => [email, subject, detail]),
			[[null, "conversions.csv", `the access of ${staff.email} ended`]],
		);

		ok((await startJob(deps, await reload(deps, begun), actorOf(other), false)).ok);
		await workOffJobs(deps, never);
		const done = await reload(deps, begun);
		deepEqual([done.state, done.access_ended_at_ms, done.applied_by], ["done", null, other.id]);
	});

	test("starts, stops, discards and uploads nothing with a request that began before", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 3));
		await workOffJobs(deps, never);
		const before = await reload(deps, job);
		await end(deps, staff);
		const file = { ...fileOf(history(programme, 3).join("\n")), name: "late.csv", bytes: 100 };
		for (const refused of [
			await startJob(deps, before, actorOf(staff), false),
			await discardJob(deps, before, actorOf(staff)),
			await stopJob(deps, before, actorOf(staff)),
			await uploadFile(deps, JOB_KINDS.conversions, { actor: actorOf(staff) }, file),
		]) {
			match(refused.ok ? "" : refused.fault.detail, /You have been signed out\. Nothing was changed/);
		}
		await workOffJobs(deps, never);
		deepEqual([(await reload(deps, job)).state, await countConversions(programme)], ["previewed", 0]);
	});

	test("a stopped job can be discarded, which removes its lines at once and leaves the record of its changes", async () => {
		const { deps, staff, programme } = await open();
		const job = await upload(deps, staff, "conversions", history(programme, 700));
		await workOffJobs(deps, never);
		ok((await startJob(deps, await reload(deps, job), actorOf(staff), false)).ok);
		ok((await stopJob(deps, await reload(deps, job), actorOf(staff))).ok);
		const discard = async () => discardJob(deps, await reload(deps, job), actorOf(staff));
		deepEqual(await discard(), { ok: true, value: "rest discarded" });
		deepEqual(await discard(), { ok: true, value: "rest discarded" }, "a second time, too");
		equal((await startJob(deps, await reload(deps, job), actorOf(staff), false)).ok, false);
		await workOffJobs(deps, never);
		const { state, lines } = await reload(deps, job);
		deepEqual([state, lines], ["stopped", "gone"]);
		const left = deps.store.db.selectFrom("job_lines").select("seq").where("job_id", "=", job.id);
		deepEqual(await left.execute(), []);
	});
});
