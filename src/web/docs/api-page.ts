// /docs/api: the reference, made from the same document that /openapi.json answers. By our own pages, because
// the usual viewers need inline styles or scripts, which the content security policy forbids.

import { html } from "hono/html";
import type { HttpMethod, OpenApiDocument, Operation, ProblemEntry } from "../../openapi.ts";
import { dataTable } from "../components/lists.ts";
import type { WebContext } from "../env.ts";
import type { Html } from "../html.ts";
import { COMMON_PARTS, callbackSections, operationSection } from "./api-calls.ts";
import { fieldRows, fieldTable, problemAnchor, schemaAnchor, statusAnchor } from "./api-fields.ts";
import { answerDocs, type DocsPage, type OutlineEntry } from "./docs-document.ts";
import { renderLine, renderText } from "./markdown.ts";

/** Those that several calls speak of; the others stand where they are used. */
const SHOWN_SCHEMAS = ["Conversion", "ConversionPage", "OneConversion", "Listening", "Problem"];

interface Call {
	method: HttpMethod;
	path: string;
	operation: Operation;
}

/** Made once: the document does not change while the service runs. */
const pages = new WeakMap<OpenApiDocument, DocsPage>();

export function showApiReference(
	c: WebContext,
	{ apiDocument }: { apiDocument: OpenApiDocument },
): Promise<Response> {
	const page = pages.get(apiDocument) ?? {
		title: "API reference",
		active: "api",
		outline: outlineOf(apiDocument),
		body: bodyOf(apiDocument),
	};
	pages.set(apiDocument, page);
	return answerDocs(c, page);
}

function outlineOf(document: OpenApiDocument): OutlineEntry[] {
	const tags = document.tags.flatMap(({ name }) => {
		const calls = callsOf(document, name).map(({ method, path, operation }) => ({
			id: operation.operationId,
			text: `${method.toUpperCase()} ${path}`,
		}));
		const events = callbacksOf(document, name).map(({ event, operation }) => ({
			id: operation.operationId,
			text: event,
		}));
		const parts = [...calls, ...events, ...(events.length === 0 ? [] : COMMON_PARTS)];
		const heading = { id: tagAnchor(name), text: name, depth: 2 };
		return [heading, ...parts.map((entry) => ({ ...entry, depth: 3 }))];
	});
	return [
		{ id: "signing", text: "Signing", depth: 2 },
		...tags,
		{ id: "schemas", text: "Answers in detail", depth: 2 },
		...SHOWN_SCHEMAS.map((name) => ({ id: schemaAnchor(name), text: name, depth: 3 })),
		{ id: "problems", text: "Problems", depth: 2 },
		...problemsByStatus(document).map(([status]) => ({
			id: statusAnchor(status),
			text: `Status ${status}`,
			depth: 3,
		})),
	];
}

function bodyOf(document: OpenApiDocument): Html {
	const [server] = document.servers;
	return html`<p>${document.info.summary}. The same as a document for your tools: <a href="/openapi.json">OpenAPI 3.1</a>. The server is <code class="break">${server?.url ?? ""}</code>.</p>
<h2 id="signing">Signing</h2>
${renderText(document.info.description, "Canonical string")}
${document.tags.map(
	({ name, description }) => html`<h2 id="${tagAnchor(name)}">${name}</h2><p>${renderLine(description)}</p>
${callsOf(document, name).map(({ method, path, operation }) => operationSection(document, method, path, operation))}
${callbacksOf(document, name).length === 0 ? null : callbackSections(document)}`,
)}
<h2 id="schemas">Answers in detail</h2>
${SHOWN_SCHEMAS.map((name) => schemaSection(document, name))}
<h2 id="problems">Problems</h2>
<p id="${schemaAnchor("ProblemCode")}">Refusals are RFC 9457 problems, sent as <code>application/problem+json</code>. Decide by the code: it never changes its meaning. <code>detail</code> is for people, and says what to do next.</p>
${problemTables(document)}`;
}

function schemaSection(document: OpenApiDocument, name: string): Html {
	const schema = document.components.schemas[name] ?? {};
	return html`<h3 id="${schemaAnchor(name)}">${name}</h3><p>${renderLine(schema.description ?? "")}</p>
${fieldTable(`Fields of ${name}`, fieldRows(schema), "answer")}`;
}

function problemsByStatus(document: OpenApiDocument): [status: string, problems: ProblemEntry[]][] {
	const byStatus = Map.groupBy(document["x-problems"], ({ status }) => String(status));
	return [...byStatus].sort(([one], [other]) => Number(one) - Number(other));
}

function problemTables(document: OpenApiDocument): Html[] {
	return problemsByStatus(document).map(
		([status, problems]) =>
			html`<h3 id="${statusAnchor(status)}">Status ${status}</h3>${dataTable({
				caption: `Problems with status ${status}`,
				rows: problems,
				empty: null,
				rowId: ({ code }) => problemAnchor(code),
				columns: [
					{ title: "Code", cell: ({ code }) => html`<code>${code}</code>` },
					{
						title: "Meaning, and what to do",
						cell: ({ meaning, remedy }) =>
							html`${renderLine(meaning)}<span class="api-remedy">${renderLine(remedy)}</span>`,
					},
				],
			})}`,
	);
}

function callsOf(document: OpenApiDocument, tag: string): Call[] {
	return Object.entries(document.paths).flatMap(([path, { post, get }]) => {
		const calls: Call[] = [];
		if (post?.tags.includes(tag)) calls.push({ method: "post", path, operation: post });
		if (get?.tags.includes(tag)) calls.push({ method: "get", path, operation: get });
		return calls;
	});
}

function callbacksOf(document: OpenApiDocument, tag: string): { event: string; operation: Operation }[] {
	return Object.entries(document.webhooks)
		.filter(([, { post }]) => post.tags.includes(tag))
		.map(([event, { post }]) => ({ event, operation: post }));
}

function tagAnchor(name: string): string {
	return name.toLowerCase();
}
