// The inbound log: a row for every call, so that "why is order 1234 not here?" has an answer. Accepted calls
// write theirs in their own transaction; refusals that have none share an insert with those beside them.

import type { Log } from "../ports.ts";
import { insertInboundCalls, type NewInboundCall } from "../store/inbound.ts";
import type { Store } from "../store/store.ts";
import type { InboundKind } from "../store/tables/inbound.ts";

/** Enough for any target and detail of ours; a stranger's is cut. */
const MAX_TARGET_LENGTH = 2_048;
const MAX_DETAIL_LENGTH = 1_000;
const MAX_METHOD_LENGTH = 20;
/** A flood beyond this, while one insert runs, is counted and not kept: memory and the disk stay ours. */
export const MAX_REFUSALS_WAITING = 500;

/** Calls that name no programme, kept per minute: a stranger must not be able to fill the disk. */
export const MAX_STRANGERS_A_MINUTE = 1_000;
const MINUTE_MS = 60_000;

export interface InboundCall {
	kind: InboundKind;
	method: string;
	target: string;
}

export interface InboundEnd {
	programmeId: number | null;
	/** The outcome word of an accepted call, or the fault's code. */
	outcome: string;
	httpStatus: number;
	detail: string | null;
	orderId: string | null;
	conversionId: number | null;
}

export function inboundRow(call: InboundCall, end: InboundEnd, atMs: number): NewInboundCall {
	return {
		programme_id: end.programmeId,
		kind: call.kind,
		method: storable(call.method, MAX_METHOD_LENGTH),
		target: storable(call.target, MAX_TARGET_LENGTH),
		outcome: end.outcome,
		http_status: end.httpStatus,
		detail: end.detail === null ? null : storable(end.detail, MAX_DETAIL_LENGTH),
		order_id: end.orderId,
		conversion_id: end.conversionId,
		at_ms: atMs,
	};
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
	#minute = 0;
	#strangers = 0;

	constructor({ store, log }: { store: Pick<Store, "db">; log: Log }) {
		this.#store = store;
		this.#log = log;
	}

	/** Resolves once the row is stored, or once it is sure that it cannot be: the caller is answered either way. */
	async write(row: NewInboundCall): Promise<void> {
		this.#next ??= { rows: [], written: Promise.withResolvers() };
		const batch = this.#next;
		if (batch.rows.length >= MAX_REFUSALS_WAITING || !this.#hasBudget(row)) {
			this.#dropped++;
			if (batch.rows.length === 0) this.#next = undefined;
			return;
		}
		batch.rows.push(row);
		this.#writing ??= this.#writeAll();
		await batch.written.promise;
	}

	#hasBudget(row: NewInboundCall): boolean {
		if (row.programme_id !== null) return true;
		const minute = Math.floor(row.at_ms / MINUTE_MS);
		if (minute !== this.#minute) {
			this.#minute = minute;
			this.#strangers = 0;
		}
		this.#strangers++;
		return this.#strangers <= MAX_STRANGERS_A_MINUTE;
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
