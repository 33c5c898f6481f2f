// /docs/api: the reference, made from the same document that /openapi.json answers. By our own pages, because
// the usual viewers need inline styles or scripts, which the content security policy forbids.

import { html } from "hono/html";
import type { OpenApiDocument, ProblemEntry } from "../../openapi.ts";
import { dataTable } from "../components/lists.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { PROBLEMS_PATH, problemPath } from "../paths.ts";
import { type ApiPart, callbackParts, callParts, titledPart } from "./api-calls.ts";
import { fieldRows, fieldTable, problemAnchor, schemaAnchor, statusAnchor } from "./api-fields.ts";
import { answerDocs, type DocsPage } from "./docs-document.ts";
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

function partsOf(document: OpenApiDocument): ApiPart[] {
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
		...problemsByStatus(document).map(([status, problems]) =>
			titledPart(statusAnchor(status), `Status ${status}`, 3, problemTable(status, problems)),
		),
	];
}

const PROBLEMS_INTRODUCTION = html`<p id="${schemaAnchor("ProblemCode")}">Refusals are RFC 9457 problems, sent as <code>application/problem+json</code>. Decide by the code: it never changes its meaning. <code>detail</code> is for people, and says what to do next. Each code has <a href="${PROBLEMS_PATH}">a page of its own</a> with an example, the likely causes and the cure.</p>`;

function schemaTable(document: OpenApiDocument, name: string): Content {
	const schema = document.components.schemas[name] ?? {};
	return html`<p>${renderLine(schema.description ?? "")}</p>${fieldTable(`Fields of ${name}`, fieldRows(schema), "answer")}`;
}

function problemsByStatus(document: OpenApiDocument): [status: string, problems: ProblemEntry[]][] {
	const byStatus = Map.groupBy(document["x-problems"], ({ status }) => String(status));
	return [...byStatus].sort(([one], [other]) => Number(one) - Number(other));
}

function problemTable(status: string, problems: readonly ProblemEntry[]): Html {
	return dataTable({
		caption: `Problems with status ${status}`,
		rows: problems,
		empty: null,
		rowId: ({ code }) => problemAnchor(code),
		columns: [
			{ title: "Code", cell: ({ code }) => html`<a href="${problemPath(code)}"><code>${code}</code></a>` },
			{
				title: "Meaning, and what to do",
				cell: ({ meaning, remedy }) =>
					html`${renderLine(meaning)}<span class="api-remedy">${renderLine(remedy)}</span>`,
			},
		],
	});
}
