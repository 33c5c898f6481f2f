// The service has one conversion for each order and event type.

/** Returns a key for the conversion of an order and an event type, whose id need not be known yet. */
export function conversionKey(orderId: unknown, eventType: unknown = "SALE"): string {
	// The key is JSON, because joining the two texts with a separator could give the same key for different pairs.
	return JSON.stringify([orderId, eventType]);
}
