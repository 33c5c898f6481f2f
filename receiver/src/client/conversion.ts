// A conversion as the service returns it, checked field by field.

import { readFields } from "../field-reader.ts";
import { isObject } from "../json.ts";
import type { ConversionSource, ConversionStatus, Decider, EventType, Reason } from "../words.ts";

export type Conversion = {
	readonly id: string;
	readonly orderId: string;
	readonly programId: string;
	readonly status: ConversionStatus;
	readonly eventType: EventType;
	/**
	 * Value without refunds. Every amount is a decimal string, because converting it to a number may round it.
	 */
	readonly basketValue: string;
	readonly commission: string;
	readonly networkFee: string;
	readonly currency: string;
	readonly reason: Reason | null;
	readonly test: boolean;
	readonly source: ConversionSource;
	/** Amount that a pixel reported before the shop's server reported the sale. */
	readonly pixelBasketValue: string | null;
	/** Sum of all partial refunds. */
	readonly refundedValue: string;
	readonly decidedBy: Decider | null;
	/** Time of the sale. All times are ISO 8601 in UTC. */
	readonly occurredAt: string;
	readonly createdAt: string;
	/** Time of the last change. */
	readonly updatedAt: string;
	/** Time at which the conversion is approved automatically, if it is `RECORDED`. */
	readonly approvesAt: string | null;
	/** Time at which the conversion expires without a confirmation, if it is `PARKED`. */
	readonly expiresAt: string | null;
};

export type Parsed<Value> =
	| { readonly ok: true; readonly value: Value }
	| { readonly ok: false; readonly detail: string };

/** Parses a conversion and ignores unknown fields. */
export function parseConversion(json: unknown): Parsed<Conversion> {
	if (!isObject(json)) return { ok: false, detail: "the conversion is not an object" };
	const { text, textOrNull, flag, wrong } = readFields<keyof Conversion>(json);
	const value: Conversion = {
		id: text("id"),
		orderId: text("orderId"),
		programId: text("programId"),
		status: text("status"),
		eventType: text("eventType"),
		basketValue: text("basketValue"),
		commission: text("commission"),
		networkFee: text("networkFee"),
		currency: text("currency"),
		reason: textOrNull("reason"),
		test: flag("test"),
		source: text("source"),
		pixelBasketValue: textOrNull("pixelBasketValue"),
		refundedValue: text("refundedValue"),
		decidedBy: textOrNull("decidedBy"),
		occurredAt: text("occurredAt"),
		createdAt: text("createdAt"),
		updatedAt: text("updatedAt"),
		approvesAt: textOrNull("approvesAt"),
		expiresAt: textOrNull("expiresAt"),
	};
	if (wrong.length === 0) return { ok: true, value };
	return { ok: false, detail: `missing or of the wrong type: ${wrong.map(({ name }) => name).join(", ")}` };
}
