// The domain's words as people read them.

import type { DecidedBy, EventType, Reason, Source, Status } from "../../domain/conversion.ts";
import type { Conversion } from "../../store/conversions.ts";

export const STATUS_WORDS: Readonly<Record<Status, string>> = {
	RECORDED: "Recorded",
	APPROVED: "Approved",
	REJECTED: "Rejected",
	REVERSED: "Reversed",
	PARKED: "Parked",
	EXPIRED: "Expired",
};

export const SOURCE_WORDS: Readonly<Record<Source, string>> = {
	postback: "signed request",
	pixel: "pixel",
	test: "test",
	import: "import",
};

export const REPORTER_WORDS: Readonly<Record<Source, string>> = {
	postback: "a signed request from the shop's server",
	pixel: "a pixel call from a browser",
	test: "a test on Integration",
	import: "the software it was imported from",
};

/** Recorded or decided on the word of a pixel alone, which anyone can call. */
export function isUnconfirmed({
	source,
	status,
	confirmed_at_ms: confirmedAtMs,
}: Pick<Conversion, "source" | "status" | "confirmed_at_ms">): boolean {
	return source === "pixel" && confirmedAtMs === null && status !== "PARKED" && status !== "EXPIRED";
}

export function decidedByWords(decidedBy: DecidedBy): string {
	switch (decidedBy) {
		case "shop":
			return "by the shop";
		case "review":
			return "by the review team";
		case "window":
			return "automatically";
		default:
			return decidedBy satisfies never;
	}
}

export function reasonWords(reason: Reason): string {
	return titleCase(reason);
}

/** PAYMENT_FAILED → Payment failed. */
export function titleCase(word: Reason | EventType): string {
	const text = word.toLowerCase().replaceAll("_", " ");
	return text.charAt(0).toUpperCase() + text.slice(1);
}
