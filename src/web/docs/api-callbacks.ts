// The four callbacks. What they have in common is said once: the headers, the fields, and what becomes of each
// answer.

import { html } from "hono/html";
import type { JsonSchema, OpenApiDocument, Operation } from "../../openapi.ts";
import { dataTable } from "../components/lists.ts";
import { codeBlock } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import { type FieldRow, fieldRows, fieldTable, parameterRows, resolveSchema } from "./api-fields.ts";
import { exampleText } from "./api-operation.ts";
import { renderLine, renderText } from "./api-text.ts";

/** What all callbacks have in common, below the four. */
export const COMMON_PARTS = [
	{ id: "callback-headers", text: "Headers of a callback" },
	{ id: "callback-body", text: "Body of a callback" },
	{ id: "callback-answers", text: "What we make of your answer" },
] as const;

export function callbackSections(document: OpenApiDocument): Content {
	const callbacks = Object.entries(document.webhooks);
	const [first] = callbacks;
	if (first === undefined) return null;
	const [headers, body, answers] = COMMON_PARTS;
	return [
		...callbacks.map(([event, { post }]) => eventSection(event, post)),
		html`<h3 id="${headers.id}">${headers.text}</h3>${headersTable(callbacks.map(([, { post }]) => post))}`,
		html`<h3 id="${body.id}">${body.text}</h3>${fieldTable(body.text, bodyRows(document), "answer")}`,
		html`<h3 id="${answers.id}">${answers.text}</h3>${outcomesTable(first[1].post)}`,
	];
}

function eventSection(event: string, { operationId, description, requestBody }: Operation): Html {
	const [media] = Object.values(requestBody?.content ?? {});
	const [example] = Object.values(media?.examples ?? {});
	return html`<section class="api-operation" aria-labelledby="${operationId}">
	<h3 id="${operationId}">${event}</h3>
	${renderText(description)}
	${example === undefined ? null : codeBlock(exampleText(example.value), `Body of ${event}`)}
</section>`;
}

function headersTable(callbacks: readonly Operation[]): Html {
	const rows = callbacks.map(({ parameters = [] }) => parameterRows(parameters));
	return fieldTable(
		"Headers of a callback",
		mergeRows(rows).map(({ where: _, ...row }) => row),
		"answer",
	);
}

function bodyRows(document: OpenApiDocument): FieldRow[] {
	const rows = Object.values(document.webhooks).map(({ post }) => {
		const [media] = Object.values(post.requestBody?.content ?? {});
		return fieldRows(resolveSchema(document, media?.schema ?? {}));
	});
	return mergeRows(rows);
}

/** The same field in several bodies: all that it may be in any of them. */
function mergeRows(lists: readonly (readonly FieldRow[])[]): FieldRow[] {
	const [first = [], ...others] = lists;
	return first.map((row, index) => {
		const rows = [row, ...others.flatMap((list) => list[index] ?? [])];
		const fullest = rows.find(({ schema }) => schema.enum !== undefined) ?? row;
		return { ...fullest, schema: mergeSchemas(rows.map(({ schema }) => schema)) };
	});
}

function mergeSchemas(schemas: readonly JsonSchema[]): JsonSchema {
	const [first = {}] = schemas;
	const type = unique(schemas.flatMap(({ type: types = [] }) => types));
	const constants = unique(schemas.flatMap(({ const: only }) => (only === undefined ? [] : [only])));
	const listed = unique(schemas.flatMap(({ enum: values = [] }) => values));
	const { const: _, ...rest } = first;
	if (constants.length === 1) return { ...first, type };
	const values = [...constants, ...listed];
	return { ...rest, type, ...(values.length === 0 ? {} : { enum: values }) };
}

function unique<Value>(values: readonly Value[]): Value[] {
	return [...new Set(values)];
}

function outcomesTable({ responses, "x-without-answer": silent = [] }: Operation): Html {
	const answers = Object.entries(responses).map(([status, { description }]) => ({
		outcome: html`<code>${status}</code>`,
		description,
	}));
	return dataTable({
		caption: "What we make of your answer",
		rows: [...answers, ...silent],
		empty: null,
		columns: [
			{ title: "Your answer", cell: ({ outcome }) => outcome },
			{ title: "What we do", cell: ({ description }) => renderLine(description) },
		],
	});
}
