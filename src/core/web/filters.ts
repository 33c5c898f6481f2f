// Defines the kinds of filters that lists offer. ask.ts reads their values from an address, and list.ts shows their
// form.

import * as z from "zod";
import { plainWords } from "../domain/fault.ts";
import { parseKnownOrderId } from "../domain/order-id.ts";
import { dayEndMs, dayStartMs, isDay } from "../domain/zone-day.ts";
import { type Html, selectField, textField } from "./ui.ts";

/** Filter of a list, with a schema for its value in the address and a field for the form. */
export interface Filter<Value> {
	/** Schema of the value. The field shows its error message. */
	schema: z.ZodType<Value>;
	/** Place of the field in the form. "search" comes first, and "more" is shown only on request. */
	place?: "search" | "more";
	/** Returns the form's field for this filter. `zone` is the time zone in which days begin. */
	field(field: { name: string; id: string; value: string; error: string | undefined; zone: string }): Html;
}

/** Returns the same filter, placed in the folded part of the form. */
export function rare<Value>(filter: Filter<Value>): Filter<Value> {
	return { ...filter, place: "more" };
}

/** Maximum length of a part of a name that can be searched for. */
const MAX_SEARCH_LENGTH = 100;

/** Returns a filter by a text, such as a part of a name. */
export function search(label: string, placeholder?: string): Filter<string> {
	const look = { type: "search", label, ...(placeholder === undefined ? {} : { placeholder }) } as const;
	return {
		schema: z.string().max(MAX_SEARCH_LENGTH, { error: "Enter a shorter part." }),
		field: (field) => textField({ ...field, ...look }),
	};
}

/** Returns a filter with a fixed list of values. `any` is the label of the choice that does not filter. */
export function choice<const Value extends string>(
	label: string,
	any: string,
	values: readonly Value[],
	wordOf: (value: Value) => string = String,
): Filter<Value> {
	const options = values.map((value) => ({ value, label: wordOf(value) }));
	return {
		schema: z.enum(values, { error: "Choose one of these." }),
		field: (field) => selectField({ ...field, label, options: [{ value: "", label: any }, ...options] }),
	};
}

/** Filter by a day in the network's time zone, which the label names. */
export function day(label: string): Filter<string> {
	return {
		schema: z.iso.date({ error: "Enter a day such as 2026-03-01." }),
		field: ({ zone, ...field }) =>
			textField({
				...field,
				// A browser's date field cannot show text that is not a day.
				value: isDay(field.value) ? field.value : "",
				label: `${label} (${zone})`,
				type: "date",
			}),
	};
}

/** Returns the time span of a filter by days. Both days are included. A missing day leaves that end open. */
export function spanOfDays(
	{ from, to }: { from?: string | undefined; to?: string | undefined },
	zone: string,
): { fromMs: number | undefined; beforeMs: number | undefined } {
	return {
		fromMs: from === undefined ? undefined : dayStartMs(from, zone),
		beforeMs: to === undefined ? undefined : dayEndMs(to, zone),
	};
}

/**
 * Filter by a complete order id. An id that the API would refuse is refused here as well, because no order can have
 * such an id.
 */
export const WHOLE_ORDER: Filter<string> = {
	schema: z.string().superRefine(refineOrderId),
	field: (field) =>
		textField({ ...field, ...ORDER_FIELD, label: "Order ID", placeholder: "The whole order ID" }),
};

/** Filter by the X-Request-Id header of a response. */
export const REQUEST_ID: Filter<string> = {
	schema: z.string().regex(/^[\w.:-]{8,64}$/, "Enter the whole X-Request-Id of an answer."),
	field: (own) =>
		textField({
			...own,
			type: "search",
			label: "Request ID",
			placeholder: "X-Request-Id of the answer",
		}),
};

/** Filter by any part of an order id, or by a conversion id. */
export const PART_OF_ORDER: Filter<string> = {
	schema: z.string().superRefine(refineOrderId),
	place: "search",
	field: (field) =>
		textField({
			...field,
			...ORDER_FIELD,
			label: "Order or conversion ID",
			placeholder: "Any part of an order ID",
			isMono: true,
		}),
};

const ORDER_FIELD = { type: "search" } as const;

function refineOrderId(text: string, context: z.RefinementCtx): void {
	const parsed = parseKnownOrderId(text);
	if (!parsed.ok) context.addIssue({ code: "custom", message: plainWords(parsed.fault) });
}
