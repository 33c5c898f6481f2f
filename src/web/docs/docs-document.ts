// The page around a document that everybody may read: where else to read, what is on this page, and the text.
// A stranger's copy sets no cookie and may be cached on its way; whoever is signed in gets a copy of their own.

import type { NetworkFace } from "../../store/queries/known-network.ts";
import { answerPage, isStaffViewer, type WebContext } from "../page.ts";
import {
	API_REFERENCE_PATH,
	DOCS_PATH,
	DOCS_SEARCH_PATH,
	DOWNLOADS_PATH,
	OPERATIONS_PATH,
	PARTNER_DOCS_PATH,
	PROBLEMS_PATH,
} from "../paths.ts";
import { type Html, html, tabs } from "../ui.ts";
import {
	type MarkdownOptions,
	type OutlineEntry,
	type RenderedMarkdown,
	renderMarkdown,
} from "./markdown.ts";

export interface DocsSource extends MarkdownOptions {
	/** Begins with its title, which is the page's one h1. */
	markdown: string;
	active: DocsName;
	/** What tells two pages of one text apart. */
	variant?: string;
	/** Of a document on several pages. */
	parts?: DocsPage["parts"];
}

interface DocsPage extends RenderedMarkdown {
	/** Null for the search, which goes through all of them. */
	active: DocsName | null;
	parts?: readonly { label: string; href: string; isActive: boolean }[] | undefined;
	/** What was searched for. */
	query?: string;
}

export const MAX_QUERY_CHARACTERS = 100;

/** So long a cached copy may be out of date after an upgrade. */
const CACHE_SECONDS = 300;

const DOCUMENTS = [
	{ name: "guide", label: "Receiver guide", href: DOCS_PATH },
	{ name: "api", label: "API reference", href: API_REFERENCE_PATH },
	{ name: "partners", label: "Partners", href: PARTNER_DOCS_PATH },
	{ name: "problems", label: "Problems", href: PROBLEMS_PATH },
	{ name: "downloads", label: "Downloads", href: DOWNLOADS_PATH },
	{ name: "operations", label: "Operations", href: OPERATIONS_PATH },
] as const;
type DocsName = (typeof DOCUMENTS)[number]["name"];

/** Each is rendered once: the longest takes some fifty milliseconds. There are some 80 of them, and more when the brand changes. */
const rendered = new Map<string, RenderedMarkdown>();
const MAX_RENDERED = 200;

/** As strangers get it: one in memory for all who read it, however slowly. */
const ofStrangers = new WeakMap<RenderedMarkdown, { network: NetworkFace; body: ArrayBuffer }>();

export async function answerDocument(c: WebContext, source: DocsSource): Promise<Response> {
	const { active, markdown, variant, parts } = source;
	const key = `${variant} ${markdown}`;
	const page = rendered.get(key) ?? renderMarkdown(markdown, source);
	if (rendered.size >= MAX_RENDERED) rendered.clear();
	rendered.set(key, page);
	const network = c.get("network");
	const kept = ofStrangers.get(page);
	const answer = () => answerDocs(c, { ...page, active, parts });
	if (c.get("viewer") !== null) return answer();
	const body = kept?.network === network ? kept.body : await (await answer()).arrayBuffer();
	ofStrangers.set(page, { network, body });
	setCaching(c);
	return c.body(new Uint8Array(body), 200, { "content-type": "text/html; charset=UTF-8" });
}

export function answerDocs(c: WebContext, page: DocsPage): Promise<Response> {
	setCaching(c);
	// A shop's developer has nothing to operate.
	const documents = DOCUMENTS.filter(({ name }) => name !== "operations" || isStaffViewer(c));
	return answerPage(c, { title: page.title, active: "docs", body: docsBody(page, documents) });
}

function setCaching(c: WebContext): void {
	c.header("vary", "cookie");
	c.header("cache-control", c.get("viewer") === null ? `public, max-age=${CACHE_SECONDS}` : "no-store");
}

function docsBody(page: DocsPage, documents: readonly (typeof DOCUMENTS)[number][]): Html {
	const { title, active, outline, parts = [], body, query = "" } = page;
	const links = outlineLinks(outline);
	return html`<div class="docs">
	<aside class="docs-side">
		${searchForm(query)}
		${tabs(
			"Documentation",
			documents.map(({ name, label, href }) => ({ label, href, isActive: name === active })),
		)}
		${parts.length === 0 ? null : tabs("Parts", parts)}
		${outline.length === 0 ? null : html`<nav class="docs-outline" aria-label="On this page">${links}</nav>`}
	</aside>
	<article class="prose">
		<h1>${title}</h1>
		${outline.length === 0 ? null : html`<details class="card docs-outline-folded"><summary>On this page</summary>${links}</details>`}
		${body}
	</article>
</div>`;
}

/** On every page of the documentation; a plain form, which works without scripts. */
function searchForm(query: string): Html {
	return html`<form class="docs-search" role="search" method="get" action="${DOCS_SEARCH_PATH}">
	<label class="visually-hidden" for="docs-query">Search the documentation</label>
	<input type="search" id="docs-query" name="q" value="${query}" maxlength="${MAX_QUERY_CHARACTERS}" placeholder="Search" autocomplete="off">
	<button type="submit" class="button">Search</button>
</form>`;
}

function outlineLinks(outline: readonly OutlineEntry[]): Html {
	return html`<ul>${outline.map(
		({ id, text, depth }) =>
			html`<li class="${depth > 2 ? "docs-part" : "docs-section"}"><a class="docs-link" href="#${id}">${text}</a></li>`,
	)}</ul>`;
}
