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
import type { CodeLanguage } from "../components/highlight.ts";
import { dataTable } from "../components/lists.ts";
import { badge, codeBlock } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import {
	type FieldRow,
	fieldRows,
	fieldTable,
	problemAnchor,
	refName,
	resolveSchema,
	schemaAnchor,
	statusAnchor,
} from "./api-fields.ts";
import type { OutlineEntry } from "./docs-document.ts";
import { renderLine, renderText } from "./markdown.ts";

/** With its own heading, to which the outline leads. */
export interface ApiPart extends OutlineEntry {
	body: Html;
}

export function titledPart(id: string, text: string, depth: 2 | 3, content: Content): ApiPart {
	const heading = depth === 2 ? html`<h2 id="${id}">${text}</h2>` : html`<h3 id="${id}">${text}</h3>`;
	return { id, text, depth, body: html`${heading}${content}` };
}

/** The ten ways in which a signature can be wrong are the same for every call: they are listed once. */
const SIGNING_STATUS = "401";
const METHODS: readonly HttpMethod[] = ["post", "get"];

export function callParts(document: OpenApiDocument, tag: string): ApiPart[] {
	return Object.entries(document.paths).flatMap(([path, item]) =>
		METHODS.flatMap((method) => {
			const operation = item[method];
			if (!operation?.tags.includes(tag)) return [];
			const body = callSection(document, method, path, operation);
			return { id: operation.operationId, text: `${method.toUpperCase()} ${path}`, depth: 3, body };
		}),
	);
}

function callSection(
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
	${parameters.length === 0 ? null : part("Parameters", fieldTable(`Parameters of ${summary}`, parameters, "request"))}
	${requestBody === undefined ? null : part("Body", fieldTable(`Body of ${summary}`, bodyRows(document, operation), "request"))}
	${(operation["x-codeSamples"] ?? []).map(({ lang, source, label }) => part("Example request", codeBlock(source, `${summary}: request, ${label}`, SAMPLE_LANGUAGES.get(lang))))}
	${part("Answers", answersTable(summary, operation.responses))}
	${exampleAnswers(summary, operation.responses)}
</section>`;
}

function part(title: string, content: Content): Html {
	return html`<h4>${title}</h4>${content}`;
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
		return html`The call is not <a href="#signing">signed</a> correctly: <a href="#${statusAnchor(status)}">${codes.length} codes</a> say why.`;
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
	const example = exampleOf(response?.content);
	return example === null ? null : part("Example answer", example(`${summary}: answer, ${status}`));
}

export function callbackParts(document: OpenApiDocument, tag: string): ApiPart[] {
	const callbacks = Object.entries(document.webhooks).filter(([, { post }]) => post.tags.includes(tag));
	const [first] = callbacks;
	if (first === undefined) return [];
	const headers = callbacks.map(([, { post }]) => (post.parameters ?? []).map(({ in: _, ...row }) => row));
	const bodies = callbacks.map(([, { post }]) => bodyRows(document, post));
	const common = (id: string, text: string, table: (caption: string) => Html) =>
		titledPart(id, text, 3, table(text));
	return [
		...callbacks.map(([event, { post }]) => eventPart(event, post)),
		common("callback-headers", "Headers of a callback", (caption) =>
			fieldTable(caption, mergeRows(headers), "answer"),
		),
		common("callback-body", "Body of a callback", (caption) =>
			fieldTable(caption, mergeRows(bodies), "answer"),
		),
		common("callback-answers", "What each response means", (caption) =>
			outcomesTable(caption, first[1].post),
		),
	];
}

function eventPart(event: string, { operationId: id, description, requestBody }: Operation): ApiPart {
	const example = exampleOf(requestBody?.content);
	const body = html`<section class="api-operation" aria-labelledby="${id}">
	<h3 id="${id}">${event}</h3>
	${renderText(description)}
	${example?.(`Body of ${event}`) ?? null}
</section>`;
	return { id, text: event, depth: 3, body };
}

function bodyRows(document: OpenApiDocument, { requestBody }: Operation): FieldRow[] {
	const [media] = Object.values(requestBody?.content ?? {});
	return fieldRows(resolveSchema(document, media?.schema ?? {}));
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

function outcomesTable(caption: string, { responses, "x-without-answer": silent = [] }: Operation): Html {
	const answers = Object.entries(responses).map(([status, { description }]) => ({
		outcome: html`<code>${status}</code>`,
		description,
	}));
	return dataTable({
		caption,
		rows: [...answers, ...silent],
		empty: null,
		columns: [
			{ title: "Your answer", cell: ({ outcome }) => outcome },
			{ title: "What we do", cell: ({ description }) => renderLine(description) },
		],
	});
}

/** The example as a block that is named as it is told. */
function exampleOf(content: Readonly<Record<string, MediaType>> = {}): ((label: string) => Html) | null {
	const [media] = Object.values(content);
	const [example] = Object.values(media?.examples ?? {});
	if (example === undefined) return null;
	const { value } = example;
	if (typeof value === "string") return (label) => codeBlock(value.trimEnd(), label);
	return (label) => codeBlock(JSON.stringify(value, null, 2), label, "json");
}

const SAMPLE_LANGUAGES: ReadonlyMap<string, CodeLanguage> = new Map([
	["Shell", "sh"],
	["HTML", "html"],
]);
