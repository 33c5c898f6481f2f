// Parses a conversion as the service returns it, field by field.

import { type Conversion, readConversionFields } from "../conversion-fields.ts";
import { readFields } from "../field-reader.ts";
import { isObject } from "../json.ts";

export type Parsed<Value> =
	| { readonly ok: true; readonly value: Value }
	| { readonly ok: false; readonly detail: string };

/** Parses a conversion and ignores unknown fields. */
export function parseConversion(json: unknown): Parsed<Conversion> {
	if (!isObject(json)) return { ok: false, detail: "the conversion is not an object" };
	const reader = readFields<keyof Conversion>(json);
	const value = readConversionFields(reader);
	const { wrong } = reader;
	if (wrong.length === 0) return { ok: true, value };
	return { ok: false, detail: `missing or of the wrong type: ${wrong.map(({ name }) => name).join(", ")}` };
}
