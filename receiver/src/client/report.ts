// The shop's reports and decisions, with checks for mistakes that are worth catching before a request is
// sent.

import { isDate } from "../is-date.ts";
import { isObject } from "../json.ts";
import type { ConversionStatus, EventType, Reason } from "../words.ts";
import { type Refused, refuseUnsent } from "./failure.ts";

export type Sale = {
	/**
	 * The shop's own order id. There is one conversion for each order and event type, however often it is
	 * reported.
	 */
	readonly orderId: string;
	/** Amount as a decimal string such as `"129.90"`, because a number can lose cents. */
	readonly basketValue: string;
	/** Type of the event. Default: `SALE`. */
	readonly eventType?: EventType | undefined;
	/** Currency of the amount. Default: the programme's currency. */
	readonly currency?: string | undefined;
	/**
	 * Time of the sale in RFC 3339 with an offset or `Z`. Default: the time at which the service receives the
	 * report.
	 */
	readonly occurredAt?: string | Date | undefined;
	/** True for a test conversion. Default: false. */
	readonly test?: boolean | undefined;
	/** Click ID with which the customer came to the shop. It identifies the partner to credit. */
	readonly clickId?: string | undefined;
	/** Coupon code that the customer used. */
	readonly couponCode?: string | undefined;
	/**
	 * All coupon codes of the order, at most 10, if there may be several. The first code that belongs to a
	 * partner counts. If `couponCode` is given too, it is tried before the others.
	 */
	readonly couponCodes?: readonly string[] | undefined;
};

export type Approval = {
	readonly orderId: string;
	/** Type of the event. Default: `SALE`. */
	readonly eventType?: EventType | undefined;
};

/** A rejection or a reversal. Both require a reason. */
export type ReasonedDecision = Approval & { readonly reason: Reason };

/** A refund of a part of an order. A refund of everything that is left is a reversal. */
export type Refund = ReasonedDecision & {
	/** The shop's own id of the refund. The same id is the same refund, however often it is reported. */
	readonly refundId: string;
	/** Currency of the amount. Default: the programme's currency. */
	readonly currency?: string | undefined;
} & (
		| {
				/** Amount that was paid back, as a decimal string. */
				readonly amount: string;
				readonly basketValue?: undefined;
		  }
		| {
				/** Value of the order that is left after the refund, as a decimal string. */
				readonly basketValue: string;
				readonly amount?: undefined;
		  }
	);

/** One item of a batch of decisions. */
export type Decision =
	| ({ readonly decision: "approve" } & Approval)
	| ({ readonly decision: "reject" | "reverse" } & ReasonedDecision)
	| ({ readonly decision: "refund" } & Refund);

/** A `Date`, a time such as `2026-03-01T13:00:00Z`, or a day, which begins at midnight UTC. */
export type QueryTime = string | Date;

export type ConversionQuery = {
	readonly status?: ConversionStatus | undefined;
	readonly orderId?: string | undefined;
	/** Earliest time at which the conversions were recorded. */
	readonly recordedFrom?: QueryTime | undefined;
	readonly recordedBefore?: QueryTime | undefined;
	/**
	 * Earliest time of the sales. If a limit for the time of sale is given, the list is sorted by it, newest
	 * first.
	 */
	readonly occurredFrom?: QueryTime | undefined;
	readonly occurredBefore?: QueryTime | undefined;
	/**
	 * Earliest time of the last change. The list then has conversions that changed after they were recorded,
	 * and starts with the oldest change. It cannot be combined with a limit for the time of sale.
	 */
	readonly changedFrom?: QueryTime | undefined;
	/** Page size from 1 to 200. Default: 50. */
	readonly limit?: number | undefined;
	/** Value of `nextCursor` from the previous page. */
	readonly cursor?: string | undefined;
};

export type Written = { readonly ok: true; readonly text: string } | Refused;

/**
 * Writes a report as JSON. Unknown fields are sent unchanged, because the service then names a misspelt
 * field. Dropping it would hide the mistake.
 */
export function writeReport(report: Sale | Approval | ReasonedDecision | Refund): Written {
	// Callers in plain JavaScript may pass anything that their database returned.
	const fields: unknown = report;
	if (!isObject(fields)) return refuseUnsent("invalid_field", "The argument", "must be an object.");
	if (typeof fields["orderId"] !== "string") {
		return refuseUnsent("invalid_field", "orderId", 'must be a string such as "1001".');
	}
	for (const name of ["basketValue", "amount"]) {
		if (fields[name] !== undefined && typeof fields[name] !== "string") {
			return refuseUnsent(
				"amount_not_a_string",
				name,
				'must be a string such as "129.90": a number can lose cents on its way.',
			);
		}
	}
	return writeJson(fields);
}

export function writeJson(value: object): Written {
	try {
		return { ok: true, text: JSON.stringify(value) };
	} catch {
		// The value contains a bigint or a circular object. The message of the original error is not used,
		// because it would quote the data.
		return refuseUnsent("invalid_field", "The argument", "holds what cannot be written as JSON.");
	}
}

/** Names of the query fields whose values are times. */
const timeNames: ReadonlySet<string> = new Set([
	"recordedFrom",
	"recordedBefore",
	"occurredFrom",
	"occurredBefore",
	"changedFrom",
] satisfies (keyof ConversionQuery)[]);

type WrittenQuery = { readonly ok: true; readonly path: string } | Refused;

/** Returns path and query of a list request, exactly as they are sent. */
export function writeQuery(query: ConversionQuery): WrittenQuery {
	const fields: unknown = query;
	if (!isObject(fields)) return refuseUnsent("invalid_field", "The query", "must be an object.");
	const pairs = new URLSearchParams();
	for (const [name, value] of Object.entries(fields)) {
		if (value === undefined || value === null) continue;
		const text = writeQueryValue(value);
		if (text === undefined) {
			const sentence = timeNames.has(name)
				? 'must be a valid Date, or a string such as "2026-03-01T13:00:00Z".'
				: "must be a string or a number.";
			return refuseUnsent("invalid_field", name, sentence);
		}
		pairs.append(name, text);
	}
	const text = pairs.toString();
	return { ok: true, path: `/v1/conversions${text === "" ? "" : `?${text}`}` };
}

/** Returns the text of a value in a query, or undefined if the value is not a string, a number or a valid Date. */
function writeQueryValue(value: unknown): string | undefined {
	if (typeof value === "string" || typeof value === "number") return String(value);
	return isDate(value) && !Number.isNaN(value.getTime()) ? value.toISOString() : undefined;
}
