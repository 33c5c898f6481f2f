// One call, and one callback: what it does, what is sent, what comes back. What callbacks have in common is said once,
// below the four: the headers, the fields, and what becomes of each answer.

import { html } from "hono/html";
import type {
	ApiResponse,
	HttpMethod,
	JsonSchema,
	MediaType,
	OpenApiDocument,
	Operation,
} from "../../openapi.ts";
import { dataTable } from "../components/lists.ts";
import { badge, codeBlock } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import {
	type FieldRow,
	fieldRows,
	fieldTable,
	parameterRows,
	problemAnchor,
	refName,
	resolveSchema,
	schemaAnchor,
	statusAnchor,
} from "./api-fields.ts";
import { renderLine, renderText } from "./markdown.ts";

/** The ten ways in which a signature can be wrong are the same for every call: they are listed once. */
const SIGNING_STATUS = "401";

export function operationSection(
	document: OpenApiDocument,
	method: HttpMethod,
	path: string,
	operation: Operation,
): Html {
	const { operationId: id, summary, parameters = [], requestBody } = operation;
	return html`<section class="api-operation" aria-labelledby="${id}">
	<h3 id="${id}">${summary}</h3>
	<p class="api-line"><span class="api-method api-method-${method}">${method.toUpperCase()}</span><code class="break">${path}</code>${
		operation.security.length === 0 ? null : html`<a href="#signing">${badge("info", "signed")}</a>`
	}</p>
	${renderText(operation.description)}
	${parameters.length === 0 ? null : part("Parameters", fieldTable(`Parameters of ${summary}`, parameterRows(parameters), "request"))}
	${requestBody === undefined ? null : part("Body", bodyTable(document, summary, requestBody.content))}
	${(operation["x-codeSamples"] ?? []).map(({ source, label }) => part("Example request", codeBlock(source, `${summary}: request, ${label}`)))}
	${part("Answers", answersTable(summary, operation.responses))}
	${exampleAnswers(summary, operation.responses)}
</section>`;
}

function part(title: string, content: Content): Html {
	return html`<h4>${title}</h4>${content}`;
}

function bodyTable(
	document: OpenApiDocument,
	summary: string,
	content: Readonly<Record<string, MediaType>>,
): Content {
	return Object.values(content).map(({ schema = {} }) =>
		fieldTable(`Body of ${summary}`, fieldRows(resolveSchema(document, schema)), "request"),
	);
}

function answersTable(summary: string, responses: Readonly<Record<string, ApiResponse>>): Html {
	return dataTable({
		caption: `Answers of ${summary}`,
		rows: Object.entries(responses),
		empty: null,
		columns: [
			{ title: "Status", cell: ([status]) => html`<code>${status}</code>` },
			{ title: "Meaning", cell: ([status, response]) => answerCell(status, response) },
		],
	});
}

function answerCell(status: string, response: ApiResponse): Content {
	const codes = codesOf(response);
	if (codes.length === 0) return html`${renderLine(response.description)}${schemaLinks(response)}`;
	if (status === SIGNING_STATUS) {
		return html`The call is not <a href="#signing">signed</a> as it must be: <a href="#${statusAnchor(status)}">${codes.length} codes</a> say how.`;
	}
	return codes.map(
		(code, index) =>
			html`${index === 0 ? "" : ", "}<a href="#${problemAnchor(code)}"><code>${code}</code></a>`,
	);
}

/** What the answer consists of, where the reference has a table of it. */
function schemaLinks({ content = {} }: ApiResponse): Content {
	return Object.values(content).map(({ schema }) => {
		const { conversion, conversions } = schema?.properties ?? {};
		const name = refName({ $ref: schema?.$ref ?? conversion?.$ref ?? conversions?.items?.$ref });
		return name === undefined ? null : html` <a class="nowrap" href="#${schemaAnchor(name)}">${name}</a>`;
	});
}

function codesOf({ content = {} }: ApiResponse): string[] {
	const [, narrowed] = content["application/problem+json"]?.schema?.allOf ?? [];
	return (narrowed?.properties?.["code"]?.enum ?? []).map(String);
}

function exampleAnswers(summary: string, responses: Readonly<Record<string, ApiResponse>>): Content {
	const [status, response] = Object.entries(responses).find(([code]) => code.startsWith("2")) ?? [];
	const [[type, media] = []] = Object.entries(response?.content ?? {});
	const [example] = Object.values(media?.examples ?? {});
	if (status === undefined || type === undefined || example === undefined) return null;
	return part("Example answer", codeBlock(exampleText(example.value), `${summary}: answer, ${status}`));
}

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

function exampleText(value: unknown): string {
	return typeof value === "string" ? value.trimEnd() : JSON.stringify(value, null, 2);
}
