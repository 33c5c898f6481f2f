// The fields of callbacks and of conversions. `npm run docs` writes this file from src/core/api/conversion-fields.ts in the
// repository of the service.

import type { FieldReader } from "./field-reader.ts";
import type {
	AnnouncedStatus,
	ConversionSource,
	ConversionStatus,
	Decider,
	EventName,
	EventType,
	Reason,
} from "./words.ts";

/**
 * The body of a callback, before its reason is compared with its name.
 * Amounts are decimal strings, because converting them to numbers may round them. Times are ISO 8601 in UTC.
 */
export type EventFields = {
	/** The event's name, as in the header. */
	readonly event: EventName;
	/** The conversion's ID. */
	readonly conversionId: string;
	/** The shop's own ID of the order, as it was reported. */
	readonly orderId: string;
	/** The programme that the conversion belongs to. */
	readonly programId: string;
	/** The status at the moment of the event. */
	readonly status: AnnouncedStatus;
	/** The kind of conversion. */
	readonly eventType: EventType;
	/** The order's value less partial refunds, with exactly the currency's decimals. */
	readonly basketValue: string;
	/** The affiliate's commission, by the rates that applied when the conversion was recorded. It stays the same when the conversion is rejected or reversed, and the affiliate then earns nothing. */
	readonly commission: string;
	/** The network's fee, by the rates that applied when the conversion was recorded. */
	readonly networkFee: string;
	/** ISO 4217 code. */
	readonly currency: string;
	/** Why it was rejected or reversed; null for the other two events. */
	readonly reason: Reason | null;
	/** True for a test conversion. */
	readonly test: boolean;
	/** The time of the sale. */
	readonly occurredAt: string;
	/** The time of this attempt. */
	readonly sentAt: string;
};

export function readEventFields({ text, textOrNull, flag }: FieldReader<keyof EventFields>): EventFields {
	return {
		event: text("event"),
		conversionId: text("conversionId"),
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
		occurredAt: text("occurredAt"),
		sentAt: text("sentAt"),
	};
}

/**
 * A conversion as the service returns it.
 * Amounts are decimal strings, because converting them to numbers may round them. Times are ISO 8601 in UTC.
 */
export type Conversion = {
	/** The conversion's ID. */
	readonly id: string;
	/** The shop's own ID of the order, as it was reported. */
	readonly orderId: string;
	/** The programme that the conversion belongs to. */
	readonly programId: string;
	/** The current status. `PARKED` (reported by a browser, and waiting for the shop's server) and `EXPIRED` (not confirmed in time) never appear in a callback. */
	readonly status: ConversionStatus;
	/** The kind of conversion. */
	readonly eventType: EventType;
	/** The order's value less partial refunds, with exactly the currency's decimals. */
	readonly basketValue: string;
	/** The affiliate's commission, by the rates that applied when the conversion was recorded. It stays the same when the conversion is rejected or reversed, and the affiliate then earns nothing. */
	readonly commission: string;
	/** The network's fee, by the rates that applied when the conversion was recorded. */
	readonly networkFee: string;
	/** ISO 4217 code. */
	readonly currency: string;
	/** Why it was rejected or reversed; null otherwise. */
	readonly reason: Reason | null;
	/** True for a test conversion. */
	readonly test: boolean;
	/** Who reported the sale. `postback`: the shop's server, by its own signed request to us. `pixel`: a browser. `test`: a test conversion. `import`: it was decided in other software before, and no callback announced it. */
	readonly source: ConversionSource;
	/** The value that the browser's pixel reported, or null if there was no pixel call. */
	readonly pixelBasketValue: string | null;
	/** The sum of all partial refunds. `basketValue` is what is left. A refund of everything that was left is a reversal, and is not in this sum. */
	readonly refundedValue: string;
	/** Who approved, rejected or reversed the conversion: the shop, the review team, or the approval window. Null before that, and if it was decided in other software. */
	readonly decidedBy: Decider | null;
	/** The time of the sale. */
	readonly occurredAt: string;
	/** The time at which the conversion was recorded, or first reported by a pixel. */
	readonly createdAt: string;
	/** The time of the last change. It is later than `createdAt` exactly if the conversion changed after that. */
	readonly updatedAt: string;
	/** The time at which a `RECORDED` conversion is approved automatically. Null otherwise, and while only a pixel has reported it. */
	readonly approvesAt: string | null;
	/** The time at which a `PARKED` conversion expires. Null otherwise. */
	readonly expiresAt: string | null;
};

export function readConversionFields({ text, textOrNull, flag }: FieldReader<keyof Conversion>): Conversion {
	return {
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
}
