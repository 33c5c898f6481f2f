// /docs/api: the reference, made from the same document that /openapi.json answers. By our own pages, because the usual
// viewers need inline styles or scripts, which the content security policy forbids.

import type {
	ApiResponse,
	HttpMethod,
	JsonSchema,
	MediaType,
	OpenApiDocument,
	Operation,
	Parameter,
} from "../../openapi.ts";
import type { CodeLanguage } from "../components/highlight.ts";
import type { WebContext } from "../page.ts";
import { PROBLEMS_PATH, problemPath } from "../paths.ts";
import { badge, type Content, codeBlock, dataTable, type Html, html } from "../ui.ts";
import { answerDocs, type DocsPage, type DocsPart, titledPart } from "./docs-document.ts";
import { renderLine, renderText } from "./markdown.ts";

/** Those that several calls speak of; the others stand where they are used. */
const SHOWN_SCHEMAS = ["Conversion", "ConversionPage", "OneConversion", "Batch", "Listening", "Problem"];

/** Made once for each document: another one is made when the network changes its name or its brand. */
const pages = new WeakMap<OpenApiDocument, DocsPage>();

export function showApiReference(
	c: WebContext,
	{ apiDocument }: { apiDocument: () => OpenApiDocument },
): Promise<Response> {
	const document = apiDocument();
	const page = pages.get(document) ?? renderReference(document);
	pages.set(document, page);
	return answerDocs(c, page);
}

export function renderReference(document: OpenApiDocument): DocsPage {
	const parts = partsOf(document);
	const [server] = document.servers;
	return {
		title: "API reference",
		active: "api",
		outline: parts,
		body: html`<p>${document.info.summary}. The same as a document for your tools: <a href="/openapi.json">OpenAPI 3.1</a>. The server is <code class="break">${server?.url ?? ""}</code>.</p>
${parts.map(({ body }) => body)}`,
	};
}

function partsOf(document: OpenApiDocument): DocsPart[] {
	return [
		titledPart("signing", "Signing", 2, renderText(document.info.description, "Canonical string")),
		...document.tags.flatMap(({ name, description }) => [
			titledPart(name.toLowerCase(), name, 2, html`<p>${renderLine(description)}</p>`),
			...callParts(document, name),
			...callbackParts(document, name),
		]),
		titledPart("schemas", "Answers in detail", 2, null),
		...SHOWN_SCHEMAS.map((name) => titledPart(schemaAnchor(name), name, 3, schemaTable(document, name))),
		titledPart("problems", "Problems", 2, PROBLEMS_INTRODUCTION),
	];
}

const PROBLEMS_INTRODUCTION = html`<p id="${schemaAnchor("ProblemCode")}">Refusals are RFC 9457 problems, sent as <code>application/problem+json</code>. Decide by the code: it never changes its meaning. <code>detail</code> is for people, and says what to do next. <a href="${PROBLEMS_PATH}">Every code</a> has a page of its own with an example, the likely causes and the cure.</p>`;

function schemaTable(document: OpenApiDocument, name: string): Content {
	const schema = document.components.schemas[name] ?? {};
	return html`<p>${renderLine(schema.description ?? "")}</p>${fieldTable(`Fields of ${name}`, fieldRows(schema), "answer")}`;
}

/** The ten ways in which a signature can be wrong are the same for every call: they are listed once. */
const SIGNING_STATUS = "401";
const METHODS: readonly HttpMethod[] = ["post", "get"];

function callParts(document: OpenApiDocument, tag: string): DocsPart[] {
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
		return html`The call is not <a href="#signing">signed</a> correctly: <a href="${PROBLEMS_PATH}#http-${status}">${codes.length} codes</a> say why.`;
	}
	return codes.map(
		(code, index) => html`${index === 0 ? "" : ", "}<a href="${problemPath(code)}"><code>${code}</code></a>`,
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

function callbackParts(document: OpenApiDocument, tag: string): DocsPart[] {
	const callbacks = Object.entries(document.webhooks).filter(([, { post }]) => post.tags.includes(tag));
	const [first] = callbacks;
	if (first === undefined) return [];
	const [event, { post }] = first;
	// The headers of one event stand for those of all: only its name is another.
	const headers = (post.parameters ?? []).map(({ in: _, schema, ...row }) => ({
		...row,
		schema: schema.const === event ? { type: "string" } : schema,
	}));
	const common = (id: string, text: string, table: (caption: string) => Html) =>
		titledPart(id, text, 3, table(text));
	return [
		...callbacks.map(([name, item]) => eventPart(name, item.post)),
		common("callback-headers", "Headers of a callback", (caption) => fieldTable(caption, headers, "answer")),
		common("callback-body", "Body of a callback", (caption) =>
			fieldTable(caption, fieldRows(document.components.schemas["CallbackBody"] ?? {}), "answer"),
		),
		common("callback-answers", "What each response means", (caption) => outcomesTable(caption, post)),
	];
}

function eventPart(event: string, { operationId: id, description, requestBody }: Operation): DocsPart {
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

/** A field of a body, or a parameter: then with where it is sent (path, query or header). */
type FieldRow = Pick<Parameter, "name" | "required" | "schema" | "description"> & {
	in?: Parameter["in"];
};

function schemaAnchor(name: string): string {
	return `schema-${name}`;
}

/** The schema itself where it is only named. */
function resolveSchema(document: OpenApiDocument, schema: JsonSchema): JsonSchema {
	const name = refName(schema);
	return name === undefined ? schema : (document.components.schemas[name] ?? schema);
}

function fieldRows(schema: JsonSchema): FieldRow[] {
	const { properties = {}, required = [] } = schema;
	return Object.entries(properties).map(([name, property]) => ({
		name,
		required: required.includes(name),
		schema: property,
		description: property.description ?? "",
	}));
}

/** Which fields are required is said of requests alone: in an answer all of them are there. */
function fieldTable(caption: string, rows: readonly FieldRow[], kind: "request" | "answer"): Html {
	return dataTable({
		caption,
		rows,
		empty: null,
		columns: [
			{
				title: kind === "request" ? "Name" : "Field",
				cell: ({ name, in: where, required }) =>
					html`<code>${name}</code>${
						where === undefined ? null : html` <span class="secondary">${where}</span>`
					}${kind === "request" && required ? html`<span class="secondary api-required">required</span>` : null}`,
			},
			{ title: "Type", cell: ({ schema }) => typeOf(schema) },
			{
				title: "Meaning",
				cell: ({ schema, description }) => html`${renderLine(description)}${valuesOf(schema)}`,
			},
		],
	});
}

function typeOf(schema: JsonSchema): Content {
	const name = refName(schema);
	if (name !== undefined) return html`<a href="#${schemaAnchor(name)}">${name}</a>`;
	if (schema.items !== undefined) return html`list of ${typeOf(schema.items)}`;
	const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
	const words = types.map((type) =>
		type === "string" && schema.format !== undefined ? schema.format : type,
	);
	// A choice between objects has no type of its own; its description says between which.
	return words.length === 0 ? "object" : words.join(" or ");
}

/** What it may be, as far as the description leaves it open. */
function valuesOf(schema: JsonSchema): Content {
	const notes: Content[] = [];
	const { enum: values, const: only, default: standard } = schema;
	if (only !== undefined) notes.push(html`Always <code>${String(only)}</code>.`);
	if (values !== undefined) notes.push(html`One of ${listOf(values.filter((value) => value !== null))}.`);
	if (schema.maxLength !== undefined)
		notes.push(`${schema.minLength ?? 0} to ${schema.maxLength} characters.`);
	if (schema.maximum !== undefined && schema.type === "integer" && schema.minimum !== undefined) {
		notes.push(`${schema.minimum} to ${schema.maximum}.`);
	}
	if (standard !== undefined) notes.push(html`Default <code>${String(standard)}</code>.`);
	return notes.length === 0
		? null
		: html`<span class="secondary">${notes.flatMap((note) => [note, " "])}</span>`;
}

function listOf(values: readonly unknown[]): Content {
	return values.map((value, index) => html`${index === 0 ? "" : ", "}<code>${String(value)}</code>`);
}

function refName({ $ref }: { $ref?: string | undefined }): string | undefined {
	return $ref?.split("/").at(-1);
}
