// The event in a delivery's body (section 2.1), checked field by field.

// The contract gives no policy for later names or words. A name unknown today must still reach the shop: an
// answer of 4xx would end its delivery for good.
type OrLater<Known extends string> = Known | (string & Record<never, never>);

export type PostbackEvent = {
	readonly event: OrLater<
		"conversion.recorded" | "conversion.approved" | "conversion.rejected" | "conversion.reversed"
	>;
	readonly conversionId: string;
	readonly orderId: string;
	readonly programId: string;
	readonly status: OrLater<"RECORDED" | "APPROVED" | "REJECTED" | "REVERSED">;
	readonly eventType: OrLater<"SALE">;
	/** Decimal amounts stay strings: turning one into a number may round it. */
	readonly basketValue: string;
	readonly commission: string;
	readonly networkFee: string;
	readonly currency: string;
	readonly reason: string | null;
	readonly test: boolean;
	/** When the sale happened, ISO 8601 UTC. */
	readonly occurredAt: string;
	/** When this attempt was made, ISO 8601 UTC: the one field that differs between attempts. */
	readonly sentAt: string;
};

export type ParsedEvent =
	| { readonly ok: true; readonly event: PostbackEvent }
	| { readonly ok: false; readonly detail: string };

/** Fields the contract does not name are left out of the event, and are no fault. */
export function parseEvent(body: Uint8Array): ParsedEvent {
	const fields = parseObject(body);
	if (fields === undefined) return { ok: false, detail: "The body is not a JSON object in UTF-8." };

	const wrong: string[] = [];
	const text = (name: keyof PostbackEvent): string => {
		const value = fields[name];
		if (typeof value === "string") return value;
		wrong.push(`${name} (string)`);
		return "";
	};
	const textOrNull = (name: keyof PostbackEvent): string | null => {
		const value = fields[name];
		if (typeof value === "string" || value === null) return value;
		wrong.push(`${name} (string or null)`);
		return null;
	};
	const flag = (name: keyof PostbackEvent): boolean => {
		const value = fields[name];
		if (typeof value === "boolean") return value;
		wrong.push(`${name} (boolean)`);
		return false;
	};

	const event: PostbackEvent = {
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
	if (wrong.length > 0) return { ok: false, detail: `Missing or of the wrong type: ${wrong.join(", ")}.` };
	return { ok: true, event };
}

function parseObject(body: Uint8Array): Record<string, unknown> | undefined {
	try {
		const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
		return isObject(value) ? value : undefined;
	} catch {
		// Bad UTF-8 and bad JSON are one answer to the caller; the parser's message quotes the body, so it
		// goes no further.
		return undefined;
	}
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
