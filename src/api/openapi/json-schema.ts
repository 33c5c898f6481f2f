// The schemas of requests and answers, made from the very zod schemas that handlers check requests with and take the
// types of their answers from: neither can change without the other.

import * as z from "zod";
import type { JsonSchema } from "./specification.ts";

/** A schema with an id is only named here: componentSchemas has it. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output" = "output"): JsonSchema {
	const { $schema: _schema, $defs: _defs, ...own } = derive(schema, io);
	return own;
}

/** By their ids, with every schema of an id that they are made of. */
export function componentSchemas(schemas: readonly z.ZodType[]): Record<string, JsonSchema> {
	return derive(z.union(schemas), "output").$defs ?? {};
}

type Derived = JsonSchema & { $schema?: string; $defs?: Record<string, JsonSchema> };

function derive(schema: z.ZodType, io: "input" | "output"): Derived {
	const derived = JSON.stringify(z.toJSONSchema(schema, { io }));
	// OpenAPI keeps named schemas in a place of its own.
	return JSON.parse(derived.replaceAll('"#/$defs/', '"#/components/schemas/'), (_key, value) =>
		foldNull(value),
	);
}

/** "This or null" as one schema: the reference shows it as one row, and generators make a plain nullable type of it. */
function foldNull(value: JsonSchema): JsonSchema {
	const [schema, other, ...more] = value?.anyOf ?? [];
	if (schema === undefined || other?.type !== "null" || more.length > 0) return value;
	const { anyOf: _, ...own } = value;
	return {
		...schema,
		...own,
		type: [schema.type ?? [], "null"].flat(),
		...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
	};
}
