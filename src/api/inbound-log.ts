// The inbound log: a row for every call, so that "why is order 1234 not here?" has an answer. Accepted calls
// write theirs in their own transaction; refusals that have none share an insert with those beside them.

import type { Budget } from "../domain/token-bucket.ts";
import type { Log } from "../ports.ts";
import { insertInboundCalls, type NewInboundCall } from "../store/inbound.ts";
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

interface Batch {
	rows: NewInboundCall[];
	written: PromiseWithResolvers<void>;
}

export class RefusalLog {
	readonly #store: Pick<Store, "db">;
	readonly #log: Log;
	#next: Batch | undefined;
	#writing: Promise<void> | undefined;
	#dropped = 0;
	readonly #blocks = createKeptBudgets(BLOCK_REFUSALS, MAX_KEPT_BUDGETS);
	readonly #programmes = createKeptBudgets(PROGRAMME_REFUSALS, MAX_KEPT_BUDGETS);
	readonly #strangers = createKeptBudgets(STRANGERS_REFUSALS, 1);

	constructor({ store, log }: { store: Pick<Store, "db">; log: Log }) {
		this.#store = store;
		this.#log = log;
	}

	/** Resolves once the row is stored, or once it is sure that it cannot be: the caller is answered either way. */
	async write(call: InboundCall, end: InboundEnd, atMs: number): Promise<void> {
		const row = inboundRow(call, end, atMs);
		this.#next ??= { rows: [], written: Promise.withResolvers() };
		const batch = this.#next;
		if (batch.rows.length >= MAX_REFUSALS_WAITING || !this.#hasBudget(call.block, row)) {
			this.#dropped++;
			if (batch.rows.length === 0) this.#next = undefined;
			return;
		}
		batch.rows.push(row);
		this.#writing ??= this.#writeAll();
		await batch.written.promise;
	}

	#hasBudget(block: string | null, { programme_id, at_ms }: NewInboundCall): boolean {
		if (block !== null && !this.#blocks.take(block, at_ms)) return false;
		if (programme_id === null || programme_id === undefined) return this.#strangers.take("all", at_ms);
		return this.#programmes.take(programme_id, at_ms);
	}

	async #writeAll(): Promise<void> {
		while (this.#next !== undefined) {
			const batch = this.#next;
			this.#next = undefined;
			await this.#writeBatch(batch.rows);
			batch.written.resolve();
		}
		this.#writing = undefined;
	}

	async #writeBatch(rows: readonly NewInboundCall[]): Promise<void> {
		if (this.#dropped > 0) {
			this.#log.warn({ dropped: this.#dropped }, "too many refused calls at once: some are not in the log");
			this.#dropped = 0;
		}
		try {
			await insertInboundCalls(this.#store.db, rows);
		} catch (error) {
			this.#log.error({ err: error, rows: rows.length }, "refused calls could not be logged");
		}
	}
}
