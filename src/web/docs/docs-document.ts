// The page around a document that everybody may read: where else to read, what is on this page, and the text.
// A stranger's copy sets no cookie and may be cached on its way; whoever is signed in gets a copy of their own.

import { html } from "hono/html";
import { tabs } from "../components/blocks.ts";
import { csrfField } from "../csrf.ts";
import { renderDocument } from "../document.ts";
import type { WebContext } from "../env.ts";
import { restOfFlash } from "../flash.ts";
import type { Html } from "../html.ts";

export interface OutlineEntry {
	/** Of the heading it leads to. */
	id: string;
	text: string;
	/** 2 for a section, 3 for a part of one: as the headings have it. */
	depth: number;
}

export interface DocsPage {
	/** Also the page's one h1: the body begins below it. */
	title: string;
	active: "guide" | "api";
	outline: readonly OutlineEntry[];
	body: Html;
}

/** So long a cached copy may be out of date after an upgrade. */
const CACHE_SECONDS = 300;

const DOCUMENTS = [
	{ name: "guide", label: "Receiver guide", href: "/docs" },
	{ name: "api", label: "API reference", href: "/docs/api" },
] as const;

export async function answerDocs(c: WebContext, page: DocsPage): Promise<Response> {
	const viewer = c.get("viewer");
	const document = renderDocument({
		title: page.title,
		network: c.get("network"),
		viewer,
		active: "docs",
		flash: viewer === null ? undefined : restOfFlash(c),
		// csrfField sets a cookie, which must not be in a copy that is cached for others.
		csrf: viewer === null ? null : csrfField(c),
		warnings: [],
		setUp: null,
		allowsPrivateRanges: viewer !== null && c.get("allowsPrivateRanges"),
		body: docsBody(page),
	});
	c.header("vary", "cookie");
	c.header("cache-control", viewer === null ? `public, max-age=${CACHE_SECONDS}` : "no-store");
	return c.html(await document);
}

function docsBody({ title, active, outline, body }: DocsPage): Html {
	const links = outlineLinks(outline);
	return html`<div class="docs">
	<aside class="docs-side">
		${tabs(
			"Documentation",
			DOCUMENTS.map(({ name, label, href }) => ({ label, href, isActive: name === active })),
		)}
		<nav class="docs-outline" aria-label="On this page">${links}</nav>
	</aside>
	<article class="prose">
		<h1>${title}</h1>
		<details class="card docs-outline-folded"><summary>On this page</summary>${links}</details>
		${body}
	</article>
</div>`;
}

function outlineLinks(outline: readonly OutlineEntry[]): Html {
	return html`<ul>${outline.map(
		({ id, text, depth }) =>
			html`<li class="${depth > 2 ? "docs-part" : "docs-section"}"><a class="docs-link" href="#${id}">${text}</a></li>`,
	)}</ul>`;
}
