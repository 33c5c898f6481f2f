// Rows of the tables that the ready stores create in the shop's database, and the parts that both stores share.

import type { Conversion } from "../client/conversion.ts";
import type { PostbackEvent } from "../event.ts";
import type { OutboxCall, OutboxEntry, OutboxProgress } from "../outbox/outbox-entry.ts";

export type StoreOptions = {
	/**
	 * Called with the conversion of each answer to a call, before the call's row is marked as done. A shop writes
	 * status and commission to the order here. If it throws, the call is sent again later, which does no harm.
	 * `credit` says how a partner was credited.
	 */
	readonly onAnswer?: ((conversion: Conversion, credit: string | undefined) => unknown) | undefined;
};

/** Returns an entry of the outbox. Databases return large integers as texts or as bigint. */
export function readEntry(row: unknown): OutboxEntry {
	const { id, call, attempts, due_at_ms } = readColumns(row);
	return {
		id: Number(id),
		call: readCall(String(call)),
		attempts: Number(attempts),
		dueAtMs: Number(due_at_ms),
	};
}

/** Returns an event from the table of callbacks. It was verified before it was stored. */
export function readEvent(row: unknown): PostbackEvent {
	return JSON.parse(String(readColumns(row)["body"]));
}

/** Returns the columns that change with the progress of an entry: state, attempts, due_at_ms, detail. */
export function progressColumns(
	entry: OutboxEntry,
	progress: OutboxProgress,
): [state: string, attempts: number, dueAtMs: number, detail: string | null] {
	switch (progress.state) {
		case "open":
			return ["open", progress.attempts, progress.dueAtMs, progress.detail];
		case "refused":
			return ["refused", entry.attempts, 0, progress.detail];
		case "done":
			return ["done", entry.attempts, 0, null];
		default:
			return progress satisfies never;
	}
}

/** Parses a call. The outbox refuses a row whose text is not JSON, and continues with the others. */
function readCall(text: string): OutboxCall {
	try {
		return JSON.parse(text);
	} catch {
		return JSON.parse("null");
	}
}

function readColumns(row: unknown): Readonly<Record<string, unknown>> {
	return { ...Object(row) };
}
