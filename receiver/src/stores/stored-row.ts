// Rows of the tables that the ready stores create in the shop's database, and the parts that both stores share.

import type { Conversion } from "../conversion-fields.ts";
import type { ClaimSettings } from "../durable/claims.ts";
import type { DurableReceiverOptions } from "../durable/create-durable-receiver.ts";
import type { PostbackEvent } from "../event.ts";
import { demand } from "../option-checks.ts";
import type { OutboxCall, OutboxEntry, OutboxProgress } from "../outbox/outbox-entry.ts";

export type StoreOptions = {
	/**
	 * Called with the conversion of each answer to a call, before the call's row is marked as done. A shop writes
	 * status and commission to the order here. If it throws, the call is sent again later, which does no harm.
	 * `credit` says how a partner was credited.
	 */
	readonly onAnswer?: ((conversion: Conversion, credit: string | undefined) => unknown) | undefined;
	/**
	 * First part of the names of the tables. A shop with several programmes has one store for each, with a prefix of
	 * its own. Default: `ringback`.
	 */
	readonly tablePrefix?: string | undefined;
};

/** A call that the service has refused, so that a person must decide. */
export type RefusedCall = {
	readonly id: number;
	readonly call: OutboxCall;
	/** Sentence that says why the service refused the call. */
	readonly detail: string;
};

/** Options for `createDurableReceiver`, with claims. */
export type CallbackTable = Pick<DurableReceiverOptions, "insert" | "listOpen" | "markDone"> & {
	readonly [Name in keyof ClaimSettings]-?: NonNullable<ClaimSettings[Name]>;
};

/** Names of a store's tables, which are safe in SQL. */
export type TableNames = { readonly outbox: string; readonly callbacks: string; readonly claims: string };

/**
 * Maximum length of the prefix. The names of indexes are at most 19 characters longer, and PostgreSQL allows
 * 63.
 */
const mostPrefixCharacters = 40;

export function nameTables({ tablePrefix: prefix = "ringback" }: StoreOptions): TableNames {
	const isSafe =
		typeof prefix === "string" && /^[a-z][a-z0-9_]*$/.test(prefix) && prefix.length <= mostPrefixCharacters;
	demand(
		isSafe,
		`tablePrefix must be 1 to ${mostPrefixCharacters} of a-z, 0-9 and _, and begin with a letter.`,
	);
	return { outbox: `${prefix}_outbox`, callbacks: `${prefix}_callbacks`, claims: `${prefix}_claims` };
}

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

export function readRefused(row: unknown): RefusedCall {
	const { id, call, detail } = readColumns(row);
	return { id: Number(id), call: readCall(String(call)), detail: String(detail ?? "") };
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
		case "settled":
		case "refused":
			return [progress.state, entry.attempts, 0, progress.detail];
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
