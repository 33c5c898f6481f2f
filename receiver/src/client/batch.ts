// Sends many sales or decisions in one call. The service reports a problem with one item in that item's
// result, and processes the others.

import { isObject } from "../json.ts";
import { type Decided, notPromised, type ReadAnswer, readAbout, readDecided } from "./answer.ts";
import type { Parsed } from "./conversion.ts";
import {
	classifyRefusal,
	type Misconfigured,
	type Refused,
	refuseUnsent,
	type Unavailable,
} from "./failure.ts";
import { readProblem } from "./problem.ts";
import { type Decision, type Sale, writeJson } from "./report.ts";
import { isWorthAnotherTry } from "./retry.ts";

/**
 * Result of one item. Send an `unavailable` item again, and a `misconfigured` item after the setting was
 * corrected. A `refused` item would be refused again.
 */
export type BatchResult<Outcome extends string> =
	| ({ readonly ok: true } & Decided<Outcome>)
	| Omit<Refused, "attempts">
	| Omit<Misconfigured, "attempts">
	| Omit<Unavailable, "attempts" | "retryAfterMs">;

export type Batch<Outcome extends string> = {
	/** One result for each item, in the same order. */
	readonly results: readonly BatchResult<Outcome>[];
};

/**
 * Maximum number of items in a call. The client does not split a longer list, because one part could succeed
 * while the result of the other is unknown.
 */
const mostItems = 500;

type WrittenBatch =
	| { readonly ok: true; readonly text: string; readonly orderIds: readonly unknown[] }
	| Refused;

export function writeBatch(items: readonly (Sale | Decision)[]): WrittenBatch {
	// Callers in plain JavaScript may pass anything that their database returned.
	const list: unknown = items;
	if (!Array.isArray(list)) return refuseUnsent("invalid_field", "The argument", "must be a list.");
	if (list.length < 1 || list.length > mostItems) {
		const sentence = `must have 1 to ${mostItems} items, and has ${list.length}: make a call for each ${mostItems}.`;
		return refuseUnsent("invalid_field", "The list", sentence);
	}
	// The order ids are copied now, because the caller may change the list while the call is retried.
	const orderIds = list.map((item: unknown) => (isObject(item) ? item["orderId"] : undefined));
	const written = writeJson({ items: list });
	return written.ok ? { ...written, orderIds } : written;
}

export function readBatch<Outcome extends string>(
	orderIds: readonly unknown[],
	outcomes: readonly Outcome[],
): ReadAnswer<Batch<Outcome>> {
	const readItem = readDecided(outcomes);
	return (json, hidden) => {
		const list = isObject(json) ? json["results"] : undefined;
		if (!Array.isArray(list)) return notPromised("results is not a list");
		if (list.length !== orderIds.length) {
			return notPromised(`it has ${list.length} results for ${orderIds.length} items`);
		}
		const results: BatchResult<Outcome>[] = [];
		for (const [index, orderId] of orderIds.entries()) {
			const result = readResult(list[index], orderId, readItem, hidden);
			if (!result.ok) return notPromised(`of results[${index}], ${result.detail}`);
			results.push(result.value);
		}
		return { ok: true, value: { results } };
	};
}

function readResult<Outcome extends string>(
	json: unknown,
	orderId: unknown,
	readItem: ReadAnswer<Decided<Outcome>>,
	hidden: readonly string[],
): Parsed<BatchResult<Outcome>> {
	if (isObject(json) && json["problem"] !== undefined) return readRefusal(json["problem"], hidden);
	if (typeof orderId !== "string") return notPromised("the item had no order, and was done");
	const decided = readAbout("orderId", orderId, readItem)(json, hidden);
	return decided.ok ? { ok: true, value: { ok: true, ...decided.value } } : decided;
}

function readRefusal(
	json: unknown,
	hidden: readonly string[],
): Parsed<Exclude<BatchResult<never>, { ok: true }>> {
	const problem = readProblem(json, hidden);
	const status = isObject(json) ? json["status"] : undefined;
	if (problem === undefined || typeof status !== "number") {
		return notPromised("the problem is none (RFC 9457)");
	}
	const { detail } = problem;
	return isWorthAnotherTry(status)
		? { ok: true, value: { ok: false, kind: "unavailable", retryable: true, status, detail } }
		: { ok: true, value: classifyRefusal({ status, ...problem }) };
}
