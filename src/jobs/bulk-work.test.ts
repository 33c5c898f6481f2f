import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { addConversion, addProgramme, newConversion } from "../../test/support/rows.ts";
import { until } from "../../test/support/until.ts";
import type { BulkJob } from "../store/queries/bulk-jobs.ts";
import { countVerdicts } from "../store/queries/bulk-rows.ts";
import { claimJob } from "../store/queries/job-claims.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { startBulkChore } from "../watch/chores.ts";
import { startApplying } from "./bulk-apply.ts";
import { bulkResult } from "./bulk-result.ts";
import {
	applyJob,
	type BulkDeps,
	OWNER,
	openBulk,
	reloadJob,
	rowsOfJob,
	STAFF,
	uploadLines,
} from "./bulk-setup.test-support.ts";
import { workOffJobs } from "./bulk-work.ts";

const CLAIM_MS = 30_000;

eachDatabase("many decisions", (database) => {
	const open = () => openBulk(database.store);
	const upload = (deps: BulkDeps, programme: Programme, lines: readonly string[], decider = OWNER) =>
		uploadLines(deps, programme, ["orderId,eventType,decision,reason", ...lines], decider);

	async function verdicts(deps: BulkDeps, job: BulkJob) {
		const rows = await rowsOfJob(deps, job);
		return rows.map((row) => [row.order_id, row.verdict, row.outcome]);
	}

	test("every row says what it would do; applying does exactly that and nothing twice", async () => {
		const deps = open();
		const programme = await addProgramme(deps.store);
		const add = (orderId: string, status: "RECORDED" | "APPROVED" | "PARKED" | "REJECTED") =>
			addConversion(deps.store, programme.id, { order_id: orderId, status });
		const recorded = await add("recorded", "RECORDED");
		await add("approved", "APPROVED");
		await add("parked", "PARKED");
		await add("reverse me", "APPROVED");
		const job = await upload(deps, programme, [
			"recorded,,approve,",
			"approved,,approve,",
			"parked,,approve,",
			"unknown,,approve,",
			"recorded,LEAD,approve,",
			"reverse me,SALE,reverse,RETURN",
			"bad,,reject,BORED",
		]);
		equal(job.state, "uploaded");
		await workOffJobs(deps, () => false);
		equal((await reloadJob(deps, job)).state, "previewed");
		deepEqual(await verdicts(deps, job), [
			["recorded", "change", null],
			["approved", "already", null],
			["parked", "refused", null],
			["unknown", "unknown", null],
			["recorded", "unknown", null],
			["reverse me", "change", null],
			["bad", "malformed", null],
		]);
		equal(await countEvents(deps), 0, "a preview sends nothing");
		// What the preview refused stays refused, also when it could be done by now.
		await deps.store.db
			.updateTable("conversions")
			.set({ status: "RECORDED" })
			.where("order_id", "=", "parked")
			.execute();
		const done = await applyJob(deps, job);
		equal(done.state, "done");
		deepEqual(await countVerdicts(deps.store.db, job.id), {
			change: 2,
			already: 1,
			refused: 1,
			unknown: 2,
			malformed: 1,
			left: 0,
		});
		const statuses = await deps.store.db
			.selectFrom("conversions")
			.select(["order_id", "status", "decided_by", "reason"])
			.where("programme_id", "=", programme.id)
			.orderBy("id")
			.execute();
		deepEqual(
			statuses.map((row) => [row.order_id, row.status, row.decided_by, row.reason]),
			[
				["recorded", "APPROVED", "shop", null],
				["approved", "APPROVED", null, null],
				["parked", "RECORDED", null, null],
				["reverse me", "REVERSED", "shop", "RETURN"],
			],
		);
		equal(await countEvents(deps), 2);
		const moves = await deps.store.db
			.selectFrom("moves")
			.selectAll()
			.where("conversion_id", "=", recorded.id)
			.execute();
		deepEqual(
			moves.map((move) => [move.move, move.person_id, move.decided_by]),
			[["approve", OWNER.personId, "shop"]],
		);
		const again = await startApplying(deps, done, OWNER);
		deepEqual(again, { ok: true, value: "already" });
		await workOffJobs(deps, () => false);
		equal(await countEvents(deps), 2, "applied twice, sent once");
		const result = await textOf(bulkResult(deps.store.db, done));
		match(result, /^\u{FEFF}line,orderId,eventType,decision,reason,result,detail,conversionId\r\n/u);
		match(result, /\r\n2,recorded,SALE,approve,,changed,,cnv_/);
		match(
			result,
			/\r\n5,unknown,SALE,approve,,unknown_order,"?This programme has no SALE with order id unknown/,
		);
		match(result, /\r\n6,recorded,LEAD,approve,,unknown_order,.*It is known as SALE/);
		match(result, /\r\n8,bad,SALE,reject,BORED,malformed,"reason must be one of/);
		const audit = await deps.store.db
			.selectFrom("audit_entries")
			.selectAll()
			.where("subject", "=", job.public_id)
			.execute();
		deepEqual(
			audit.map((entry) => [entry.action, entry.person_id, entry.detail]),
			[
				["decisions.prepared", 1, "7 rows"],
				["conversions.decided", 1, "2 of 7 to be changed"],
			],
		);
	});

	test("the review team's file may reject only, in its own name, and only they apply it", async () => {
		const deps = open();
		const programme = await addProgramme(deps.store);
		const fraud = await addConversion(deps.store, programme.id, { order_id: "fraud" });
		await addConversion(deps.store, programme.id, { order_id: "fine" });
		const job = await upload(deps, programme, ["fraud,,reject,FRAUD", "fine,,approve,"], STAFF);
		await workOffJobs(deps, () => false);
		deepEqual(await verdicts(deps, job), [
			["fraud", "change", null],
			["fine", "refused", null],
		]);
		const byOwner = await startApplying(deps, await reloadJob(deps, job), OWNER);
		ok(!byOwner.ok);
		equal(byOwner.fault.code, "not_allowed");
		await applyJob(deps, job, STAFF);
		const row = await deps.store.db
			.selectFrom("conversions")
			.selectAll()
			.where("id", "=", fraud.id)
			.executeTakeFirstOrThrow();
		deepEqual([row.status, row.decided_by, row.reason], ["REJECTED", "review", "FRAUD"]);
	});

	test("a job is worked off in batches, stops when asked, and another process goes on where it stopped", async () => {
		const deps = open();
		const { job, programme } = await uploadMany(deps, 1_200);
		await workOffJobs(deps, () => false);
		const started = await startApplying(deps, await reloadJob(deps, job), OWNER);
		ok(started.ok);
		let yields = 0;
		const slow = { ...deps, clock: { ...deps.clock, yieldLoop: async () => void yields++ } };
		await workOffJobs(slow, () => yields === 1);
		const half = await reloadJob(deps, job);
		deepEqual([half.state, half.done_rows], ["applying", 500]);
		equal(await countStatus(deps, programme, "APPROVED"), 500);
		// A clean stop gives the job back: nobody waits for a claim to lapse.
		await workOffJobs({ ...deps, store: database.rival }, () => false);
		equal((await reloadJob(deps, job)).state, "done");
		equal(await countStatus(deps, programme, "APPROVED"), 1_200);
		const events = await deps.store.db
			.selectFrom("events")
			.innerJoin("conversions", "conversions.id", "events.conversion_id")
			.select("events.id")
			.where("conversions.programme_id", "=", programme.id)
			.execute();
		equal(events.length, 1_200, "one event each");
	});

	test("a job whose process died is taken up when its claim has lapsed, and not before", async () => {
		const deps = open();
		const { job } = await uploadMany(deps, 3);
		const nowMs = deps.clock.nowMs();
		ok(await claimJob(deps.store.db, "bulk_jobs", "the dead", nowMs, nowMs + CLAIM_MS));
		await workOffJobs(deps, () => false);
		equal((await reloadJob(deps, job)).state, "uploaded", "it is somebody's");
		await deps.clock.moveBy(CLAIM_MS);
		await workOffJobs(deps, () => false);
		equal((await reloadJob(deps, job)).state, "previewed");
	});

	test("a process that lost its claim writes nothing more", async () => {
		const deps = open();
		const { job, programme } = await uploadMany(deps, 1_000);
		await workOffJobs(deps, () => false);
		ok((await startApplying(deps, await reloadJob(deps, job), OWNER)).ok);
		// After its first batch, everybody else's clock runs ahead and another process takes the job.
		let yields = 0;
		const yieldLoop = async () => {
			yields += 1;
			if (yields > 1) return;
			const late = deps.clock.nowMs() + CLAIM_MS;
			ok(await claimJob(database.rival.db, "bulk_jobs", "the other", late, late + CLAIM_MS));
		};
		await workOffJobs({ ...deps, clock: { ...deps.clock, yieldLoop } }, () => false);
		equal(await countStatus(deps, programme, "APPROVED"), 500);
		equal((await reloadJob(deps, job)).claim, "the other");
		await deps.clock.moveBy(3 * CLAIM_MS);
		await workOffJobs(deps, () => false);
		equal(await countStatus(deps, programme, "APPROVED"), 1_000);
	});

	test("the chore works when it is told to, looks by itself now and then, and leaves nothing behind", async () => {
		const deps = open();
		const chore = startBulkChore({ ...deps });
		const isPreviewed = async (job: BulkJob) => (await reloadJob(deps, job)).state === "previewed";
		const told = await uploadMany(deps, 3);
		chore.runSoon();
		await until(() => isPreviewed(told.job));
		const found = await uploadMany(deps, 3);
		await until(async () => {
			await deps.clock.moveBy(10_000);
			return isPreviewed(found.job);
		});
		await chore.stop();
		equal(deps.clock.waitingTimers, 0);
		deepEqual(deps.log.lines, []);
	});

	async function uploadMany(deps: BulkDeps, rows: number) {
		const programme = await addProgramme(deps.store);
		const orders = Array.from({ length: rows }, (_, index) => `order ${index}`);
		for (let start = 0; start < rows; start += 500) {
			const page = orders
				.slice(start, start + 500)
				.map((orderId) => newConversion(programme.id, { order_id: orderId }));
			await deps.store.db.insertInto("conversions").values(page).execute();
		}
		const job = await upload(
			deps,
			programme,
			orders.map((orderId) => `${orderId},,approve,`),
		);
		return { programme, job };
	}
});

async function countEvents({ store }: BulkDeps): Promise<number> {
	return (await store.db.selectFrom("events").select("id").execute()).length;
}

async function countStatus({ store }: BulkDeps, programme: Programme, status: "APPROVED"): Promise<number> {
	const rows = await store.db
		.selectFrom("conversions")
		.select("id")
		.where("programme_id", "=", programme.id)
		.where("status", "=", status)
		.execute();
	return rows.length;
}

async function textOf(parts: AsyncIterable<string>): Promise<string> {
	let text = "";
	for await (const part of parts) text += part;
	return text;
}
