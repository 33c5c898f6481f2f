// Many decisions become a stored job: nothing is decided yet. Rows go in by batches, and only the last one makes the
// job visible, so that a half-stored one is never seen.

import { type DecisionMove, judgeDecision, type Side } from "../conversions/decision-rights.ts";
import { BATCH_ROWS, type ConversionsDeps } from "../conversions/deps.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { type BulkJob, deleteJob, insertJob, moveJob } from "../store/queries/bulk-jobs.ts";
import { insertRows } from "../store/queries/bulk-rows.ts";
import { type ConversionFilter, readAllConversions } from "../store/queries/conversion-list.ts";
import { type Conversion, findManyByPublicId } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { BulkJobsTable } from "../store/tables/bulk.ts";
import { MAX_BULK_ROWS, MAX_BULK_ROWS_TEXT, readDecisions } from "./bulk-csv.ts";
import type { CheckedRow } from "./bulk-row.ts";

export interface Decider {
	personId: number;
	side: Side;
}

export interface UploadedFile {
	name: string;
	/** From its first byte, as often as asked. */
	read(): AsyncIterable<Uint8Array>;
}

export async function uploadDecisions(
	deps: ConversionsDeps,
	programme: Programme,
	decider: Decider,
	file: UploadedFile,
): Promise<Result<BulkJob>> {
	const yieldLoop = () => deps.clock.yieldLoop();
	// Read twice, and never held: a file that is refused at its last line has stored nothing.
	const checked = await readDecisions(file.read(), { take: async () => undefined, yieldLoop });
	if (!checked.ok) return checked;
	const origin = { source: "file", file_name: file.name, list_query: null } as const;
	const job = await openJob(deps, programme, decider, checked.value, origin);
	let stored = 0;
	const take = async (rows: readonly CheckedRow[]) => {
		await storeRows(deps, job, rows, stored);
		stored += rows.length;
	};
	const read = await readDecisions(file.read(), { take, yieldLoop });
	if (!read.ok || stored !== checked.value) throw new Error("an uploaded file changed while it was read");
	return succeed(await showJob(deps, job));
}

/** What a person decides about on the list, and where they come back to. */
export interface ListDecision {
	move: DecisionMove;
	reason: string;
	/** The filters of the list, as they stand in its address. */
	listQuery: string;
}

/** What a person ticked on a page, as a job. Ids of other programmes are as unknown as those of none. */
export async function selectDecisions(
	deps: ConversionsDeps,
	programme: Programme,
	decider: Decider,
	{ conversionIds, ...asked }: ListDecision & { conversionIds: readonly string[] },
): Promise<Result<BulkJob>> {
	const decision = judgeDecision(decider.side, asked.move, asked.reason);
	if (!decision.ok) return decision;
	const found = await findManyByPublicId(deps.store.db, [...new Set(conversionIds)]);
	const own = found.filter((conversion) => conversion.programme_id === programme.id);
	if (own.length === 0) return refuseNothing();
	const sorted = own.toSorted((one, other) => other.id - one.id);
	const origin = { source: "selection", file_name: null, list_query: asked.listQuery } as const;
	const job = await openJob(deps, programme, decider, sorted.length, origin);
	await storeRows(deps, job, rowsFor(sorted, asked, 0), 0);
	return succeed(await showJob(deps, job));
}

/** Everything that the filters of the list find at this moment. What comes in later is not among it. */
export async function selectMatching(
	deps: ConversionsDeps,
	programme: Programme,
	decider: Decider,
	{ filter, ...asked }: ListDecision & { filter: ConversionFilter },
): Promise<Result<BulkJob>> {
	const decision = judgeDecision(decider.side, asked.move, asked.reason);
	if (!decision.ok) return decision;
	const origin = { source: "matching", file_name: null, list_query: asked.listQuery } as const;
	const job = await openJob(deps, programme, decider, 0, origin);
	const own = { ...filter, programmeId: programme.id };
	let stored = 0;
	for await (const batch of readAllConversions(deps.store.db, own, BATCH_ROWS)) {
		if (stored + batch.length > MAX_BULK_ROWS) {
			await deps.store.transact((trx) => deleteJob(trx, job.id));
			return refuse(
				"too_many_rows",
				`More than ${MAX_BULK_ROWS_TEXT} conversions match. Set dates or other filters, and decide in parts.`,
			);
		}
		if (batch.length > 0) await storeRows(deps, job, rowsFor(batch, asked, stored), stored);
		stored += batch.length;
	}
	if (stored === 0) {
		await deps.store.transact((trx) => deleteJob(trx, job.id));
		return refuseNothing();
	}
	return succeed(await showJob(deps, { ...job, row_count: stored }));
}

function refuseNothing(): ReturnType<typeof refuse> {
	return refuse("nothing_selected", "Nothing is selected. Select conversions first, then choose what to do.");
}

function rowsFor(
	conversions: readonly Conversion[],
	{ move, reason }: ListDecision,
	storedRows: number,
): CheckedRow[] {
	return conversions.map((conversion, index) => ({
		line: storedRows + index + 1,
		conversionId: conversion.public_id,
		orderId: conversion.order_id,
		eventType: conversion.event_type,
		decision: move,
		reason: move === "approve" ? "" : reason,
		verdict: null,
		problem: null,
	}));
}

/** Nobody sees it before it is shown. */
function openJob(
	{ store, clock, random }: ConversionsDeps,
	programme: Programme,
	decider: Decider,
	rowCount: number,
	origin: Pick<BulkJobsTable, "source" | "file_name" | "list_query">,
): Promise<BulkJob> {
	const nowMs = clock.nowMs();
	return insertJob(store.db, {
		...origin,
		public_id: makeId("job", nowMs, random.bytes(ID_RANDOM_BYTES)),
		programme_id: programme.id,
		person_id: decider.personId,
		decided_by: decider.side,
		state: "storing",
		row_count: rowCount,
		done_rows: 0,
		claim_until_ms: 0,
		created_at_ms: nowMs,
	});
}

/** A batch of them, behind those that are stored. */
async function storeRows(
	{ store, clock }: ConversionsDeps,
	job: BulkJob,
	rows: readonly CheckedRow[],
	storedRows: number,
): Promise<void> {
	const batch = rows.map((row, index) => ({
		job_id: job.id,
		seq: storedRows + index + 1,
		line: row.line,
		named_conversion: row.conversionId,
		order_id: row.orderId,
		event_type: row.eventType,
		decision: row.decision,
		reason: row.reason,
		verdict: row.verdict,
		detail: row.problem,
	}));
	await store.transact((trx) => insertRows(trx, batch));
	await clock.yieldLoop();
}

async function showJob({ store, clock }: ConversionsDeps, job: BulkJob): Promise<BulkJob> {
	await store.transact(async (trx) => {
		await moveJob(trx, job.id, "storing", { state: "uploaded", row_count: job.row_count });
		// What somebody ticked and has not confirmed yet is no record of anything.
		if (job.source !== "file") return;
		const note = {
			personId: job.person_id,
			programmeId: job.programme_id,
			action: "decisions.prepared" as const,
			subject: job.public_id,
			detail: `${job.row_count} rows`,
		};
		await noteAudit(trx, note, clock.nowMs());
	});
	return { ...job, state: "uploaded" };
}
