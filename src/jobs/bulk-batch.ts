// One batch of a job's rows: judged for the preview, or decided for good. Both meet the conversions as they are now.

import { type DecisionRequest, decideMany, refuseUnknownOrder } from "../conversions/decide.ts";
import type { InTransaction } from "../conversions/deps.ts";
import { judgeMove, parseEventType } from "../domain/conversion.ts";
import { plainWords } from "../domain/fault.ts";
import { showUnseen } from "../domain/visible-text.ts";
import type { BulkJob } from "../store/queries/bulk-jobs.ts";
import type { BulkRow, JudgedRow } from "../store/queries/bulk-rows.ts";
import { type Conversion, findByOrders, findManyByPublicId } from "../store/queries/conversions.ts";
import { NOTHING_OWED, type Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import { parseDecision } from "./bulk-row.ts";

export interface BatchOutcome {
	rows: readonly JudgedRow[];
	owed: Owed;
}

type Meeting =
	| { kind: "settled"; row: JudgedRow }
	| { kind: "request"; seq: number; request: DecisionRequest };

/** What each row would do. */
export async function previewBatch(trx: Db, job: BulkJob, rows: readonly BulkRow[]): Promise<BatchOutcome> {
	const known = await findKnown(trx, job, rows);
	const judged = rows.map((row): JudgedRow => {
		const meeting = meetConversion(job, row, known);
		return meeting.kind === "settled" ? meeting.row : foresee(meeting.seq, meeting.request);
	});
	return { rows: judged, owed: NOTHING_OWED };
}

function foresee(seq: number, { conversion, decision }: DecisionRequest): JudgedRow {
	const { public_id, order_id, event_type } = conversion;
	const row = { seq, detail: null, conversion: public_id, order: { order_id, event_type } };
	const { basket_value, commission, currency, test } = conversion;
	const verdict = judgeMove(conversion.status, decision.move);
	switch (verdict.kind) {
		case "apply":
			return { ...row, verdict: "change", money: { basket_value, commission, currency, test } };
		case "already":
			return { ...row, verdict: "already" };
		case "refuse":
			return { ...row, verdict: "refused", detail: plainWords(verdict.fault) };
		default:
			return verdict satisfies never;
	}
}

/** Does what the preview promised and nothing else: to that very conversion, and what it refused stays refused. */
export async function applyBatch(
	trx: Db,
	deps: InTransaction,
	job: BulkJob,
	rows: readonly BulkRow[],
): Promise<BatchOutcome> {
	const promised = rows.filter(({ verdict }) => verdict === "change");
	const byId = await findOwn(
		trx,
		job,
		promised.flatMap(({ conversion }) => conversion ?? []),
	);
	const meetings = promised.map((row) => meetPromised(job, row, byId.get(row.conversion ?? "")));
	const requested = meetings.flatMap((meeting) => (meeting.kind === "request" ? [meeting] : []));
	const decided = await decideMany(
		trx,
		deps,
		requested.map(({ request }) => request),
		job.person_id,
	);
	const judged = requested.map(({ seq, request }, index): JudgedRow => {
		const result = decided.results[index];
		const row = { seq, detail: null, conversion: request.conversion.public_id };
		if (result === undefined) throw new Error("a decision came back without its result");
		if (!result.ok) return { ...row, verdict: "refused", detail: plainWords(result.fault) };
		return { ...row, verdict: result.value.outcome === "changed" ? "change" : "already" };
	});
	const settled = meetings.flatMap((meeting) => (meeting.kind === "settled" ? [meeting.row] : []));
	const left = rows.flatMap(({ seq, verdict, detail, conversion }) =>
		verdict === null || verdict === "change" ? [] : [{ seq, verdict, detail, conversion }],
	);
	return { rows: [...left, ...settled, ...judged], owed: decided.owed };
}

function meetPromised(job: BulkJob, row: BulkRow, conversion: Conversion | undefined): Meeting {
	const { seq } = row;
	const settle = (verdict: JudgedRow["verdict"], detail: string): Meeting => ({
		kind: "settled",
		row: { seq, verdict, detail, conversion: null },
	});
	const decision = parseDecision(row, job.decided_by);
	if (!decision.ok) return settle("refused", plainWords(decision.fault));
	if (conversion !== undefined)
		return { kind: "request", seq, request: { conversion, decision: decision.value } };
	return settle("unknown", "This conversion was removed after the preview. Nothing was decided about it.");
}

/** The conversions that a batch of rows names, by their ids or by their orders. */
interface Known {
	byId: ReadonlyMap<string, Conversion>;
	byOrder: ReadonlyMap<string, readonly Conversion[]>;
}

async function findKnown(trx: Db, job: BulkJob, rows: readonly BulkRow[]): Promise<Known> {
	const ids = rows.flatMap((row) => (row.named_conversion === "" ? [] : [row.named_conversion]));
	const orders = rows
		.filter((row) => row.named_conversion === "")
		.map(({ order_id }) => ({ programme_id: job.programme_id, order_id }));
	return {
		byId: await findOwn(trx, job, ids),
		byOrder: Map.groupBy(await findByOrders(trx, orders), (conversion) => conversion.order_id),
	};
}

/** Those of other programmes are as unknown as those that are not there. */
async function findOwn(trx: Db, job: BulkJob, ids: readonly string[]): Promise<Known["byId"]> {
	const found = await findManyByPublicId(trx, [...new Set(ids)]);
	const own = found.filter((conversion) => conversion.programme_id === job.programme_id);
	return new Map(own.map((conversion) => [conversion.public_id, conversion]));
}

function meetConversion(job: BulkJob, row: BulkRow, known: Known): Meeting {
	const { seq } = row;
	const namesakes = known.byOrder.get(row.order_id) ?? [];
	const conversion =
		row.named_conversion === ""
			? namesakes.find((namesake) => namesake.event_type === row.event_type)
			: known.byId.get(row.named_conversion);
	// With the conversion also where the row makes no sense: another line about it may say something else.
	const settle = (verdict: JudgedRow["verdict"], detail: string | null): Meeting => ({
		kind: "settled",
		row: { seq, verdict, detail, conversion: conversion?.public_id ?? null },
	});
	if (row.verdict === "malformed" || row.verdict === "left") return settle(row.verdict, row.detail);
	const decision = parseDecision(row, job.decided_by);
	if (!decision.ok) return settle("refused", plainWords(decision.fault));
	if (conversion === undefined) return settle("unknown", whyUnknown(row, namesakes));
	const disagreement = findDisagreement(row, conversion);
	if (disagreement !== null) return settle("refused", disagreement);
	return { kind: "request", seq, request: { conversion, decision: decision.value } };
}

function whyUnknown(row: BulkRow, namesakes: readonly Conversion[]): string {
	if (row.named_conversion !== "") {
		return `This programme has no conversion ${row.named_conversion}. Copy the conversionId from an export of this programme, or leave it empty to decide by orderId.`;
	}
	const eventType = parseEventType(row.event_type);
	if (!eventType.ok) return plainWords(eventType.fault);
	const known = namesakes.map(({ event_type }) => event_type);
	return plainWords(refuseUnknownOrder({ orderId: row.order_id, eventType: eventType.value }, known).fault);
}

/** What else a line says about the conversion that it names must be true of it; an empty cell says nothing. */
function findDisagreement(row: BulkRow, { public_id, order_id, event_type }: Conversion): string | null {
	if (row.named_conversion === "") return null;
	const says = `Line ${row.line} names conversion ${public_id}`;
	const advice = `That conversion is ${event_type} ${showUnseen(order_id)}. Correct the line, or leave its conversionId empty to decide by orderId.`;
	if (row.order_id !== "" && row.order_id !== order_id) {
		return `${says} but order ${showUnseen(row.order_id)}. ${advice}`;
	}
	if (row.event_type !== "" && row.event_type !== event_type) {
		return `${says} but the event type ${row.event_type}. ${advice}`;
	}
	return null;
}
