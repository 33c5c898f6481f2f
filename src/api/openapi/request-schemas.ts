// The schemas of requests, made from the very zod schemas that the handlers check them with: neither can change
// without the other.

import * as z from "zod";
import type { JsonSchema, Parameter } from "../../openapi.ts";

/** As a caller may send it: what has a default may be left out. */
export function requestSchema(schema: z.ZodObject, description: string): JsonSchema {
	const { $schema: _, ...derived } = z.toJSONSchema(schema, { io: "input" });
	return { ...(derived as JsonSchema), description };
}

/** A field that the handler takes as optional only because its absence has a fault code of its own. */
export function alsoRequiring(schema: JsonSchema, field: string): JsonSchema {
	return { ...schema, required: [...(schema.required ?? []), field] };
}

export function queryParameters(schema: z.ZodObject): Parameter[] {
	const { properties = {}, required = [] } = requestSchema(schema, "");
	return Object.entries(properties).map(([name, { description = "", examples, ...property }]) => ({
		name,
		in: "query",
		required: required.includes(name),
		description,
		schema: property,
		...(examples?.[0] === undefined ? {} : { example: examples[0] }),
	}));
}
