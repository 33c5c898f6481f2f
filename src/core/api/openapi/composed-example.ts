// Composes the example of a schema from the examples of its parts, so that a simple field has its example in one place.

import * as z from "zod";

/**
 * Returns an example of a value that a caller sends or gets. If the schema has its own example, that one is returned.
 * Optional fields without an example are left out. With `fields` set to "required", all optional fields are left out.
 */
export function composeExample(schema: z.core.$ZodType, fields: "all" | "required" = "all"): unknown {
	const [example] = z.globalRegistry.get(schema)?.examples ?? [];
	if (example !== undefined) return example;
	if (schema instanceof z.ZodObject) {
		const shape = Object.entries<z.core.$ZodType>(schema.shape).filter(([, field]) => isShown(field, fields));
		return Object.fromEntries(shape.map(([name, field]) => [name, composeExample(field, fields)]));
	}
	if (schema instanceof z.ZodArray) return [composeExample(schema.element, fields)];
	if (schema instanceof z.ZodNullable) return null;
	if (schema instanceof z.ZodOptional) return composeExample(schema.unwrap(), fields);
	if (schema instanceof z.ZodEnum) return schema.options[0];
	if (schema instanceof z.ZodLiteral) return schema.value;
	throw new Error(`a schema without an example: ${JSON.stringify(z.toJSONSchema(schema))}`);
}

function isShown(field: z.core.$ZodType, fields: "all" | "required"): boolean {
	const isOptional = z.core.safeParse(field, undefined).success;
	return !isOptional || (fields === "all" && hasExample(field));
}

function hasExample(field: z.core.$ZodType): boolean {
	if (z.globalRegistry.get(field)?.examples !== undefined) return true;
	return field instanceof z.ZodOptional && hasExample(field.unwrap());
}
