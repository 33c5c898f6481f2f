// The package lists the service's words itself, because it shares no code. Both lists must be the same.

import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import type { Conversion, PostbackEvent } from "@ringback/receiver";
import { EVENT_TYPES, REASONS } from "#core/domain/conversion.ts";

/** The known words of a type, without its plain string part, which would accept any word. */
type KnownOf<Word> = Word extends string ? (string extends Word ? never : Word) : never;

// The compiler compares each list with the package's types, and the test with the service.
const eventTypes: Record<KnownOf<PostbackEvent["eventType"]>, true> = {
	SALE: true,
	LEAD: true,
	SIGNUP: true,
	SUBSCRIPTION: true,
	RENEWAL: true,
	INSTALL: true,
	OTHER: true,
};
const reasons: Record<KnownOf<PostbackEvent["reason"]>, true> = {
	RETURN: true,
	CANCELLED: true,
	PAYMENT_FAILED: true,
	CHARGEBACK: true,
	OUT_OF_STOCK: true,
	DUPLICATE: true,
	FRAUD: true,
	TERMS_VIOLATION: true,
	SELF_REFERRAL: true,
	OTHER_CHANNEL: true,
	INVALID_LEAD: true,
	TEST_ORDER: true,
	TRACKING_ERROR: true,
	OTHER: true,
};

test("the package knows the event types and reasons that the service sends, in callbacks and answers", () => {
	deepEqual(Object.keys(eventTypes satisfies Record<KnownOf<Conversion["eventType"]>, true>), [
		...EVENT_TYPES,
	]);
	deepEqual(Object.keys(reasons satisfies Record<KnownOf<Conversion["reason"]>, true>), [...REASONS]);
});
