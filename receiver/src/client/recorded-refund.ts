// A refund as the service returns it, checked field by field.

import { readFields } from "../field-reader.ts";
import { isObject } from "../json.ts";
import type { Reason } from "../words.ts";
import type { Parsed } from "./conversion.ts";

export type RecordedRefund = {
	/** The shop's own id of the refund. */
	readonly refundId: string;
	/** Amount that was refunded, as a decimal string. */
	readonly amount: string;
	/** Value that was left after this refund, as a decimal string. It is 0 if the refund was a reversal. */
	readonly basketValue: string;
	readonly reason: Reason;
	/** Time at which the service stored the refund, ISO 8601 in UTC. */
	readonly refundedAt: string;
};

/** Parses a refund and ignores unknown fields. */
export function parseRefund(json: unknown): Parsed<RecordedRefund> {
	if (!isObject(json)) return { ok: false, detail: "the refund is not an object" };
	const { text, wrong } = readFields<keyof RecordedRefund>(json);
	const value: RecordedRefund = {
		refundId: text("refundId"),
		amount: text("amount"),
		basketValue: text("basketValue"),
		reason: text("reason"),
		refundedAt: text("refundedAt"),
	};
	if (wrong.length === 0) return { ok: true, value };
	const names = wrong.map(({ name }) => name).join(", ");
	return { ok: false, detail: `missing or of the wrong type in the refund: ${names}` };
}
