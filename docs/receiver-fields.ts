// Writes receiver/src/conversion-fields.ts, which has the fields of callbacks and of conversions for @ringback/receiver. The
// package shares no code with the service, so `npm run docs` writes their types from the service's descriptions.

import type * as z from "zod";
import { CALLBACK_FIELDS, CONVERSION_FIELDS } from "#core/api/conversion-fields.ts";
import { jsonSchema } from "#core/api/openapi/json-schema.ts";
import {
	announcedStatus,
	DECIDERS,
	EVENT_TYPES,
	REASONS,
	SOURCES,
	STATUSES,
} from "#core/domain/conversion.ts";
import { EVENT_NAMES } from "#core/domain/event-name.ts";

export const RECEIVER_FIELDS = "receiver/src/conversion-fields.ts";

export function writeReceiverFields(): string {
	return `// The fields of callbacks and of conversions. \`npm run docs\` writes this file from src/core/api/conversion-fields.ts in the
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

${writeType("EventFields", "The body of a callback, before its reason is compared with its name.", CALLBACK_FIELDS)}

${writeReader("readEventFields", "EventFields", CALLBACK_FIELDS)}

${writeType("Conversion", "A conversion as the service returns it.", CONVERSION_FIELDS)}

${writeReader("readConversionFields", "Conversion", CONVERSION_FIELDS)}
`;
}

type Fields = Readonly<Record<string, z.ZodType>>;

function writeType(name: string, sentence: string, fields: Fields): string {
	const lines = Object.entries(fields).map(
		([field, schema]) =>
			`\t/** ${jsonSchema(schema).description} */\n\treadonly ${field}: ${typeOf(field, schema)};`,
	);
	return `/**
 * ${sentence}
 * Amounts are decimal strings, because converting them to numbers may round them. Times are ISO 8601 in UTC.
 */
export type ${name} = {\n${lines.join("\n")}\n};`;
}

function writeReader(name: string, type: string, fields: Fields): string {
	const reads = Object.entries(fields).map(
		([field, schema]) => `\t\t${field}: ${readerOf(field, schema)}("${field}"),`,
	);
	return `export function ${name}({ text, textOrNull, flag }: FieldReader<keyof ${type}>): ${type} {
	return {\n${reads.join("\n")}\n\t};
}`;
}

/** Function of receiver/src/field-reader.ts that reads a field of each type. */
const READERS: ReadonlyMap<string, string> = new Map([
	["string", "text"],
	["string,null", "textOrNull"],
	["boolean", "flag"],
]);

function readerOf(field: string, schema: z.ZodType): string {
	const type = String(jsonSchema(schema).type);
	const reader = READERS.get(type);
	if (reader === undefined) throw new Error(`${field}: @ringback/receiver has no reader for ${type}`);
	return reader;
}

/** Types of receiver/src/words.ts, by their words. */
const WORD_TYPES: ReadonlyMap<string, string> = new Map([
	[DECIDERS.join(), "Decider"],
	[EVENT_NAMES.join(), "EventName"],
	[EVENT_NAMES.map(announcedStatus).join(), "AnnouncedStatus"],
	[EVENT_TYPES.join(), "EventType"],
	[REASONS.join(), "Reason"],
	[SOURCES.join(), "ConversionSource"],
	[STATUSES.join(), "ConversionStatus"],
]);

function typeOf(field: string, schema: z.ZodType): string {
	const reader = readerOf(field, schema);
	if (reader === "flag") return "boolean";
	const words = jsonSchema(schema).enum?.filter((word) => word !== null);
	const type = words === undefined ? "string" : WORD_TYPES.get(words.join());
	if (type === undefined) throw new Error(`${field}: receiver/src/words.ts needs a type for its words`);
	return reader === "textOrNull" ? `${type} | null` : type;
}
