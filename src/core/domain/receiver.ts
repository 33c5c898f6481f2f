// Receivers of callbacks. A receiver is the shop of a programme, or a partner. Each has one callback URL and
// its own signing secrets. The engine knows only receivers, so callbacks are sent to shops and partners in
// the same way.

import { EVENT_NAMES, type EventName } from "./event-name.ts";

declare const IS_RECEIVER_ID: unique symbol;

/**
 * Row id of a receiver. The type is distinct, so that code which passes the id of a programme or partner does not
 * compile.
 */
export type ReceiverId = number & { readonly [IS_RECEIVER_ID]: true };

export type ReceiverKind = "shop" | "partner";

/** Form of a receiver's callbacks. A shop always gets JSON by POST. A partner may choose GET with macros. */
export const CALLBACK_FORMS = ["json", "get"] as const;
export type CallbackForm = (typeof CALLBACK_FORMS)[number];

/** The chosen events in the form in which they are stored with the URL. */
export function writeChosenEvents(events: readonly EventName[]): string {
	return EVENT_NAMES.filter((name) => events.includes(name)).join(" ");
}

/**
 * Names of all events, in the form in which a choice of events is stored. A shop always gets all events, and a
 * partner gets them by default.
 */
export const ALL_EVENTS: string = writeChosenEvents(EVENT_NAMES);

/**
 * Returns whether a partner gets this event. A tracker that is not told about tests would count a test as a real sale, so
 * a URL without the macro {test} gets no test conversions of shops.
 */
export function isChosen(
	{ form, url, chosenEvents }: { form: CallbackForm; url: string; chosenEvents: string },
	{ name, isTest }: { name: EventName; isTest: boolean },
): boolean {
	if (isTest && form === "get" && !url.includes(TEST_MACRO)) return false;
	return chosenEvents.split(" ").includes(name);
}

/** Macro that tells a tracker whether the conversion is a test. */
const TEST_MACRO = "{test}";
