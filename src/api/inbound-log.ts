// The inbound log: a row for every call, so that "why is order 1234 not here?" has an answer. Accepted calls
// write theirs in their own transaction; refusals that have none share an insert with those beside them.

import type { Fault } from "../domain/fault.ts";
import type { Budget } from "../domain/token-bucket.ts";
import type { Clock, Log } from "../ports.ts";
import type { NewInboundCall } from "../store/hot-writes.ts";
import { createBatches } from "../store/queries/batches.ts";
import type { Store } from "../store/store.ts";
import type { InboundCall } from "./inbound-call.ts";
import { createKeptBudgets } from "./kept-budgets.ts";

/** A pixel call with every field of ours has 150 characters, with a shop's own beside them seldom 300; the rest is cut. */
export const MAX_TARGET_LENGTH = 512;
/** Our own sentences have at most half of it. */
const MAX_DETAIL_LENGTH = 600;
const MAX_METHOD_LENGTH = 20;
/** A flood beyond this, while one insert runs, is counted and not kept: memory and the disk stay ours. */
export const MAX_REFUSALS_WAITING = 500;

/**
 * How many refusals are kept, each about half a kilobyte: a stranger must not be able to fill the disk. First by the
 * caller's block of addresses, so that one who sends garbage leaves room for the refusals of others; then by the
 * programme they name. Somebody who looks for a mistake in a shop's integration needs a few.
 */
export const BLOCK_REFUSALS: Budget = { burst: 120, perSecond: 1 };
export const PROGRAMME_REFUSALS: Budget = { burst: 600, perSecond: 5 };
/** Of calls that name no programme, or none that there is. */
export const STRANGERS_REFUSALS: Budget = { burst: 1_000, perSecond: 5 };
const MAX_KEPT_BUDGETS = 10_000;

export interface InboundEnd {
	programmeId: number | null;
	/** The outcome word of an accepted call, or the fault's code. */
	outcome: string;
	httpStatus: number;
	detail: string | null;
	orderId: string | null;
	conversionId: string | null;
}

export function acceptedEnd(
	{
		outcome,
		httpStatus,
		conversionId,
		detail = null,
	}: Pick<InboundEnd, "outcome" | "httpStatus" | "conversionId"> & { detail?: string | null },
	programmeId: number,
	orderId: string | null,
): InboundEnd {
	return { programmeId, outcome, httpStatus, detail, orderId, conversionId };
}

/** `httpStatus` is what the caller was told. */
export function refusedEnd(
	{ code, detail, ...found }: Fault,
	programmeId: number | null,
	orderId: string | null,
	httpStatus = found.httpStatus,
): InboundEnd {
	return { programmeId, outcome: code, httpStatus, detail, orderId, conversionId: null };
}

export function inboundRow(call: InboundCall, end: InboundEnd, atMs: number): NewInboundCall {
	return {
		programme_id: end.programmeId,
		kind: call.kind,
		method: storable(call.method, MAX_METHOD_LENGTH),
		target: cut(call.target),
		outcome: end.outcome,
		http_status: end.httpStatus,
		detail: end.detail === null ? null : storable(end.detail, MAX_DETAIL_LENGTH),
		order_id: end.orderId,
		conversion: end.conversionId,
		at_ms: atMs,
	};
}

/** What is left out is said, so that nobody takes the rest for the whole. */
function cut(target: string): string {
	if (target.length <= MAX_TARGET_LENGTH) return storable(target, MAX_TARGET_LENGTH);
	const mark = `… (cut: ${target.length} characters)`;
	return `${storable(target, MAX_TARGET_LENGTH - mark.length)}${mark}`;
}

/** PostgreSQL takes no NUL in text, neither database half a surrogate pair; a stranger may send both. */
function storable(text: string, maxLength: number): string {
	return text
		.slice(0, maxLength)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "\u{FFFD}");
}

export interface RefusalLog {
	/** Resolves once the row is stored, or once it is sure that it cannot be: the caller is answered either way. */
	write(call: InboundCall, end: InboundEnd, atMs: number): Promise<void>;
}

/** `clock` gives others their turn before a batch is written. */
export function createRefusalLog({
	store,
	log,
	clock,
}: {
	store: Pick<Store, "db" | "writes">;
	log: Log;
	clock: Clock;
}): RefusalLog {
	const blocks = createKeptBudgets(BLOCK_REFUSALS, MAX_KEPT_BUDGETS);
	const programmes = createKeptBudgets(PROGRAMME_REFUSALS, MAX_KEPT_BUDGETS);
	const strangers = createKeptBudgets(STRANGERS_REFUSALS, 1);
	const batches = createBatches(clock, writeRows, { maxSize: MAX_REFUSALS_WAITING });
	let dropped = 0;

	async function write(call: InboundCall, end: InboundEnd, atMs: number): Promise<void> {
		const isFull = batches.waitingSize >= MAX_REFUSALS_WAITING;
		if (isFull || !hasBudget(call.findBlock(), end.programmeId, atMs)) dropped++;
		else await batches.add(inboundRow(call, end, atMs));
	}

	function hasBudget(block: string | null, programmeId: number | null, atMs: number): boolean {
		if (block !== null && !blocks.take(block, atMs)) return false;
		return programmeId === null ? strangers.take("all", atMs) : programmes.take(programmeId, atMs);
	}

	/** Never rejects. */
	async function writeRows(rows: readonly NewInboundCall[]): Promise<readonly undefined[]> {
		if (dropped > 0) {
			log.warn({ dropped }, "too many refused calls at once: some are not in the log");
			dropped = 0;
		}
		try {
			await store.writes.insertInboundCalls(store.db, rows);
		} catch (error) {
			log.error({ err: error, rows: rows.length }, "refused calls could not be logged");
		}
		return rows.map(() => undefined);
	}

	return { write };
}
