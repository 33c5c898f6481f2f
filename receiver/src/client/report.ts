// What a shop reports and decides, and the slips worth catching before anything is sent.

import { isObject } from "../json.ts";
import type { ConversionStatus, EventType, Reason } from "../words.ts";
import { type Refused, refuseUnsent } from "./failure.ts";

export type Sale = {
	/** The shop's own; one conversion per order and event type, however often it is reported. */
	readonly orderId: string;
	/** A decimal string such as `"129.90"`: a number can lose cents on its way. */
	readonly basketValue: string;
	/** Default `SALE`. */
	readonly eventType?: EventType | undefined;
	/** Default: the programme's. */
	readonly currency?: string | undefined;
	/** RFC 3339 with an offset or `Z`. Default: when the service hears of it. */
	readonly occurredAt?: string | Date | undefined;
	/** Default false. */
	readonly test?: boolean | undefined;
	/** Who brought the customer: the click ID that they came to the shop's page with. */
	readonly clickId?: string | undefined;
	/** A coupon code that the customer used. */
	readonly couponCode?: string | undefined;
};

export type Approval = {
	readonly orderId: string;
	/** Default `SALE`. */
	readonly eventType?: EventType | undefined;
};

/** A rejection or a reversal: neither goes without its reason. */
export type ReasonedDecision = Approval & { readonly reason: Reason };

/** One of many. */
export type Decision =
	| ({ readonly decision: "approve" } & Approval)
	| ({ readonly decision: "reject" | "reverse" } & ReasonedDecision);

export type ConversionQuery = {
	readonly status?: ConversionStatus | undefined;
	readonly orderId?: string | undefined;
	/** When it was recorded: a time such as `2026-03-01T13:00:00Z`, or a day, which begins at midnight UTC. */
	readonly recordedFrom?: string | undefined;
	readonly recordedBefore?: string | undefined;
	/** The time of the sale. With one of these the list is in the order of the sales, the newest first. */
	readonly occurredFrom?: string | undefined;
	readonly occurredBefore?: string | undefined;
	/** 1 to 200; default 50. */
	readonly limit?: number | undefined;
	/** `nextCursor` of the page before. */
	readonly cursor?: string | undefined;
};

export type Written = { readonly ok: true; readonly text: string } | Refused;

/** Fields the service does not know are sent as they are: it names a misspelt one, dropping it would hide it. */
export function writeReport(report: Sale | Approval | ReasonedDecision): Written {
	// Callers in plain JavaScript hand over whatever their database gave them.
	const fields: unknown = report;
	if (!isObject(fields)) return refuseUnsent("invalid_field", "The argument", "must be an object.");
	const { orderId, basketValue } = fields;
	if (typeof orderId !== "string") {
		return refuseUnsent("invalid_field", "orderId", 'must be a string such as "1001".');
	}
	if (basketValue !== undefined && typeof basketValue !== "string") {
		return refuseUnsent(
			"amount_not_a_string",
			"basketValue",
			'must be a string such as "129.90": a number can lose cents on its way.',
		);
	}
	return writeJson(fields);
}

export function writeJson(value: object): Written {
	try {
		return { ok: true, text: JSON.stringify(value) };
	} catch {
		// A bigint or a circle; the message would quote the data.
		return refuseUnsent("invalid_field", "The argument", "holds what cannot be written as JSON.");
	}
}

type WrittenQuery = { readonly ok: true; readonly path: string } | Refused;

/** Path and query of a listing, in the form that goes on the wire. */
export function writeQuery(query: ConversionQuery): WrittenQuery {
	const fields: unknown = query;
	if (!isObject(fields)) return refuseUnsent("invalid_field", "The query", "must be an object.");
	const pairs = new URLSearchParams();
	for (const [name, value] of Object.entries(fields)) {
		if (value === undefined || value === null) continue;
		if (typeof value !== "string" && typeof value !== "number") {
			return refuseUnsent("invalid_field", name, "must be a string or a number.");
		}
		pairs.append(name, String(value));
	}
	const text = pairs.toString();
	return { ok: true, path: `/v1/conversions${text === "" ? "" : `?${text}`}` };
}
