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
import type { WebContext } from "../page.ts";
import { DOCS_PATH, PROBLEMS_PATH, problemPath } from "../paths.ts";
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

const METHODS: readonly HttpMethod[] = ["post", "get"];

function callParts(document: OpenApiDocument, tag: string): DocsPart[] {
	return Object.entries(document.paths).flatMap(([path, item]) =>
		METHODS.flatMap((method) => {
			const operation = item[method];
			if (!operation?.tags.includes(tag)) return [];
			const body = callSection(method, path, operation);
			return { id: operation.operationId, text: `${method.toUpperCase()} ${path}`, depth: 3, body };
		}),
	);
}

function callSection(method: HttpMethod, path: string, operation: Operation): Html {
	const { operationId: id, summary, parameters = [], requestBody, responses } = operation;
	const [body] = Object.values(requestBody?.content ?? {});
	const [answer] = Object.entries(responses).filter(([status]) => status.startsWith("2"));
	return html`<section class="api-operation" aria-labelledby="${id}">
	<h3 id="${id}">${summary}</h3>
	<p class="api-line"><span class="api-method api-method-${method}">${method.toUpperCase()}</span><code class="break">${path}</code>${
		operation.security.length === 0 ? null : html`<a href="#signing">${badge("info", "signed")}</a>`
	}</p>
	${renderText(operation.description)}
	${parameters.length === 0 ? null : part("Parameters", fieldTable(`Parameters of ${summary}`, parameters, "request"))}
	${body?.schema === undefined ? null : part("Body", fieldTable(`Body of ${summary}`, fieldRows(body.schema), "request"))}
	${(operation["x-codeSamples"] ?? []).map(({ lang, source, label }) => part("Example request", codeBlock(source, `${summary}: request, ${label}`, lang === "HTML" ? "html" : "sh")))}
	${part("Answers", answersTable(summary, responses))}
	${part("Example answer", exampleBlock(answer?.[1].content, `${summary}: answer, ${answer?.[0]}`))}
</section>`;
}

function part(title: string, content: Content): Content {
	return content === null ? null : html`<h4>${title}</h4>${content}`;
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

function answerCell(status: string, { description, content = {} }: ApiResponse): Content {
	const [, narrowed] = content["application/problem+json"]?.schema?.allOf ?? [];
	const codes = (narrowed?.properties?.["code"]?.enum ?? []).map(String);
	if (codes.length === 0) return html`${renderLine(description)}`;
	// The ten ways in which a signature can be wrong are the same for every call: they are listed once.
	if (status === "401") {
		return html`The call is not <a href="#signing">signed</a> correctly: <a href="${PROBLEMS_PATH}#http-401">${codes.length} codes</a> say why.`;
	}
	return codes.map(
		(code, index) => html`${index === 0 ? "" : ", "}<a href="${problemPath(code)}"><code>${code}</code></a>`,
	);
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
	const fields = fieldRows(document.components.schemas["CallbackBody"] ?? {});
	const common = (id: string, text: string, table: (caption: string) => Html) =>
		titledPart(id, text, 3, table(text));
	return [
		...callbacks.map(([name, item]) => eventPart(name, item.post)),
		common("callback-headers", "Headers of a callback", (caption) => fieldTable(caption, headers, "answer")),
		common("callback-body", "Body of a callback", (caption) => fieldTable(caption, fields, "answer")),
		common("callback-answers", "What each response means", (caption) => outcomesTable(caption, post)),
	];
}

function eventPart(event: string, { operationId: id, description, requestBody }: Operation): DocsPart {
	const body = html`<section class="api-operation" aria-labelledby="${id}">
	<h3 id="${id}">${event}</h3>
	${renderText(description)}
	${exampleBlock(requestBody?.content, `Body of ${event}`)}
</section>`;
	return { id, text: event, depth: 3, body };
}

function outcomesTable(caption: string, { responses }: Operation): Html {
	const table = dataTable({
		caption,
		rows: Object.entries(responses),
		empty: null,
		columns: [
			{ title: "Your answer", cell: ([status]) => html`<code>${status}</code>` },
			{ title: "What we do", cell: ([, { description }]) => renderLine(description) },
		],
	});
	return html`${table}<p>What happens without any answer is <a href="${DOCS_PATH}#what-we-do-with-each-answer">in the guide</a>.</p>`;
}

function exampleBlock(content: Readonly<Record<string, MediaType>> = {}, label: string): Html | null {
	const [media] = Object.values(content);
	const [example] = Object.values(media?.examples ?? {});
	if (example === undefined) return null;
	const { value } = example;
	if (typeof value === "string") return codeBlock(value.trimEnd(), label);
	return codeBlock(JSON.stringify(value, null, 2), label, "json");
}

/** A field of a body, or a parameter: then with where it is sent (path, query or header). */
type FieldRow = Pick<Parameter, "name" | "required" | "schema" | "description"> & {
	in?: Parameter["in"];
};

function schemaAnchor(name: string): string {
	return `schema-${name}`;
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
	const name = schema.$ref?.split("/").at(-1);
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
	const { enum: values, const: only, default: standard, minLength = 0, maxLength, minimum, maximum } = schema;
	const codes = (values ?? [])
		.filter((value) => value !== null)
		.map((value) => html`<code>${String(value)}</code>`);
	const notes = [
		only === undefined ? null : html`Always <code>${String(only)}</code>. `,
		codes.length === 0
			? null
			: html`One of ${codes.map((code, index) => html`${index === 0 ? "" : ", "}${code}`)}. `,
		maxLength === undefined ? null : `${minLength} to ${maxLength} characters. `,
		maximum === undefined || minimum === undefined ? null : `${minimum} to ${maximum}. `,
		standard === undefined ? null : html`Default <code>${String(standard)}</code>.`,
	].filter((note) => note !== null);
	return notes.length === 0 ? null : html`<span class="secondary">${notes}</span>`;
}
