// Derives JSON Schemas from zod schemas. Handlers check requests with the same zod schemas, and derive the
// types of their answers from them, so code and documentation cannot differ.

import * as z from "zod";
import type { JsonSchema } from "./specification.ts";

/**
 * Returns the JSON Schema of a zod schema. A schema with an id is returned as a reference to
 * `componentSchemas`.
 */
export function jsonSchema(schema: z.ZodType, io: "input" | "output" = "output"): JsonSchema {
	const { $schema: _schema, $defs: _defs, ...rest } = derive(schema, io);
	return rest;
}

/** Returns these schemas by id, and the schemas with an id that they contain. */
export function componentSchemas(schemas: readonly z.ZodType[]): Record<string, JsonSchema> {
	return derive(z.union(schemas), "output").$defs ?? {};
}

type Derived = JsonSchema & { $schema?: string; $defs?: Record<string, JsonSchema> };

function derive(schema: z.ZodType, io: "input" | "output"): Derived {
	const derived = JSON.stringify(z.toJSONSchema(schema, { io }));
	// OpenAPI expects named schemas at another path than JSON Schema does.
	return JSON.parse(derived.replaceAll('"#/$defs/', '"#/components/schemas/'), (_key, value) =>
		mergeNullUnion(value),
	);
}

/**
 * Turns a union of a schema and null into one nullable schema. The reference then shows it as one row, and
 * code generators make it a nullable type. A union with a reference stays as it is, because the type of the named
 * schema is in another place of the document.
 */
function mergeNullUnion(value: JsonSchema): JsonSchema {
	const [schema, other, ...more] = value?.anyOf ?? [];
	if (schema === undefined || schema.$ref !== undefined || other?.type !== "null" || more.length > 0)
		return value;
	const { anyOf: _, ...rest } = value;
	return {
		...schema,
		...rest,
		type: [schema.type ?? [], "null"].flat(),
		...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
	};
}
