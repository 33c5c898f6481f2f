// The service has one conversion for each order and event type.

/** Returns a text that is the same for everything about one conversion, before its id is known. */
export function conversionKey(orderId: unknown, eventType: unknown = "SALE"): string {
	// The key is JSON, because joining the two texts with a separator could give the same key for different pairs.
	return JSON.stringify([orderId, eventType]);
}
