// The pages of the documentation: /docs, /docs/api, /docs/partners, /downloads, /problems and, for staff,
// /docs/operations. Visitors who are not signed in get no cookie, and a page that may be cached. People who
// are signed in get their usual navigation, and their page is not cached.

import { raw } from "hono/html";
import { GUIDE_PARTS } from "../../operations-guide.ts";
import type { NetworkFace } from "../../store/queries/known-network.ts";
import { DOWNLOADS } from "../downloads.ts";
import { answerError } from "../error-page.ts";
import {
	EXAMPLE_LANGUAGES,
	type ExampleRole,
	type ExampleValues,
	exampleBlock,
	parseLanguage,
} from "../examples.ts";
import { answerPage, isStaffViewer, type PageDeps, type WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { count, type Html, html, tabs } from "../ui.ts";
import { DOCUMENT_PATHS, type DocsDocument, isForStaff, readDocument } from "./documents.ts";

export type DocsDeps = Pick<PageDeps, "network" | "publicUrl">;

export const MAX_QUERY_CHARACTERS = 100;

/** Time for which a cached page may be out of date after an upgrade. */
const CACHE_SECONDS = 300;

/** Deepest level of headings in the outline. With deeper levels the outline would be longer than the page. */
const OUTLINE_DEPTH = 3;

/**
 * Rendered pages for visitors who are not signed in, by path and language. All responses share one copy,
 * because thousands of slow readers would otherwise fill the memory.
 */
const visitorPages = new Map<string, { network: NetworkFace; body: ArrayBuffer }>();

export async function showDocument(c: WebContext, deps: DocsDeps): Promise<Response> {
	const { path } = c.req;
	if (!DOCUMENT_PATHS.includes(path)) return answerError(c, "not_found");
	const language = parseLanguage(c.req.query("lang"));
	const answer = () => {
		const values = valuesOf(deps);
		const document = readDocument(path, values);
		return answerDocs(c, {
			title: document.title,
			outline: document.sections.filter(({ depth }) => depth > 1 && depth <= OUTLINE_DEPTH),
			article: fillSlots(document.body, {
				"examples: receiver": () => exampleTabs("receiver", language, values),
				"examples: sender": () => exampleTabs("sender", language, values),
				versions: packageVersions,
			}),
		});
	};
	if (c.get("viewer") !== null) return answer();
	const key = `${path} ${language.value}`;
	const network = c.get("network");
	let page = visitorPages.get(key);
	if (page?.network !== network) {
		page = { network, body: await (await answer()).arrayBuffer() };
		visitorPages.set(key, page);
	}
	setCaching(c);
	return c.body(new Uint8Array(page.body), 200, { "content-type": "text/html; charset=UTF-8" });
}

export function valuesOf({ network, publicUrl }: DocsDeps): ExampleValues {
	return { publicUrl, brand: network.face.brand };
}

/**
 * Replaces placeholder comments in the markup by the markup from `slots`. docs/markdown.ts writes these
 * placeholders.
 */
function fillSlots(markup: string, slots: Readonly<Record<string, () => Html>>): Html {
	return raw(markup.replace(/<!-- (.*?) -->/g, (_, name: string) => String(slots[name]?.() ?? "")));
}

/** Shows an example with one tab for each language. The tabs are links, so they work without scripts. */
function exampleTabs(
	role: ExampleRole,
	language: ReturnType<typeof parseLanguage>,
	values: ExampleValues,
): Html {
	return html`<div class="example" id="${role}-code">${tabs(
		`Language of the ${role}`,
		EXAMPLE_LANGUAGES.map((other) => ({
			label: other.label,
			href: `${paths.withQuery(paths.DOCS_PATH, { lang: other.value })}#${role}-code`,
			isActive: other === language,
		})),
	)}${exampleBlock(language, role, `${language.label}, ${role}`, values)}</div>`;
}

/** Lists the versions of the package that shops install, with their checksums. */
function packageVersions(): Html {
	return html`${DOWNLOADS.map(
		({ version, file, bytes, sha256, integrity }) => html`<ul>
<li>Version ${version}: <a href="${paths.DOWNLOADS_PATH}/${file}">${file}</a>, ${count(bytes)} bytes</li>
<li>SHA-256: <code>${sha256}</code></li>
<li>Integrity, as npm writes it: <code>${integrity}</code></li>
</ul>`,
	)}`;
}

const DOCUMENTS = [
	{ label: "Receiver guide", href: paths.DOCS_PATH },
	{ label: "API reference", href: paths.API_REFERENCE_PATH },
	{ label: "Partners", href: paths.PARTNER_DOCS_PATH },
	{ label: "Problems", href: paths.PROBLEMS_PATH },
	{ label: "Downloads", href: paths.DOWNLOADS_PATH },
	{ label: "Operations", href: paths.OPERATIONS_PATH },
] as const;

/** Shows an article in the frame of the documentation. */
export function answerDocs(
	c: WebContext,
	page: { title: string; outline: DocsDocument["sections"]; article: Html; query?: string },
): Promise<Response> {
	setCaching(c);
	const { path } = c.req;
	const parent = path.replace(/^(\/problems|\/docs\/operations)\/.*/, "$1");
	const documents = DOCUMENTS.filter(({ href }) => !isForStaff(href) || isStaffViewer(c));
	const parts = GUIDE_PARTS.map(({ name, label }) => ({ label, href: paths.operationsPath(name) }));
	const links = html`<ul>${page.outline.map(
		({ id, title, depth }) =>
			html`<li class="${depth > 2 ? "docs-part" : "docs-section"}"><a class="docs-link" href="#${id}">${title}</a></li>`,
	)}</ul>`;
	const hasOutline = page.outline.length > 0;
	return answerPage(c, {
		title: page.title,
		active: "docs",
		body: html`<div class="docs">
	<aside class="docs-side">
		${searchForm(page.query ?? "")}
		${tabs(
			"Documentation",
			documents.map((document) => ({ ...document, isActive: document.href === parent })),
		)}
		${
			isForStaff(path)
				? tabs(
						"Parts",
						parts.map((part) => ({ ...part, isActive: part.href === path })),
					)
				: null
		}
		${hasOutline ? html`<nav class="docs-outline" aria-label="On this page">${links}</nav>` : null}
	</aside>
	<article class="prose">
		<h1>${page.title}</h1>
		${hasOutline ? html`<details class="card docs-outline-folded"><summary>On this page</summary>${links}</details>` : null}
		${page.article}
	</article>
</div>`,
	});
}

function setCaching(c: WebContext): void {
	c.header("vary", "cookie");
	c.header("cache-control", c.get("viewer") === null ? `public, max-age=${CACHE_SECONDS}` : "no-store");
}

function searchForm(query: string): Html {
	return html`<form class="docs-search" role="search" method="get" action="${paths.DOCS_SEARCH_PATH}">
	<label class="visually-hidden" for="docs-query">Search the documentation</label>
	<input type="search" id="docs-query" name="q" value="${query}" maxlength="${MAX_QUERY_CHARACTERS}" placeholder="Search" autocomplete="off">
	<button type="submit" class="button">Search</button>
</form>`;
}
