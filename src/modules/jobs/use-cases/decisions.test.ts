// Tests which conversion a line of a file decides. It must be the one that the line names, and never one with
// a similar order id.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PLAIN_FORM } from "#core/conversions/csv-file.ts";
import type { Side } from "#core/conversions/decide.ts";
import { decideTicked } from "#core/conversions/decide-from-page.ts";
import { exportConversions } from "#core/conversions/export.ts";
import type { Result } from "#core/domain/fault.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { MAX_ORDER_ID_CHARACTERS } from "#core/domain/order-id.ts";
import { endAccess } from "#core/people/end-access.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { changeProgramme } from "#core/programmes/programme-terms.ts";
import { NEWEST_FIRST } from "#core/store/queries/conversion-list.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { addToProgramme, removeFromProgramme, setRole } from "#core/store/queries/programme-people.ts";
import type { Db } from "#core/store/store.ts";
import { refundFromPage } from "#modules/refunds/use-cases/refund-from-page.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { addConversion, addProgramme, findConversion, newConversion } from "../../../../test/support/rows.ts";
import type { Job } from "../store/jobs.ts";
import {
	ANY_FILE,
	FILE_HEADER,
	orderOf,
	readSales,
	SALES,
	sumsOf,
	sumsOfHistory,
} from "./decided-money.test-support.ts";
import { discardJob, startJob, stopJob } from "./job.ts";
import {
	actorOf,
	createJobSetup,
	fileOf,
	never,
	reload,
	resultOf,
	rowsOf,
	summaryOf,
	wordsOf,
} from "./jobs.test-support.ts";
import { JOB_KINDS } from "./kinds.ts";
import { uploadFile } from "./make-job.ts";
import { workOffJobs } from "./work.ts";

const HEADER = "conversionId,orderId,eventType,decision,reason";
const NEVER_MADE = "cnv_01KZ0000000000000000000000";
const CONTRADICTS = "says something else about the same conversion. Keep one of the two.";

async function findOrder(db: Db, programmeId: number, orderId: string): Promise<Conversion> {
	const found = await findConversion(db, programmeId, orderId);
	ok(found !== undefined);
	return found;
}

eachDatabase("many decisions", (database) => {
	const { open: openStaff, addPerson, upload, countConversions } = createJobSetup(database);

	async function open(orderIds: readonly string[] = []) {
		const { deps, staff, programme } = await openStaff();
		const owner = await addPerson("shop");
		await addToProgramme(deps.store.db, programme.id, owner.id, "owner");
		const conversions: Conversion[] = [];
		for (const orderId of orderIds) {
			conversions.push(await addConversion(deps.store, programme.id, { order_id: orderId }));
		}
		const statuses = () =>
			Promise.all(
				conversions.map(async ({ id }) => {
					const found = deps.store.db.selectFrom("conversions").select("status").where("id", "=", id);
					return (await found.executeTakeFirst())?.status;
				}),
			);
		const preview = async (lines: readonly string[], side: Side = "shop") => {
			const deciding = { programmeId: programme.id, side };
			const person = side === "shop" ? owner : staff;
			const job = await upload(deps, person, "decisions", lines, { deciding });
			await workOffJobs(deps, never);
			const rows = await rowsOf(deps, job);
			return { job, rows, words: wordsOf({ rows }) };
		};
		const apply = async (job: Job) => {
			ok((await startJob(deps, await reload(deps, job), actorOf(owner), false)).ok);
			await workOffJobs(deps, never);
			equal((await reload(deps, job)).state, "done");
			return wordsOf({ rows: await rowsOf(deps, job) });
		};
		const countEvents = async () => {
			const events = deps.store.db
				.selectFrom("events")
				.innerJoin("conversions", "conversions.id", "events.conversion_id")
				.select("events.id")
				.where("conversions.programme_id", "=", programme.id);
			return (await events.execute()).length;
		};
		return { deps, programme, owner, staff, conversions, statuses, preview, apply, countEvents };
	}

	test("a file refunds parts of conversions, each refund once, and the rest of a conversion as a reversal", async () => {
		const { deps, owner, conversions, preview, apply, statuses, countEvents } = await open([
			"a",
			"b",
			"c",
			"d",
		]);
		const lines = [
			"orderId;decision;reason;amount;refundId",
			"a;refund;Return;30,00;R-1",
			"a;refunded;RETURN;20.00;R-2",
			"a;refund;RETURN;30.00;R-1",
			"b;refund;RETURN;100.00;R-1",
			"c;refund;RETURN;100.01;R-1",
			"c;refund;;1.00;R-1",
			"c;refund;RETURN;;R-3",
			"c;refund;RETURN;1.00;",
			"c;approve;;1.00;",
			"d;approve;;;",
			"d;refund;RETURN;10.00;R-1",
		];
		const { job, rows, words } = await preview(lines);
		const expected = [
			...["change", "change", "already", "change", "refused"],
			...["refused", "refused", "refused", "refused", "change", "change"],
		];
		deepEqual(
			rows.map(({ verdict }) => verdict.kind),
			expected,
			JSON.stringify(words),
		);
		const details = rows.map(({ verdict }) => verdict.detail ?? "");
		match(details[2] ?? "", /Line 2 says the same/);
		match(details[4] ?? "", /Line 7 says something else/);
		match(details[6] ?? "", /A refund needs an amount/);
		match(details[7] ?? "", /refundId must have 1 to 128 characters/);
		match(details[8] ?? "", /Only a refund has an amount/);
		const { money } = await summaryOf(deps, job);
		deepEqual(
			money.map(({ status, rows: count, basket, commission, fee }) => [
				status,
				count,
				basket,
				commission,
				fee,
			]),
			[
				["APPROVED", 1, "100.00", "7.50", "2.00"],
				["REVERSED", 1, "100.00", "7.50", "2.00"],
				["REFUNDED", 3, "60.00", "4.50", "1.20"],
			],
		);
		await apply(job);
		deepEqual(await statuses(), ["RECORDED", "REVERSED", "RECORDED", "APPROVED"]);
		equal(await countEvents(), 2, "only the approval and the reversal are announced");
		const stored = await deps.store.db
			.selectFrom("conversions")
			.select(["order_id", "basket_value", "commission", "refunded_value"])
			.where("id", "in", [conversions[0]?.id ?? 0, conversions[3]?.id ?? 0])
			.orderBy("id")
			.execute();
		deepEqual(
			stored.map((row) => Object.values(row)),
			[
				["a", "50.00", "3.75", "50.00"],
				["d", "90.00", "6.75", "10.00"],
			],
		);
		const refunds = await deps.store.db
			.selectFrom("refunds")
			.select(["refund_id", "amount", "person_id"])
			.where("conversion_id", "=", conversions[0]?.id ?? 0)
			.orderBy("id")
			.execute();
		deepEqual(
			refunds.map((row) => Object.values(row)),
			[
				["R-1", "30.00", owner.id],
				["R-2", "20.00", owner.id],
			],
		);
		const again = await preview(["orderId,decision,reason,amount,refundId", "a,refund,RETURN,30.00,R-1"]);
		deepEqual(
			again.rows.map(({ verdict }) => verdict.kind),
			["already"],
		);
		const byStaff = await preview(
			["orderId,decision,reason,amount,refundId", "a,refund,RETURN,5.00,R-9"],
			"review",
		);
		match(byStaff.rows[0]?.verdict.detail ?? "", /Only the shop's owners can refund/);
	});

	test("the sums of several refunds of a sale, and of its reversal after one, are those that the database has", async () => {
		const { deps, programme, owner, preview, apply } = await open(["twice", "once", "rest"]);
		const lines = [
			FILE_HEADER,
			"twice,refund,RETURN,30.00,R-1",
			"once,refund,RETURN,10.00,R-1",
			"twice,refund,RETURN,20.00,R-2",
			"rest,refund,RETURN,60.00,R-1",
			"rest,reverse,RETURN,,",
		];
		const before = await readSales(deps.store.db, programme.id);
		const { job } = await preview(lines);
		const expected = ["REVERSED 1 40.00 3.00 0.80", "REFUNDED 4 120.00 9.00 2.40"];
		deepEqual(sumsOf(await summaryOf(deps, job)), expected, "the preview");
		await apply(job);
		deepEqual(sumsOf(await summaryOf(deps, job)), expected, "the result");
		deepEqual(await sumsOfHistory(deps.store.db, programme.id, before, owner.id), expected, "the database");
	});

	test("the preview refuses a line that the lines before it make impossible", async () => {
		const { deps, preview, apply, statuses } = await open(["sale", "other"]);
		const { job, words } = await preview([
			FILE_HEADER,
			"sale,refund,RETURN,60.00,R-1",
			"sale,refund,RETURN,60.00,R-2",
			"other,reverse,RETURN,,",
			"other,refund,RETURN,10.00,R-1",
			"sale,refund,RETURN,40.00,R-3",
			"sale,reverse,RETURN,,",
			"sale,refund,RETURN,1.00,R-4",
		]);
		const applied = await apply(job);
		deepEqual(applied, words);
		deepEqual(
			words.map((word) => word.split(":")[0]),
			["2 change", "3 refused", "4 change", "5 refused", "6 change", "7 already", "8 refused"],
		);
		match(words[1] ?? "", /Only 40\.00 EUR is left of this conversion/);
		match(words[3] ?? "", /REVERSED|reversed/);
		deepEqual(await statuses(), ["REVERSED", "REVERSED"]);
		deepEqual(sumsOf(await summaryOf(deps, job)), [
			"REVERSED 2 140.00 10.50 2.80",
			"REFUNDED 1 60.00 4.50 1.20",
		]);
	});

	/** Opens a programme with a few sales, and uploads files in batches of so few lines that a sale is in several. */
	async function openSales() {
		const opened = await open();
		const { deps, programme, owner } = opened;
		for (let sale = 0; sale < SALES; sale++) {
			const cheap = { basket_value: "33.33", commission: "2.50", network_fee: "0.67" };
			await addConversion(deps.store, programme.id, {
				order_id: orderOf(sale),
				status: sale % 2 === 0 ? "RECORDED" : "APPROVED",
				...(sale === 0 ? cheap : {}),
			});
		}
		const deciding = { programmeId: programme.id, side: "shop" } as const;
		const uploadInSmallBatches = async (lines: readonly string[]) => {
			const file = fileOf([FILE_HEADER, ...lines].join("\n"));
			const kind = { ...JOB_KINDS.decisions, batchRows: 3 };
			const job = await uploadFile(deps, kind, { actor: actorOf(owner), deciding }, file);
			ok(job.ok, JSON.stringify(job));
			return job.value;
		};
		const summary = async (job: Job) => {
			const { counts, money } = await summaryOf(deps, job);
			return { counts, money };
		};
		return { ...opened, upload: uploadInSmallBatches, summary };
	}

	test("the preview of any file has the sums that applying it moves, and so has the result", async () => {
		const runs = fc.asyncProperty(ANY_FILE, async (lines) => {
			const { deps, programme, owner, upload, apply, summary } = await openSales();
			const before = await readSales(deps.store.db, programme.id);
			const job = await upload(lines);
			await workOffJobs(deps, never);
			const previewed = { ...(await summary(job)), words: wordsOf({ rows: await rowsOf(deps, job) }) };
			if (previewed.counts.change === 0) return;
			const words = await apply(job);
			deepEqual({ ...(await summary(job)), words }, previewed);
			const moved = await sumsOfHistory(deps.store.db, programme.id, before, owner.id);
			deepEqual(sumsOf(await summaryOf(deps, job)), moved);
		});
		await fc.assert(runs, { numRuns: database.kind === "SQLite" ? 15 : 8 });
	});

	test("the result of any file has what it moved, also if another person changes its sales meanwhile", async () => {
		const anyAct = fc.record({ sale: fc.nat(SALES - 1), cents: fc.integer({ min: 1, max: 4_000 }) });
		const acts = fc.array(anyAct, { minLength: 1, maxLength: 6 });
		const runs = fc.asyncProperty(ANY_FILE, acts, async (lines, others) => {
			const { deps, programme, owner, upload, summary } = await openSales();
			const other = await addPerson("shop");
			await addToProgramme(deps.store.db, programme.id, other.id, "owner");
			const before = await readSales(deps.store.db, programme.id);
			const remaining = others.entries();
			const act = async () => {
				const { value } = remaining.next();
				if (value === undefined) return;
				const [number, { sale, cents }] = value;
				const found = await findOrder(deps.store.db, programme.id, orderOf(sale));
				const input = { amount: (cents / 100).toFixed(2), refundId: `other-${number}`, reason: "RETURN" };
				const actor = { ...actorOf(other), side: "shop" } as const;
				await refundFromPage({ ...deps, store: database.rival }, actor, programme, found.public_id, input);
			};
			const job = await upload(lines);
			// Another person acts between the batches of the preview, between the preview and the work, and between
			// the batches of the work.
			const busy = { ...deps, clock: { ...deps.clock, yieldLoop: act } };
			await workOffJobs(busy, never);
			await act();
			if ((await summary(job)).counts.change === 0) return;
			ok((await startJob(deps, await reload(deps, job), actorOf(owner), false)).ok);
			await workOffJobs(busy, never);
			const moved = await sumsOfHistory(deps.store.db, programme.id, before, owner.id);
			deepEqual(sumsOf(await summaryOf(deps, job)), moved);
		});
		await fc.assert(runs, { numRuns: database.kind === "SQLite" ? 15 : 8 });
	});

	test("a preview that another process continues still judges each line on what the lines before it leave", async () => {
		const { deps, upload, summary } = await openSales();
		const refunds = Array.from({ length: 7 }, (_, at) => `${orderOf(1)},refund,RETURN,30.00,R-${at}`);
		const job = await upload(refunds);
		let batches = 0;
		const yieldLoop = async () => {
			batches += 1;
		};
		await workOffJobs({ ...deps, clock: { ...deps.clock, yieldLoop } }, () => batches > 0);
		equal((await reload(deps, job)).done_batches, 1);
		await workOffJobs({ ...deps, store: database.rival }, never);
		deepEqual((await summary(job)).counts, { change: 3, already: 0, refused: 4 });
	});

	test("applying changes exactly the lines that the preview announced, and applying twice changes nothing more", async () => {
		const { deps, programme, owner, preview, apply, countEvents } = await open();
		for (const [order_id, status, test] of [
			["recorded", "RECORDED", 0],
			["approved", "APPROVED", 0],
			["parked", "PARKED", 0],
			["reverse me", "APPROVED", 0],
			["tried", "RECORDED", 1],
		] as const) {
			await addConversion(deps.store, programme.id, { order_id, status, test, basket_value: "10.00" });
		}
		const { job, rows } = await preview([
			"orderId,eventType,decision,reason",
			"recorded,,Approved,",
			"approved,,approve,",
			"parked,,approve,",
			"unknown,,approve,",
			"recorded,LEAD,approve,",
			"reverse me,sale,REVERSED,self-referral",
			"bad,,reject,BORED",
			"ignored,,,FRAUD",
			"tried,,reject, out  of stock ",
		]);
		deepEqual(
			rows.map(({ line, verdict: { kind, word } }) => `${line} ${kind} ${word ?? ""}`.trim()),
			[
				...["2 change", "3 already", "4 refused", "5 refused unknown_order", "6 refused unknown_order"],
				...["7 change", "8 refused malformed", "10 change"],
			],
		);
		equal(await countEvents(), 0, "a preview sends nothing");
		const { money, counts } = await summaryOf(deps, job);
		deepEqual(counts, { change: 3, already: 1, refused: 4 });
		deepEqual(
			money.map(({ status, rows, tests, basket }) => [status, rows, tests, basket]),
			[
				["APPROVED", 1, 0, "10.00"],
				["REJECTED", 1, 1, "0.00"],
				["REVERSED", 1, 0, "10.00"],
			],
		);
		// Lines that the preview refused stay refused when the file is applied, even if they have become
		// possible.
		await deps.store.db
			.updateTable("conversions")
			.set({ status: "RECORDED" })
			.where("order_id", "=", "parked")
			.execute();
		await apply(job);
		deepEqual((await summaryOf(deps, job)).counts, counts);
		const decided = await deps.store.db
			.selectFrom("conversions")
			.select(["order_id", "status", "decided_by", "reason"])
			.where("programme_id", "=", programme.id)
			.orderBy("id")
			.execute();
		deepEqual(
			decided.map((row) => [row.order_id, row.status, row.decided_by, row.reason]),
			[
				["recorded", "APPROVED", "shop", null],
				["approved", "APPROVED", null, null],
				["parked", "RECORDED", null, null],
				["reverse me", "REVERSED", "shop", "SELF_REFERRAL"],
				["tried", "REJECTED", "shop", "OUT_OF_STOCK"],
			],
		);
		equal(await countEvents(), 3);
		deepEqual(await startJob(deps, await reload(deps, job), actorOf(owner), false), {
			ok: true,
			value: "already",
		});
		await workOffJobs(deps, never);
		equal(await countEvents(), 3, "applied twice, sent once");
		const result = await resultOf(deps, job);
		match(
			result,
			/^\u{FEFF}line,result,detail,conversionId,orderId,eventType,decision,reason,amount,refundId\r\n/u,
		);
		match(result, /\r\n2,changed,,cnv_\w+,recorded,,approve,,,\r\n3,already,/);
		match(result, /\r\n5,unknown_order,"?This programme has no SALE with order ID unknown/);
		match(result, /\r\n6,unknown_order,.*It is known as SALE/);
		match(result, /\r\n8,malformed,"?reason must be one of/);
		const audit = await deps.store.db
			.selectFrom("audit_entries")
			.select(["action", "person_id", "detail"])
			.where("subject", "=", job.public_id)
			.where("programme_id", "=", programme.id)
			.orderBy("id")
			.execute();
		deepEqual(
			audit.map((entry) => [entry.action, entry.person_id, entry.detail]),
			[
				["decisions.prepared", owner.id, "8 conversions"],
				["decisions.started", owner.id, "8 conversions"],
				["decisions.finished", owner.id, "3 changed, 1 already there, 4 need fixing"],
			],
		);
		const moves = await deps.store.db
			.selectFrom("moves")
			.select("person_id")
			.where("programme_id", "=", programme.id)
			.execute();
		deepEqual(new Set(moves.map((move) => move.person_id)), new Set([owner.id]));
	});

	test("malformed lines are refused with a reason, and the other lines are applied", async () => {
		const bad: readonly [line: string, problem: RegExp][] = [
			[",,approve,", /order ID must have 1 to 128 characters/],
			[`,${"x".repeat(129)},approve,`, /order ID must have 1 to 128 characters/],
			[",\u00a08001,approve,", /starts or ends with white space/],
			[",8001 ,approve,", /starts or ends with white space/],
			[",80\x0101,approve,", /control characters/],
			[",\ufeff8001,approve,", /cannot be seen/],
			[",80\u200b01,approve,", /cannot be seen/],
			[",80\u202e01,approve,", /cannot be seen/],
			[",8001,delete,", /decision must be one of/],
			[",8001,reject,", /A reason is needed here: one of RETURN/],
			[",8001,reverse,", /A reason is needed here/],
			[",8001,reject,BORED", /reason must be one of/],
			[",8001,approve,FRAUD", /An approval has no reason/],
			["8001,8001,approve,", /conversionId must be one from an export/],
			["prg_01KZ0000000000000000000000,,approve,", /conversionId must be one/],
			[`${NEVER_MADE},,approve,,VISIT`, /eventType must be one of/],
		];
		const { preview, apply, statuses } = await open(["last"]);
		const { job, rows } = await preview([
			"conversionId,orderId,decision,reason,eventType",
			...bad.map(([line]) => line),
			",last,approve,,",
		]);
		for (const [index, [line, problem]] of bad.entries()) {
			const { kind, word, detail } = rows[index]?.verdict ?? {};
			deepEqual([kind, word], ["refused", "malformed"], line);
			match(detail ?? "", problem);
		}
		await apply(job);
		deepEqual(await statuses(), ["APPROVED"]);
	});

	test("a file without any decision is refused, and so is a file with too many rows", async () => {
		const { deps, owner, programme } = await open();
		const deciding = { programmeId: programme.id, side: "shop" } as const;
		const detailOf = async (maxRows: number, lines: readonly string[]) => {
			const kind = { ...JOB_KINDS.decisions, maxRows };
			const uploaded = await uploadFile(
				deps,
				kind,
				{ actor: actorOf(owner), deciding },
				fileOf(lines.join("\n")),
			);
			return uploaded.ok ? uploaded.value.row_count : uploaded.fault.detail;
		};
		match(String(await detailOf(10, [HEADER, ",A,,,", ",B,,,"])), /^No line has a decision\. Write approve/);
		const lines = Array.from({ length: 11 }, (_, at) => `,A-${at},,approve,`);
		equal(await detailOf(11, [HEADER, ",skipped,,,", ...lines]), 11);
		match(String(await detailOf(10, [HEADER, ...lines])), /more than 10 rows\. Split it into parts/);
		const ofProgramme = deps.store.db
			.selectFrom("jobs")
			.select("id")
			.where("programme_id", "=", programme.id);
		const left = deps.store.db
			.selectFrom("job_lines")
			.selectAll()
			.where("seq", ">", 1)
			.where("job_id", "in", ofProgramme);
		deepEqual(await left.execute(), []);
	});

	test("an order whose id only looks like another is decided by its conversionId, and the other is unchanged", async () => {
		// No interface accepts this order id today, so the row is inserted directly. An older version may have
		// stored such a row.
		const { deps, programme, preview, apply, statuses } = await open(["8001", "\u00a08001"]);
		// This file has every column that an export can have.
		const file = exportConversions(
			deps.store.db,
			{ programmeId: programme.id },
			NEWEST_FIRST,
			PLAIN_FORM,
			true,
		);
		const exported = (await Array.fromAsync(file)).join("");
		const [names = "", ...others] = exported.trimEnd().split("\r\n");
		const reasonAt = names.split(",").indexOf("reason");
		const lines = others.map((line) =>
			line.startsWith("\u00a08001")
				? `${line
						.split(",")
						.map((cell, at) => (at === reasonAt ? "FRAUD" : cell))
						.join(",")},reject`
				: `${line},`,
		);
		const { job, words } = await preview([`${names},decision`, ...lines]);
		equal(words.length, 1);
		await apply(job);
		deepEqual(await statuses(), ["RECORDED", "REJECTED"]);
	});

	test("the other cells of a line must agree with the conversion it names, except empty cells", async () => {
		const { conversions, preview, apply, statuses } = await open(["A-1", "A-2", "A-3", "A-4", "\u00a08001"]);
		const [one, two, three, four, odd] = conversions.map(({ public_id }) => public_id);
		const { job, words } = await preview([
			HEADER,
			`${one},A-2,,approve,`,
			`${two},A-2,LEAD,approve,`,
			`${three},,,approve,`,
			` ${four} ,A-4,SALE,approve,`,
			`${odd},8001,,reject,FRAUD`,
		]);
		const advice = "Correct the line, or leave its conversionId empty to decide by orderId.";
		deepEqual(words, [
			`2 refused: Line 2 names conversion ${one} but order A-2. That conversion is SALE A-1. ${advice}`,
			`3 refused: Line 3 names conversion ${two} but the event type LEAD. That conversion is SALE A-2. ${advice}`,
			"4 change",
			"5 change",
			`6 refused: Line 6 names conversion ${odd} but order 8001. That conversion is SALE [U+00A0]8001. ${advice}`,
		]);
		await apply(job);
		deepEqual(await statuses(), ["RECORDED", "RECORDED", "APPROVED", "APPROVED", "RECORDED"]);
	});

	test("an order id of the maximum length is found, and agrees with its conversionId", async () => {
		const longest = "😀".repeat(MAX_ORDER_ID_CHARACTERS);
		const { conversions, preview, apply, statuses } = await open([longest]);
		deepEqual((await preview([HEADER, `${conversions[0]?.public_id},${longest},,approve,`])).words, [
			"2 change",
		]);
		const { job } = await preview([HEADER, `,${longest},,approve,`]);
		deepEqual(await apply(job), ["2 change"]);
		deepEqual(await statuses(), ["APPROVED"]);
	});

	test("a conversion of another programme gets the same answer as an id that does not exist", async () => {
		const { deps, preview, apply } = await open();
		const elsewhere = await addProgramme(deps.store);
		const foreign = await addConversion(deps.store, elsewhere.id, { order_id: "A-1" });
		const ids = [foreign.public_id, NEVER_MADE];
		const { job, words } = await preview([HEADER, ...ids.map((id) => `${id},,,approve,`)]);
		deepEqual(
			words,
			ids.map(
				(id, at) =>
					`${at + 2} refused: This programme has no conversion ${id}. Copy the conversionId from an export of this programme, or leave it empty to decide by orderId.`,
			),
		);
		await apply(job);
		const moves = deps.store.db.selectFrom("moves").select("id").where("conversion_id", "=", foreign.id);
		deepEqual(await moves.execute(), []);
	});

	for (const [what, first, second, side] of [
		["two decisions", ",A-1,,approve,", ",A-1,,reject,FRAUD", "shop"],
		["two reasons", ",A-1,,reject,FRAUD", ",A-1,,reject,RETURN", "shop"],
		["the conversionId on one and the order on the other", "ID,,,approve,", ",A-1,,reject,FRAUD", "shop"],
		["a decision that the status does not allow", ",A-1,,reverse,RETURN", "ID,A-1,SALE,approve,", "shop"],
		["an invalid decision on one of them", ",A-1,,approve,", ",A-1,,reject,", "shop"],
		["a decision that staff may not make", ",A-1,,approve,", ",A-1,,reject,FRAUD", "review"],
	] as const) {
		test(`two lines with ${what} contradict each other, and both are refused`, async () => {
			const { conversions, preview, statuses } = await open(["A-1"]);
			const id = conversions[0]?.public_id ?? "";
			// Lines without a decision are between the two lines. In one case there are so many that the two lines
			// are in different batches.
			const between = what === "two decisions" ? 600 : 2;
			const others = Array.from({ length: between }, (_, at) => `,other ${at},,approve,`);
			const last = between + 4;
			const lines = [HEADER, first.replace("ID", id), ",A-1,,,", ...others, second.replace("ID", id)];
			const { words } = await preview(lines, side);
			deepEqual(
				[words[0], words.at(-1)],
				[`2 refused: Line ${last} ${CONTRADICTS}`, `${last} refused: Line 2 ${CONTRADICTS}`],
			);
			deepEqual(await statuses(), ["RECORDED"]);
		});
	}

	test("lines with the same decision decide once, and the repeated ones name the first", async () => {
		const { conversions, preview, apply, statuses, countEvents } = await open(["A-1"]);
		const id = conversions[0]?.public_id;
		const { job } = await preview([HEADER, ",A-1,,approve,", `${id},,,Approve,`, ",A-1,SALE,approve,"]);
		deepEqual(await apply(job), [
			"2 change",
			"3 already: Line 2 says the same.",
			"4 already: Line 2 says the same.",
		]);
		deepEqual([await statuses(), await countEvents()], [["APPROVED"], 1]);
	});

	test("applying decides the conversion of the preview, and refuses the line if it was removed", async () => {
		const { deps, programme, conversions, preview, apply, statuses } = await open(["A-1", "A-2"]);
		const { job } = await preview([HEADER, ",A-1,,approve,", ",A-2,,approve,"]);
		await deps.store.db
			.deleteFrom("conversions")
			.where("id", "=", conversions[0]?.id ?? 0)
			.execute();
		conversions.push(await addConversion(deps.store, programme.id, { order_id: "A-1" }));
		const [gone] = await apply(job);
		match(gone ?? "", /^2 refused: This conversion was removed after the preview/);
		deepEqual(await statuses(), [undefined, "APPROVED", "RECORDED"]);
	});

	test("a file of the review team may only reject, and decides in the name of the review team", async () => {
		const { deps, preview, apply, statuses, conversions } = await open(["fraud", "fine"]);
		const { job, words } = await preview([HEADER, ",fraud,,reject,FRAUD", ",fine,,approve,"], "review");
		match(words[1] ?? "", /^3 refused: Only the shop's owners can approve/);
		await apply(job);
		deepEqual(await statuses(), ["REJECTED", "RECORDED"]);
		const deciders = deps.store.db.selectFrom("conversions").select("decided_by");
		equal(
			(await deciders.where("id", "=", conversions[0]?.id ?? 0).executeTakeFirst())?.decided_by,
			"review",
		);
	});

	test("a job stops before the next batch when the person who started it loses access", async () => {
		const { deps, programme, owner, preview } = await open();
		const orders = Array.from({ length: 1_200 }, (_, index) => `order ${index}`);
		for (let start = 0; start < orders.length; start += 500) {
			const page = orders
				.slice(start, start + 500)
				.map((order_id) => newConversion(programme.id, { order_id }));
			await deps.store.db.insertInto("conversions").values(page).execute();
		}
		const { job } = await preview([HEADER, ...orders.map((order) => `,${order},,approve,`)]);
		ok((await startJob(deps, await reload(deps, job), actorOf(owner), false)).ok);
		let yields = 0;
		const yieldLoop = async () => {
			yields += 1;
			if (yields > 1) return;
			const ended = await database.rival.transact((trx) =>
				endAccess(trx, owner.id, { endedBy: null, nowMs: deps.clock.nowMs() }),
			);
			equal(ended.jobs, 1);
		};
		await workOffJobs({ ...deps, clock: { ...deps.clock, yieldLoop } }, never);
		deepEqual(
			[(await reload(deps, job)).state, await countConversions(programme, "APPROVED")],
			["stopped", 500],
		);
		const noted = deps.store.db.selectFrom("audit_entries").select(["subject", "programme_id"]);
		deepEqual(
			{ ...(await noted.where("action", "=", "decisions.stopped").executeTakeFirst()) },
			{
				subject: job.public_id,
				programme_id: programme.id,
			},
		);
		const other = await addPerson("shop");
		await addToProgramme(deps.store.db, programme.id, other.id, "owner");
		ok((await startJob(deps, await reload(deps, job), actorOf(other), false)).ok);
		await workOffJobs(deps, never);
		deepEqual(
			[(await reload(deps, job)).state, await countConversions(programme, "APPROVED")],
			["done", 1_200],
		);
	});

	test("a person who loses the right to decide during a request changes nothing with it", async () => {
		const { deps, programme, owner, conversions, statuses, preview } = await open(["T-1"]);
		const { job } = await preview([HEADER, ",T-1,,approve,"]);
		const [actor, before] = [actorOf(owner), await reload(deps, job)];
		const deciding = { programmeId: programme.id, side: "shop" } as const;
		const conversionIds = conversions.map(({ public_id }) => public_id);
		const asked = { programmeId: programme.id, conversionIds, move: "approve", reason: "" } as const;
		const keyDeps = { ...deps, keyRing: createKeyRing([new Uint8Array(32)]) };
		const decide = async () => [
			await decideTicked(deps, { ...actor, side: "shop" }, asked),
			await startJob(deps, before, actor, false),
			await discardJob(deps, before, actor),
			await stopJob(deps, before, actor),
			await uploadFile(deps, JOB_KINDS.decisions, { actor, deciding }, fileOf(`${HEADER}\n,T-1,,approve,`)),
		];
		const codes = (results: readonly Result<unknown>[]) => results.map((one) => one.ok || one.fault.code);
		await setRole(deps.store.db, programme.id, owner.id, "developer");
		deepEqual(codes(await decide()), Array(5).fill("not_allowed"));
		const sooner = await changeProgramme(deps, actor, programme.id, { approvalDays: 1 });
		equal(
			sooner.ok || sooner.faults[0].code,
			"not_allowed",
			"a shorter approval window needs the right to decide",
		);
		deepEqual(codes([await issueKey(keyDeps, programme.public_id, actor)]), [true]);
		await removeFromProgramme(deps.store.db, programme.id, owner.id);
		deepEqual(codes(await decide()), Array(5).fill("not_allowed"));
		deepEqual(codes([await issueKey(keyDeps, programme.public_id, actor)]), ["not_allowed"]);
		deepEqual([await statuses(), (await reload(deps, job)).state], [["RECORDED"], "previewed"]);
	});

	test("a decision on a page that is refused announces no delivery, and one that is made does", async () => {
		const { deps, programme, owner, conversions } = await open(["T-1"]);
		const announced: number[] = [];
		const announceDue: typeof deps.store.announceDue = ({ receiverIds }) =>
			announced.push(receiverIds.length);
		const watched = { ...deps, store: { ...deps.store, announceDue } };
		const decider = { ...actorOf(owner), side: "shop" } as const;
		const [id = ""] = conversions.map(({ public_id }) => public_id);
		const asked = { programmeId: programme.id, move: "approve", reason: "" } as const;
		const refund = (amount: string) =>
			refundFromPage(watched, decider, programme, id, { amount, refundId: "R-1", reason: "RETURN" });
		equal((await decideTicked(watched, decider, { ...asked, conversionIds: [NEVER_MADE] })).ok, false);
		equal((await refund("100000.00")).ok, false);
		await setRole(deps.store.db, programme.id, owner.id, "viewer");
		equal((await decideTicked(watched, decider, { ...asked, conversionIds: [id] })).ok, false);
		deepEqual(announced, []);
		await setRole(deps.store.db, programme.id, owner.id, "owner");
		equal((await decideTicked(watched, decider, { ...asked, conversionIds: [id] })).ok, true);
		equal(announced.length, 1);
	});

	test("up to a hundred selected conversions are decided at once with an audit entry each, and more are refused", async () => {
		const names = Array.from({ length: 101 }, (_, at) => `T-${at}`);
		const { deps, programme, owner, conversions, statuses, countEvents } = await open(names);
		const elsewhere = await addProgramme(deps.store);
		const foreign = await addConversion(deps.store, elsewhere.id, { order_id: "T-0" });
		const decide = (ids: readonly string[]) =>
			decideTicked(
				deps,
				{ ...actorOf(owner), side: "shop" },
				{ programmeId: programme.id, conversionIds: ids, move: "reject", reason: "FRAUD" },
			);
		const ids = conversions.map(({ public_id }) => public_id);
		const refused = await decide(ids);
		match(refused.ok ? "" : refused.fault.detail, /At most 100 .* choose all that match .* upload a file/);
		const decided = await decide([...ids.slice(0, 99), foreign.public_id]);
		ok(decided.ok);
		deepEqual([decided.value.changed.length, decided.value.refused.length], [99, 0]);
		const again = await decide(ids.slice(0, 2));
		equal(again.ok && again.value.already.length, 2);
		equal(await countEvents(), 99);
		deepEqual(new Set((await statuses()).slice(99)), new Set(["RECORDED"]));
		const noted = deps.store.db
			.selectFrom("audit_entries")
			.select("id")
			.where("programme_id", "=", programme.id)
			.where("action", "=", "conversion.decided");
		equal((await noted.execute()).length, 99);
		const nothing = await decide([foreign.public_id]);
		equal(nothing.ok ? "" : nothing.fault.code, "nothing_selected");
	});
});
