// Parses the event in the body of a callback (contract section 2.1), field by field.

import { type EventFields, readEventFields } from "./conversion-fields.ts";
import { readFields } from "./field-reader.ts";
import { isObject, parseJson } from "./json.ts";
import type { OrLater, Reason } from "./words.ts";

type Named<Name extends string, Why> = Omit<EventFields, "event" | "reason"> & {
	readonly event: Name;
	readonly reason: Why;
};

/** The events that are known today, by name. The reason is null except for a rejection or a reversal. */
export type KnownEvent =
	| Named<"conversion.recorded", Reason | null>
	| Named<"conversion.approved", Reason | null>
	| Named<"conversion.rejected", Reason>
	| Named<"conversion.reversed", Reason>;

/**
 * An event whose name is unknown today. It must still reach the shop, because a 4xx answer would end its
 * delivery for good.
 */
export type LaterEvent = Named<OrLater<never>, Reason | null>;

/**
 * Any event. TypeScript cannot distinguish unknown names from known ones, so call `isKnownEvent` before a
 * `switch`.
 */
export type PostbackEvent = KnownEvent | LaterEvent;

const knownNames: readonly string[] = [
	"conversion.recorded",
	"conversion.approved",
	"conversion.rejected",
	"conversion.reversed",
] satisfies KnownEvent["event"][];

/** Returns true for the four events that are known today. */
export function isKnownEvent(event: PostbackEvent): event is KnownEvent {
	return knownNames.includes(event.event);
}

export type ParsedEvent =
	| { readonly ok: true; readonly event: PostbackEvent }
	| { readonly ok: false; readonly detail: string };

/** Parses the body. Fields that the contract does not name are ignored. */
export function parseEvent(body: Uint8Array): ParsedEvent {
	const fields = parseJson(decodeStrictly(body));
	if (!isObject(fields)) return { ok: false, detail: "The body is not a JSON object in UTF-8." };

	const reader = readFields<keyof EventFields>(fields);
	const event = readEventFields(reader);
	const { wrong } = reader;
	if (wrong.length === 0 && isProven(event)) return { ok: true, event };
	const named = wrong.map(({ name, type }) => `${name} (${type})`).join(", ");
	return { ok: false, detail: `Missing or of the wrong type: ${named || "reason (string)"}.` };
}

const reasonedNames: readonly string[] = [
	"conversion.rejected",
	"conversion.reversed",
] satisfies KnownEvent["event"][];

// Every name is valid, because it is either known today or a later one. So only the reason has to be checked.
function isProven(event: EventFields): event is PostbackEvent {
	return event.reason !== null || !reasonedNames.includes(event.event);
}

/** Decodes UTF-8. Returns an empty text, which is not valid JSON, if the bytes are not UTF-8. */
function decodeStrictly(body: Uint8Array): string {
	try {
		return new TextDecoder("utf-8", { fatal: true }).decode(body);
	} catch {
		return "";
	}
}
