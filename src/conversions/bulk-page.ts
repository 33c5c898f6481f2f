// One page of a job's rows: judged for the preview, or decided for good. Both meet the conversions as they are now.

import type { EventType } from "../domain/conversion.ts";
import { judgeMove } from "../domain/conversion.ts";
import { plainWords } from "../domain/fault.ts";
import type { BulkJob } from "../store/bulk-jobs.ts";
import type { BulkRow, JudgedRow } from "../store/bulk-rows.ts";
import { type Conversion, findManyByOrder } from "../store/conversions.ts";
import type { Db } from "../store/store.ts";
import { parseStoredRow } from "./bulk-row.ts";
import { refuseUnknownOrder } from "./decide-by-order.ts";
import { decideMany, type Wish } from "./decide-many.ts";
import type { InTransaction } from "./deps.ts";

export interface PageOutcome {
	rows: readonly JudgedRow[];
	owedProgrammeIds: readonly number[];
}

type Meeting = { kind: "settled"; row: JudgedRow } | { kind: "wish"; seq: number; wish: Wish };

/** What each row would do. */
export async function previewPage(trx: Db, job: BulkJob, rows: readonly BulkRow[]): Promise<PageOutcome> {
	const meetings = await meetConversions(trx, job, rows);
	const judged = meetings.map((meeting): JudgedRow => {
		if (meeting.kind === "settled") return meeting.row;
		const { conversion, decision } = meeting.wish;
		const verdict = judgeMove(conversion.status, decision.move);
		const row = { seq: meeting.seq, detail: null, conversion: conversion.public_id };
		switch (verdict.kind) {
			case "apply":
				return { ...row, verdict: "change" };
			case "already":
				return { ...row, verdict: "already" };
			case "refuse":
				return { ...row, verdict: "refused", detail: plainWords(verdict.fault) };
			default:
				return verdict satisfies never;
		}
	});
	return { rows: judged, owedProgrammeIds: [] };
}

/** Does what the preview promised and nothing else: a row that it refused stays refused. */
export async function applyPage(
	trx: Db,
	deps: InTransaction,
	job: BulkJob,
	rows: readonly BulkRow[],
): Promise<PageOutcome> {
	const promised = rows.filter(({ verdict }) => verdict === "change");
	const meetings = await meetConversions(trx, job, promised);
	const wishes = meetings.flatMap((meeting) => (meeting.kind === "wish" ? [meeting] : []));
	const decided = await decideMany(
		trx,
		deps,
		wishes.map(({ wish }) => wish),
		job.person_id,
	);
	const judged = wishes.map(({ seq, wish }, index): JudgedRow => {
		const result = decided.results[index];
		const row = { seq, detail: null, conversion: wish.conversion.public_id };
		if (result === undefined) throw new Error("a decision came back without its result");
		if (!result.ok) return { ...row, verdict: "refused", detail: plainWords(result.fault) };
		return { ...row, verdict: result.value === "changed" ? "change" : "already" };
	});
	const settled = meetings.flatMap((meeting) => (meeting.kind === "settled" ? [meeting.row] : []));
	const left = rows.flatMap(({ seq, verdict, detail, conversion }) =>
		verdict === null || verdict === "change" ? [] : [{ seq, verdict, detail, conversion }],
	);
	return { rows: [...left, ...settled, ...judged], owedProgrammeIds: decided.owedProgrammeIds };
}

async function meetConversions(trx: Db, job: BulkJob, rows: readonly BulkRow[]): Promise<Meeting[]> {
	const sound = rows.filter(({ verdict }) => !isSettled(verdict));
	const orderIds = new Set(sound.map((row) => row.order_id));
	const byOrder = Map.groupBy(
		await findManyByOrder(trx, job.programme_id, [...orderIds]),
		(conversion) => conversion.order_id,
	);
	return rows.map((row) => meetConversion(job, row, byOrder.get(row.order_id) ?? []));
}

/** Before any conversion was looked at. */
function isSettled(verdict: BulkRow["verdict"]): verdict is "malformed" | "left" {
	return verdict === "malformed" || verdict === "left";
}

function meetConversion(job: BulkJob, row: BulkRow, namesakes: readonly Conversion[]): Meeting {
	const { seq } = row;
	const settle = (verdict: JudgedRow["verdict"], detail: string | null): Meeting => ({
		kind: "settled",
		row: { seq, verdict, detail, conversion: null },
	});
	if (isSettled(row.verdict)) return settle(row.verdict, row.detail);
	const parsed = parseStoredRow(row, job.decided_by);
	if (!parsed.ok) return settle("refused", plainWords(parsed.fault));
	const { orderId, eventType, decision } = parsed.value;
	const conversion = namesakes.find((namesake) => namesake.event_type === eventType);
	if (conversion !== undefined) return { kind: "wish", seq, wish: { conversion, decision } };
	const known: EventType[] = namesakes.map((namesake) => namesake.event_type);
	return settle("unknown", plainWords(refuseUnknownOrder({ orderId, eventType }, known).fault));
}
