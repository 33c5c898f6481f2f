// The document as shops get it. Ours is strict, so that no answer changes unnoticed; theirs must go on holding when
// an answer gains a field or a word, for a shop that checks or generates by it would break on that day.

import type { ApiResponse, JsonSchema, OpenApiDocument, Operation, PathItem } from "../../openapi.ts";

export function openToMore(document: OpenApiDocument): OpenApiDocument {
	return {
		...document,
		paths: mapValues(document.paths, openPath),
		components: { ...document.components, schemas: mapValues(document.components.schemas, openSchema) },
	};
}

function openPath(item: PathItem): PathItem {
	return mapValues(item, (operation: Operation) => ({
		...operation,
		responses: mapValues(operation.responses, openResponse),
	}));
}

function openResponse(response: ApiResponse): ApiResponse {
	if (response.content === undefined) return response;
	const content = mapValues(response.content, ({ schema, ...media }) => ({
		...media,
		...(schema === undefined ? {} : { schema: openSchema(schema) }),
	}));
	return { ...response, content };
}

/** What is known today stays in it, for people and for generators. */
function openSchema({ additionalProperties: _, enum: known, type, ...rest }: JsonSchema): JsonSchema {
	const { properties, items, oneOf, allOf } = rest;
	return {
		...rest,
		...(known === undefined
			? { ...(type === undefined ? {} : { type }) }
			: { anyOf: [{ enum: known }, { type: type ?? "string" }] }),
		...(properties === undefined ? {} : { properties: mapValues(properties, openSchema) }),
		...(items === undefined ? {} : { items: openSchema(items) }),
		...(oneOf === undefined ? {} : { oneOf: oneOf.map(openSchema) }),
		...(allOf === undefined ? {} : { allOf: allOf.map(openSchema) }),
	};
}

function mapValues<Value, Other>(
	record: Readonly<Record<string, Value>>,
	change: (value: Value) => Other,
): Record<string, Other> {
	return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
