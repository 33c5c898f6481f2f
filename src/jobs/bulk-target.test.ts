// Which conversion a line of a file decides about: the one it names, and never one that only looks like it.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { addConversion, addProgramme } from "../../test/support/rows.ts";
import { exportConversions } from "../conversions/export.ts";
import { MAX_ORDER_ID_CHARACTERS } from "../domain/order-id.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import {
	applyJob,
	type BulkDeps,
	openBulk,
	rowsOfJob,
	STAFF,
	uploadLines,
} from "./bulk-setup.test-support.ts";
import { selectDecisions } from "./bulk-upload.ts";
import { workOffJobs } from "./bulk-work.ts";

const HEADER = "conversionId,orderId,eventType,decision,reason";
const SAME_ORDER = "decide the same order differently. Keep one of them, and upload the file again.";
const NEVER_MADE = "cnv_01KZ0000000000000000000000";

eachDatabase("what a line decides about", (database) => {
	async function open(orderIds: readonly string[] = []) {
		const deps = openBulk(database.store);
		const programme = await addProgramme(deps.store);
		const conversions: Conversion[] = [];
		for (const orderId of orderIds) {
			conversions.push(await addConversion(deps.store, programme.id, { order_id: orderId }));
		}
		const statusOf = async (conversion: Conversion | undefined) =>
			(
				await deps.store.db
					.selectFrom("conversions")
					.select("status")
					.where("id", "=", conversion?.id ?? 0)
					.executeTakeFirstOrThrow()
			).status;
		const preview = async (lines: readonly string[], decider?: typeof STAFF) => {
			const job = await uploadLines(deps, programme, lines, decider);
			await workOffJobs(deps, () => false);
			return { job, rows: await rowsOfJob(deps, job) };
		};
		return { deps, programme, conversions, statusOf, preview };
	}

	test("an order that only looks like another is decided by its conversionId, and the other is untouched", async () => {
		// Nothing lets it in any more: it is put where an older version would have left it.
		const { deps, programme, conversions, statusOf, preview } = await open(["8001", "\u00a08001"]);
		const [genuine, lookalike] = conversions;
		const exported = (await textOf(exportConversions(deps.store.db, { programmeId: programme.id })))
			.trimEnd()
			.split("\r\n");
		const header = exported[0]?.split(",") ?? [];
		const lines = exported.map((line, index) => {
			if (index === 0) return `${line},decision`;
			if (!line.startsWith("\u00a08001")) return `${line},`;
			const cells = line.split(",");
			cells[header.indexOf("reason")] = "FRAUD";
			return `${cells.join(",")},reject`;
		});
		const { job, rows } = await preview(lines);
		deepEqual(
			rows.map((row) => [row.order_id, row.verdict, row.conversion]).toSorted(),
			[
				["8001", "left", genuine?.public_id],
				["\u00a08001", "change", lookalike?.public_id],
			].toSorted(),
		);
		await applyJob(deps, job);
		deepEqual([await statusOf(genuine), await statusOf(lookalike)], ["RECORDED", "REJECTED"]);
	});

	test("an order that only looks like another is no name for either: without a conversionId the line is refused", async () => {
		const { deps, conversions, statusOf, preview } = await open(["8001", "\u00a08001"]);
		const { job, rows } = await preview([
			"orderId,decision,reason",
			"\u00a08001,reject,FRAUD",
			"8001 ,approve,",
		]);
		deepEqual(
			rows.map((row) => row.verdict),
			["malformed", "malformed"],
		);
		await applyJob(deps, job);
		deepEqual(await Promise.all(conversions.map(statusOf)), ["RECORDED", "RECORDED"]);
	});

	test("what else a line says must agree with the conversion it names; an empty cell says nothing", async () => {
		const { deps, conversions, statusOf, preview } = await open(["A-1", "A-2", "A-3", "A-4"]);
		const [one, two, three, four] = conversions.map(({ public_id }) => public_id);
		const { job, rows } = await preview([
			HEADER,
			`${one},A-2,,approve,`,
			`${two},A-2,LEAD,approve,`,
			`${three},,,approve,`,
			`${four},A-4,SALE,approve,`,
		]);
		deepEqual(
			rows.map((row) => [row.order_id, row.event_type, row.verdict]),
			[
				["A-2", "", "refused"],
				["A-2", "LEAD", "refused"],
				["A-3", "SALE", "change"],
				["A-4", "SALE", "change"],
			],
		);
		equal(
			rows[0]?.detail,
			`Line 2 names conversion ${one} but order A-2. That conversion is SALE A-1. Correct the line, or leave its conversionId empty to decide by orderId.`,
		);
		match(rows[1]?.detail ?? "", /^Line 3 names conversion cnv_\w+ but the event type LEAD\. /);
		await applyJob(deps, job);
		deepEqual(await Promise.all(conversions.map(statusOf)), ["RECORDED", "RECORDED", "APPROVED", "APPROVED"]);
	});

	test("a stored order id that cannot be told apart by eye is written out in what the preview says", async () => {
		const { conversions, preview } = await open(["\u00a08001"]);
		const { rows } = await preview([HEADER, `${conversions[0]?.public_id},8001,,reject,FRAUD`]);
		match(rows[0]?.detail ?? "", /but order 8001\. That conversion is SALE \[U\+00A0\]8001\./);
	});

	test("the longest order id there may be is found by its order id, and agrees with its conversionId", async () => {
		const longest = "😀".repeat(MAX_ORDER_ID_CHARACTERS);
		const { deps, conversions, statusOf, preview } = await open([longest]);
		const named = await preview([HEADER, `${conversions[0]?.public_id},${longest},,approve,`]);
		deepEqual(
			named.rows.map((row) => [row.verdict, row.detail]),
			[["change", null]],
		);
		const { job, rows } = await preview([HEADER, `,${longest},,approve,`]);
		deepEqual(
			rows.map((row) => [row.order_id, row.verdict]),
			[[longest, "change"]],
		);
		await applyJob(deps, job);
		equal(await statusOf(conversions[0]), "APPROVED");
	});

	test("an id of another programme is as unknown as one that was never made", async () => {
		const { deps, preview } = await open();
		const elsewhere = await addProgramme(deps.store);
		const foreign = await addConversion(deps.store, elsewhere.id, { order_id: "A-1" });
		const { job, rows } = await preview([
			HEADER,
			`${foreign.public_id},,,approve,`,
			`${NEVER_MADE},,,approve,`,
		]);
		const sentenceOn = (id: string) =>
			`This programme has no conversion ${id}. Copy the conversionId from an export of this programme, or leave it empty to decide by orderId.`;
		deepEqual(
			rows.map((row) => [row.verdict, row.detail, row.conversion]),
			[
				["unknown", sentenceOn(foreign.public_id), null],
				["unknown", sentenceOn(NEVER_MADE), null],
			],
		);
		await applyJob(deps, job);
		equal(await countMoves(deps, foreign), 0);
	});

	test("a line with an empty conversionId is about its order", async () => {
		const { deps, conversions, statusOf, preview } = await open(["A-1"]);
		const { job } = await preview([HEADER, ",A-1,,approve,"]);
		await applyJob(deps, job);
		equal(await statusOf(conversions[0]), "APPROVED");
	});

	test("two lines that contradict each other are both refused, and each names the other", async () => {
		const { deps, conversions, statusOf, preview } = await open(["A-1", "A-2"]);
		const { job, rows } = await preview([
			HEADER,
			",A-1,,approve,",
			",A-2,,approve,",
			",A-1,,reject,FRAUD",
			",A-1,LEAD,approve,",
		]);
		deepEqual(
			rows.map((row) => [row.verdict, row.detail]),
			[
				["refused", `Line 2 and line 4 ${SAME_ORDER}`],
				["change", null],
				["refused", `Line 2 and line 4 ${SAME_ORDER}`],
				["unknown", rows[3]?.detail],
			],
		);
		await applyJob(deps, job);
		deepEqual(await Promise.all(conversions.map(statusOf)), ["RECORDED", "APPROVED"]);
	});

	for (const [what, first, second] of [
		["two reasons", ",A-1,,reject,FRAUD", ",A-1,,reject,RETURN"],
		["the conversionId on one and the order on the other", "ID,,,approve,", ",A-1,,reject,FRAUD"],
		["a decision that the status does not allow", ",A-1,,reverse,RETURN", "ID,A-1,SALE,approve,"],
	] as const) {
		test(`two lines with ${what} contradict each other`, async () => {
			const { deps, conversions, statusOf, preview } = await open(["A-1"]);
			const id = conversions[0]?.public_id ?? "";
			const { job, rows } = await preview([HEADER, first.replace("ID", id), second.replace("ID", id)]);
			deepEqual(
				rows.map((row) => [row.verdict, row.detail]),
				[
					["refused", `Line 2 and line 3 ${SAME_ORDER}`],
					["refused", `Line 2 and line 3 ${SAME_ORDER}`],
				],
			);
			await applyJob(deps, job);
			equal(await statusOf(conversions[0]), "RECORDED");
		});
	}

	test("a line that makes no sense contradicts the one that does, too: what was meant cannot be known", async () => {
		const { deps, conversions, statusOf, preview } = await open(["A-1"]);
		const { job, rows } = await preview([HEADER, ",A-1,,approve,", ",A-1,,reject,"]);
		deepEqual(
			rows.map((row) => row.verdict),
			["refused", "malformed"],
		);
		match(rows[1]?.detail ?? "", /A reason is needed/);
		await applyJob(deps, job);
		equal(await statusOf(conversions[0]), "RECORDED");
	});

	test("a line that staff may not decide contradicts theirs", async () => {
		const { preview } = await open(["A-1"]);
		const { rows } = await preview([HEADER, ",A-1,,approve,", ",A-1,,reject,FRAUD"], STAFF);
		deepEqual(
			rows.map((row) => row.verdict),
			["refused", "refused"],
		);
	});

	test("two lines that say the same decide once, and the second says which one it repeats", async () => {
		const { deps, conversions, statusOf, preview } = await open(["A-1"]);
		const id = conversions[0]?.public_id;
		const { job, rows } = await preview([HEADER, ",A-1,,approve,", `${id},,,Approve,`, ",A-1,SALE,approve,"]);
		deepEqual(
			rows.map((row) => [row.verdict, row.detail]),
			[
				["change", null],
				["already", "Line 2 says the same. The order is decided once."],
				["already", "Line 2 says the same. The order is decided once."],
			],
		);
		await applyJob(deps, job);
		equal(await statusOf(conversions[0]), "APPROVED");
		equal(await countMoves(deps, conversions[0]), 1);
		deepEqual(
			(await rowsOfJob(deps, job)).map((row) => row.outcome),
			["change", "already", "already"],
		);
	});

	test("lines far apart in a long file are compared, and a line without a decision says nothing", async () => {
		const { preview, conversions } = await open(["A-1"]);
		const others = Array.from({ length: 1_100 }, (_, index) => `,other ${index},,approve,`);
		const { job } = await preview([HEADER, ",A-1,,approve,", ",A-1,,,", ...others, ",A-1,,reject,FRAUD"]);
		const rows = await database.store.db
			.selectFrom("bulk_rows")
			.select(["line", "verdict"])
			.where("job_id", "=", job.id)
			.where("conversion", "=", conversions[0]?.public_id ?? "")
			.orderBy("seq")
			.execute();
		deepEqual(
			rows.map(({ line, verdict }) => [line, verdict]),
			[
				[2, "refused"],
				[3, "left"],
				[1_104, "refused"],
			],
		);
	});

	test("applying decides the conversion of the preview, and nothing where it is gone", async () => {
		const { deps, programme, conversions, statusOf, preview } = await open(["A-1", "A-2"]);
		const { job } = await preview([HEADER, ",A-1,,approve,", ",A-2,,approve,"]);
		const [gone, kept] = conversions;
		await deps.store.db
			.deleteFrom("conversions")
			.where("id", "=", gone?.id ?? 0)
			.execute();
		const namesake = await addConversion(deps.store, programme.id, { order_id: "A-1" });
		await applyJob(deps, job);
		deepEqual([await statusOf(namesake), await statusOf(kept)], ["RECORDED", "APPROVED"]);
		const [first] = await rowsOfJob(deps, job);
		deepEqual([first?.outcome, /removed after the preview/.test(first?.detail ?? "")], ["unknown", true]);
	});

	test("what is ticked on a page is decided by its id, whatever its order is called", async () => {
		const { deps, programme, conversions, statusOf } = await open(["8001", "\u00a08001"]);
		const [genuine, lookalike] = conversions;
		const job = await selectDecisions(deps, programme, STAFF, {
			conversionIds: [lookalike?.public_id ?? ""],
			move: "reject",
			reason: "FRAUD",
			listQuery: "",
		});
		ok(job.ok);
		await workOffJobs(deps, () => false);
		await applyJob(deps, job.value, STAFF);
		deepEqual([await statusOf(genuine), await statusOf(lookalike)], ["RECORDED", "REJECTED"]);
	});
});

async function countMoves({ store }: BulkDeps, conversion: Conversion | undefined): Promise<number> {
	const moves = await store.db
		.selectFrom("moves")
		.select("id")
		.where("conversion_id", "=", conversion?.id ?? 0)
		.execute();
	return moves.length;
}

async function textOf(parts: AsyncIterable<string>): Promise<string> {
	let text = "";
	for await (const part of parts) text += part;
	return text;
}
