// Serves the documentation: the pages of document-list.ts, one for each fault code and, for staff, /docs/operations.
// Each page is also Markdown for programs, at its address with ".md" or for requests that prefer text/markdown. Pages
// for visitors have no cookie and may be cached. Pages for signed-in people have the usual navigation and are not
// cached.

import { accepts } from "hono/accepts";
import { raw } from "hono/html";
import { GUIDE_PARTS } from "../../../operations-guide.ts";
import { describeBasketValue } from "../../domain/basket-rule.ts";
import type { NetworkFace } from "../../store/network-cache.ts";
import { listProgrammesOf } from "../../store/queries/programme-people.ts";
import { findProgrammesByPublicId, type Programme } from "../../store/queries/programmes.ts";
import { downloadUrl, PACKAGES } from "../downloads.ts";
import { answerError } from "../error-page.ts";
import {
	EXAMPLE_LANGUAGES,
	EXAMPLE_ROLES,
	type ExampleRole,
	type ExampleValues,
	exampleBlock,
	findLanguage,
	parseLanguage,
} from "../examples.ts";
import { answerPage, isStaffViewer, type PageDeps, type WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { count, type Html, html, tabs } from "../ui.ts";
import { GUIDES, type GuideName, PUBLIC_DOCUMENTS } from "./document-list.ts";
import { DOCUMENT_PATHS, type DocsDocument, isForStaff, readDocument, readMarkdown } from "./documents.ts";

export type DocsDeps = Pick<PageDeps, "network" | "publicUrl" | "store">;

export const MAX_QUERY_CHARACTERS = 100;

/** Package files that shops can install, with a sentence for each package whose current version is missing. */
const PACKAGE_FILES = PACKAGES.flatMap(({ versions }) => versions);
const NOT_PACKED = PACKAGES.filter(({ current }) => current === undefined).map(
	({ file, howToPack }) =>
		`${file} is not here, because this service runs from a clone in which it was not packed. ${howToPack} Then start the service again.`,
);

/** Time for which a cached page may be out of date after an upgrade. */
const CACHE_SECONDS = 300;

/** Deepest level of headings in the outline. With deeper levels the outline would be longer than the page. */
const OUTLINE_DEPTH = 3;

/**
 * Rendered pages that are the same for all readers, by a key such as path and language. All responses share one copy,
 * because thousands of slow readers would otherwise fill the memory.
 */
const sharedPages = new Map<string, { network: NetworkFace; body: ArrayBuffer }>();

export async function showDocument(c: WebContext, deps: DocsDeps): Promise<Response> {
	const path = c.req.path.replace(/\.md$/, "");
	if (!DOCUMENT_PATHS.includes(path)) return answerError(c, "not_found");
	if (path !== c.req.path || prefersMarkdown(c)) {
		const language = findLanguage(c.req.query("lang"));
		return answerText(c, "text/markdown", `${path}.md ${language?.value ?? "all languages"}`, () =>
			writeMarkdown(path, valuesOf(deps), language),
		);
	}
	const language = parseLanguage(c.req.query("lang"));
	const answer = async () => {
		const basketValues = path === paths.ORDER_TO_MONEY_PATH ? await readBasketValues(c, deps) : [];
		const values = valuesOf(deps);
		const document = readDocument(path, values);
		return answerDocs(c, {
			title: document.title,
			outline: document.sections.filter(({ depth }) => depth > 1 && depth <= OUTLINE_DEPTH),
			article: fillSlots(document.body, {
				...Object.fromEntries(
					EXAMPLE_ROLES.map((role) => [`examples: ${role}`, () => exampleTabs(path, role, language, values)]),
				),
				versions: packageVersions,
				"basket values": () => basketValueList(basketValues),
			}),
		});
	};
	if (c.get("viewer") !== null) return answer();
	const body = await sharedBody(c, `${path} ${language.value}`, async () => (await answer()).arrayBuffer());
	setCaching(c);
	return c.body(body, 200, { "content-type": "text/html; charset=UTF-8" });
}

/** Answers with a text for programs, which is the same for every reader. */
export async function answerText(
	c: WebContext,
	type: "text/markdown" | "text/plain",
	key: string,
	write: () => string,
): Promise<Response> {
	const body = await sharedBody(c, key, async () => new TextEncoder().encode(write()).buffer);
	setCaching(c);
	return c.body(body, 200, { "content-type": `${type}; charset=UTF-8` });
}

/** Returns the cached bytes of a page. Renders the page if the cache has none with the network's present values. */
async function sharedBody(
	c: WebContext,
	key: string,
	render: () => Promise<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
	const network = c.get("network");
	let page = sharedPages.get(key);
	if (page?.network !== network) {
		page = { network, body: await render() };
		sharedPages.set(key, page);
	}
	return new Uint8Array(page.body);
}

/** Returns true if the request prefers Markdown to HTML. Browsers do not ask for Markdown. */
function prefersMarkdown(c: WebContext): boolean {
	const supports = ["text/html", "text/markdown"];
	return accepts(c, { header: "Accept", supports, default: "text/html" }) === "text/markdown";
}

/**
 * Returns a page as Markdown with this network's values and the package files. If a language is given, the
 * example programs in other languages are left out.
 */
export function writeMarkdown(
	path: string,
	values: ExampleValues,
	language?: ReturnType<typeof findLanguage>,
): string {
	const markdown = readMarkdown(path, values);
	return (language === undefined ? markdown : keepLanguage(markdown, language.label)).replace(
		"<!-- versions -->",
		() =>
			[
				...PACKAGE_FILES.map(
					({ version, file, sha256 }) =>
						`- Version ${version}: ${downloadUrl(values.publicUrl, file)}, SHA-256 \`${sha256}\``,
				),
				...NOT_PACKED.map((sentence) => `- ${sentence}`),
			].join("\n"),
	);
}

/**
 * Matches an example program in Markdown, which is the name of its language and the code. See docs/rendered-pages.ts.
 */
const EXAMPLE_IN_MARKDOWN = /^\*\*([^*\n]+)\*\*\n\n```.*?^```\n*/gms;

/** Keeps only the example programs in the language with this label. */
function keepLanguage(markdown: string, label: string): string {
	const isOther = (name: string) => EXAMPLE_LANGUAGES.some((other) => other.label === name && name !== label);
	return markdown.replace(EXAMPLE_IN_MARKDOWN, (example, name: string) => (isOther(name) ? "" : example));
}

export function valuesOf({ network, publicUrl }: DocsDeps): ExampleValues {
	return { publicUrl, brand: network.face.brand };
}

/** Replaces placeholder comments, which docs/markdown.ts writes, by the markup from `slots`. */
function fillSlots(markup: string, slots: Readonly<Record<string, () => Html>>): Html {
	return raw(markup.replace(/<!-- (.*?) -->/g, (_, name: string) => String(slots[name]?.() ?? "")));
}

/** Shows an example with one tab for each language. The tabs are links, so they work without scripts. */
function exampleTabs(
	path: string,
	role: ExampleRole,
	language: ReturnType<typeof parseLanguage>,
	values: ExampleValues,
): Html {
	return html`<div class="example" id="${role}-code">${tabs(
		`Language of the ${role}`,
		EXAMPLE_LANGUAGES.map((other) => ({
			label: other.label,
			href: `${paths.withQuery(path, { lang: other.value })}#${role}-code`,
			isActive: other === language,
		})),
	)}${exampleBlock(language, role, `${language.label}, ${role}`, values)}</div>`;
}

/** Maximum number of programmes whose rule for the basket value is shown. Hardly anybody belongs to more. */
const MAX_BASKET_VALUES = 20;

/** Returns the programmes of the person who reads the page. Visitors and staff have none. */
async function readBasketValues(c: WebContext, { store }: DocsDeps): Promise<readonly Programme[]> {
	const viewer = c.get("viewer");
	if (viewer === null || viewer.programmeCount === 0) return [];
	const names = await listProgrammesOf(store.db, viewer.personId, MAX_BASKET_VALUES);
	return findProgrammesByPublicId(
		store.db,
		names.map(({ publicId }) => publicId),
	);
}

/** Says what the basket value contains in each of the reader's programmes. */
function basketValueList(programmes: readonly Programme[]): Html {
	if (programmes.length === 0) return html``;
	return html`<ul>${programmes.map(
		(programme) =>
			html`<li><strong>${programme.name}</strong>: ${describeBasketValue(programme.basket_rule, programme.basket_note)}</li>`,
	)}</ul>`;
}

/** Lists the package files that shops install, with their checksums. */
function packageVersions(): Html {
	return html`${PACKAGE_FILES.map(
		({ version, file, bytes, sha256, integrity }) => html`<ul>
<li>Version ${version}: <a href="${paths.DOWNLOADS_PATH}/${file}">${file}</a>, ${count(bytes)} bytes</li>
<li>SHA-256: <code>${sha256}</code></li>
<li>Integrity, as npm writes it: <code>${integrity}</code></li>
</ul>`,
	)}${NOT_PACKED.map((sentence) => html`<p>${raw(sentence.replace(/`(.*?)`/g, "<code>$1</code>"))}</p>`)}`;
}

/**
 * Returns the menu of a page: the start page, and the pages for the same readers. The menu of the start page has the
 * first page for each kind of reader.
 */
function menuOf(path: string, isStaff: boolean): { label: string; href: string }[] {
	const guide = PUBLIC_DOCUMENTS.find((document) => document.path === path)?.guide ?? "start";
	const pagesOf = (name: GuideName) =>
		PUBLIC_DOCUMENTS.filter((document) => document.guide === name).map(({ label, path: href }) => ({
			label,
			href,
		}));
	const [start, ...others] = pagesOf("start");
	if (start === undefined) throw new Error("the documentation has no start");
	if (guide !== "start") return [start, ...pagesOf(guide)];
	const entrances = GUIDES.flatMap(({ name, label }) =>
		name === "start"
			? []
			: pagesOf(name)
					.slice(0, 1)
					.map(({ href }) => ({ label, href })),
	);
	const operations = { label: "Operations", href: paths.OPERATIONS_PATH };
	return [start, ...entrances, ...(isStaff ? [operations] : []), ...others];
}

/** Answers with an article in the layout of the documentation. */
export function answerDocs(
	c: WebContext,
	page: { title: string; outline: DocsDocument["sections"]; article: Html; query?: string },
): Promise<Response> {
	setCaching(c);
	const { path } = c.req;
	const parent = path.replace(/^(\/problems|\/docs\/operations)\/.*/, "$1");
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
			menuOf(parent, isStaffViewer(c)).map((link) => ({ ...link, isActive: link.href === parent })),
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
	c.header("vary", "cookie, accept");
	c.header("cache-control", c.get("viewer") === null ? `public, max-age=${CACHE_SECONDS}` : "no-store");
}

function searchForm(query: string): Html {
	return html`<form class="docs-search" role="search" method="get" action="${paths.DOCS_SEARCH_PATH}">
	<label class="visually-hidden" for="docs-query">Search the documentation</label>
	<input type="search" id="docs-query" name="q" value="${query}" placeholder="Search" autocomplete="off">
	<button type="submit" class="button">Search</button>
</form>`;
}
