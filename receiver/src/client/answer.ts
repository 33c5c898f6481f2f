// Checks that a successful answer has the content that the call requires. Any other 2xx answer did not come
// from this API.

import type { Conversion } from "../conversion-fields.ts";
import { isObject } from "../json.ts";
import { type Parsed, parseConversion } from "./conversion.ts";
import { parseRefund, type RecordedRefund } from "./recorded-refund.ts";

/** Reads the content of an answer. The texts in `hidden` are removed from messages of the service. */
export type ReadAnswer<Value> = (json: unknown, hidden: readonly string[]) => Parsed<Value>;

export type Decided<Outcome extends string> = {
	readonly outcome: Outcome;
	readonly conversion: Conversion;
	/**
	 * Word that says how a partner was credited, or why nobody was. Present for a sale in a programme with
	 * partners.
	 */
	readonly credit?: string;
	/**
	 * Fields in which a repeated sale (`DUPLICATE`) differs from the stored conversion, which stays unchanged.
	 */
	readonly differs?: readonly string[];
	/** The refund, if the decision is a refund. */
	readonly refund?: RecordedRefund;
};

export type Refunded = Decided<"REFUNDED" | "REVERSED"> & { readonly refund: RecordedRefund };

export type Shown = {
	readonly conversion: Conversion;
	/** Refunds of the conversion, the oldest first. */
	readonly refunds: readonly RecordedRefund[];
};

export type Page = {
	/** Conversions of this page, in the order of the list. */
	readonly conversions: readonly Conversion[];
	/** Cursor of the next page, or null on the last one. */
	readonly nextCursor: string | null;
};

/** Reads the answer to a decision. An unknown outcome word makes the answer unexpected. */
export function readDecided<Outcome extends string>(
	outcomes: readonly Outcome[],
): ReadAnswer<Decided<Outcome>> {
	return (json) => {
		if (!isObject(json)) return notPromised("it is not a JSON object");
		const outcome = outcomes.find((known) => known === json["outcome"]);
		if (outcome === undefined) return notPromised(`its outcome is not ${outcomes.join(", ")}`);
		const conversion = parseConversion(json["conversion"]);
		if (!conversion.ok) return conversion;
		const { credit, differs } = json;
		const refund = json["refund"] === undefined ? undefined : parseRefund(json["refund"]);
		if (refund?.ok === false) return refund;
		const also = {
			...(typeof credit === "string" ? { credit } : {}),
			...(refund === undefined ? {} : { refund: refund.value }),
			...(Array.isArray(differs) ? { differs: differs.filter((field) => typeof field === "string") } : {}),
		};
		return { ok: true, value: { outcome, conversion: conversion.value, ...also } };
	};
}

const readRefundDecision = readDecided(["REFUNDED", "REVERSED"]);

/** Reads the answer to a refund, which must contain the refund. */
export const readRefunded: ReadAnswer<Refunded> = (json, hidden) => {
	const decided = readRefundDecision(json, hidden);
	if (!decided.ok) return decided;
	const { refund } = decided.value;
	if (refund === undefined) return notPromised("it has no refund");
	return { ok: true, value: { ...decided.value, refund } };
};

export const readShown: ReadAnswer<Shown> = (json) => {
	if (!isObject(json)) return notPromised("it is not a JSON object");
	const conversion = parseConversion(json["conversion"]);
	if (!conversion.ok) return conversion;
	if (!Array.isArray(json["refunds"])) return notPromised("refunds is not a list");
	const refunds: RecordedRefund[] = [];
	for (const one of json["refunds"]) {
		const refund = parseRefund(one);
		if (!refund.ok) return refund;
		refunds.push(refund.value);
	}
	return { ok: true, value: { conversion: conversion.value, refunds } };
};

/**
 * Checks that the answer is about the requested order. If it is not, a proxy has mixed up or cached answers.
 */
export function readAbout<Value extends { readonly conversion: Conversion }>(
	name: "orderId" | "id",
	asked: string,
	read: ReadAnswer<Value>,
): ReadAnswer<Value> {
	return (json, hidden) => {
		const answer = read(json, hidden);
		if (!answer.ok || answer.value.conversion[name] === asked) return answer;
		return notPromised(`it is about another ${name === "id" ? "conversion" : "order"}`);
	};
}

export const readPage: ReadAnswer<Page> = (json) => {
	if (!isObject(json)) return notPromised("it is not a JSON object");
	const { conversions: list, nextCursor } = json;
	if (!Array.isArray(list)) return notPromised("conversions is not a list");
	if (typeof nextCursor !== "string" && nextCursor !== null) {
		return notPromised("nextCursor is neither a string nor null");
	}
	const conversions: Conversion[] = [];
	for (const one of list) {
		const conversion = parseConversion(one);
		if (!conversion.ok) return conversion;
		conversions.push(conversion.value);
	}
	return { ok: true, value: { conversions, nextCursor } };
};

export function notPromised(detail: string): { ok: false; detail: string } {
	return { ok: false, detail };
}
