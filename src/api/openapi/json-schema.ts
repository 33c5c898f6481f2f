// Makes JSON Schemas from the zod schemas with which handlers check requests and type their answers, so that neither can
// change without the other.

import * as z from "zod";
import type { JsonSchema } from "./specification.ts";

/** Returns the JSON Schema. A schema with an id appears as a reference to componentSchemas. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output" = "output"): JsonSchema {
	const { $schema: _schema, $defs: _defs, ...rest } = derive(schema, io);
	return rest;
}

/** Returns the schemas by their ids, together with all schemas with an id that they contain. */
export function componentSchemas(schemas: readonly z.ZodType[]): Record<string, JsonSchema> {
	return derive(z.union(schemas), "output").$defs ?? {};
}

type Derived = JsonSchema & { $schema?: string; $defs?: Record<string, JsonSchema> };

function derive(schema: z.ZodType, io: "input" | "output"): Derived {
	const derived = JSON.stringify(z.toJSONSchema(schema, { io }));
	// OpenAPI has another place for named schemas.
	return JSON.parse(derived.replaceAll('"#/$defs/', '"#/components/schemas/'), (_key, value) =>
		foldNull(value),
	);
}

/** Turns "this or null" into one schema, which the reference shows as one row and generators turn into a nullable type. */
function foldNull(value: JsonSchema): JsonSchema {
	const [schema, other, ...more] = value?.anyOf ?? [];
	if (schema === undefined || other?.type !== "null" || more.length > 0) return value;
	const { anyOf: _, ...rest } = value;
	return {
		...schema,
		...rest,
		type: [schema.type ?? [], "null"].flat(),
		...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
	};
}
