// The words in the service's callbacks, answers and requests. The types also accept words that the service
// may add later.

// A word that is added later must not break a shop's build, but editors should still suggest today's words.
export type OrLater<Known extends string> = Known | (string & Record<never, never>);

/** Name of an event. `isKnownEvent` distinguishes the names that are known today from later ones. */
export type EventName = OrLater<
	"conversion.recorded" | "conversion.approved" | "conversion.rejected" | "conversion.reversed"
>;

/** Status that a callback can have. */
export type AnnouncedStatus = OrLater<"RECORDED" | "APPROVED" | "REJECTED" | "REVERSED">;

/** Status of a conversion. `PARKED` and `EXPIRED` never occur in a callback. */
export type ConversionStatus = OrLater<
	"PARKED" | "EXPIRED" | "RECORDED" | "APPROVED" | "REJECTED" | "REVERSED"
>;

export type EventType = OrLater<
	"SALE" | "LEAD" | "SIGNUP" | "SUBSCRIPTION" | "RENEWAL" | "INSTALL" | "OTHER"
>;

export const knownReasons = [
	"RETURN",
	"CANCELLED",
	"PAYMENT_FAILED",
	"CHARGEBACK",
	"OUT_OF_STOCK",
	"DUPLICATE",
	"FRAUD",
	"TERMS_VIOLATION",
	"SELF_REFERRAL",
	"OTHER_CHANNEL",
	"INVALID_LEAD",
	"TEST_ORDER",
	"TRACKING_ERROR",
	"OTHER",
] as const;

export type Reason = OrLater<(typeof knownReasons)[number]>;

export type ConversionSource = OrLater<"postback" | "pixel" | "test" | "import">;

export type Decider = OrLater<"shop" | "review" | "window">;

/** Codes of refusals that a shop's code may want to distinguish. The service has more. */
export type RefusalCode = OrLater<
	| "unknown_api_key"
	| "revoked_api_key"
	| "stale_timestamp"
	| "replayed_nonce"
	| "bad_signature"
	| "unknown_order"
	| "unknown_conversion"
	| "move_not_allowed"
	| "invalid_field"
	| "unknown_field"
	| "amount_not_a_string"
	| "malformed_amount"
	| "wrong_currency"
	| "unknown_event_type"
	| "unknown_reason"
	| "missing_reason"
	| "malformed_cursor"
	| "key_may_not_decide"
	| "too_many_coupon_codes"
	/** Code that the client itself uses if the service's address answers with a redirect. */
	| "redirected"
	/** Code that the client itself uses if the function for `secret` finds none. */
	| "no_usable_secret"
>;
