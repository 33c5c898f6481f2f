// /docs/search: the guide, the examples, the API reference and the problems, by section; for staff the operations guide
// as well. What is searched is made when somebody first asks, from the pages with this network's own brand and address,
// and kept.

import { html } from "hono/html";
import type { OpenApiDocument } from "../../openapi.ts";
import { GUIDE_PARTS } from "../../operations-guide.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import {
	API_REFERENCE_PATH,
	DOCS_PATH,
	DOCS_SEARCH_PATH,
	operationsPath,
	problemPath,
	withQuery,
} from "../paths.ts";
import { isStaffViewer } from "../viewer.ts";
import { renderReference } from "./api-page.ts";
import { answerDocs, type DocsPage, documentsFor } from "./docs-document.ts";
import { cutSections, type DocsSection } from "./docs-sections.ts";
import type { ExplainedCode } from "./explained-code.ts";
import {
	type FoldedSection,
	type Found,
	type FoundSection,
	findSections,
	foldSection,
	type TextPart,
} from "./find-sections.ts";
import { exampleSections, guideText } from "./guide-page.ts";
import { operationsPage } from "./operations-page.ts";
import { problemPage } from "./problem-page.ts";
import { EXPLAINED_CODES } from "./problem-words.ts";
import { readQuery, type SearchQuery } from "./search-query.ts";

type SearchDeps = Pick<PageDeps, "network" | "publicUrl" | "apiDocument" | "clock">;

/** By the document: another one is made when the network changes its name or its brand. */
const kept = new WeakMap<OpenApiDocument, Promise<readonly FoldedSection[]>>();
/** The same text for every network. */
let keptOperations: Promise<readonly FoldedSection[]> | undefined;

export async function showSearch(c: WebContext, deps: SearchDeps): Promise<Response> {
	const document = deps.apiDocument();
	const query = readQuery(c.req.query("q") ?? "", deps.network.face.brand);
	const sections = kept.get(document) ?? allSections(document, deps);
	kept.set(document, sections);
	keptOperations ??= isStaffViewer(c) ? operationsSections(deps) : undefined;
	const searched = [...(await sections), ...(isStaffViewer(c) ? ((await keptOperations) ?? []) : [])];
	return answerDocs(c, resultPage(c, query, findSections(searched, query.words), deps));
}

/** Page after page, with a breath between two: all of them at once would hold up callbacks for a moment. */
function allSections(document: OpenApiDocument, deps: SearchDeps): Promise<readonly FoldedSection[]> {
	const instance = { publicUrl: deps.publicUrl, brand: deps.network.face.brand };
	const parts: readonly (() => DocsSection[])[] = [
		() => pageSections(DOCS_PATH, guideText(instance)),
		() => pageSections(API_REFERENCE_PATH, renderReference(document)),
		() => exampleSections(instance),
		...EXPLAINED_CODES.map((code) => () => [problemSection(code, deps)]),
	];
	return collect(parts, deps);
}

function operationsSections(deps: SearchDeps): Promise<readonly FoldedSection[]> {
	return collect(
		GUIDE_PARTS.map((part) => () => pageSections(operationsPath(part.name), operationsPage(part))),
		deps,
	);
}

async function collect(
	parts: readonly (() => DocsSection[])[],
	{ clock }: SearchDeps,
): Promise<readonly FoldedSection[]> {
	const sections: FoldedSection[] = [];
	for (const part of parts) {
		sections.push(...part().map(foldSection));
		await clock.yieldLoop();
	}
	return sections;
}

function pageSections(path: string, { title, body }: Pick<DocsPage, "title" | "body">): DocsSection[] {
	return cutSections({ path, title, body: String(body) });
}

function problemSection(code: ExplainedCode, deps: SearchDeps): DocsSection {
	const { title, body } = problemPage(code, deps);
	const parts = pageSections(problemPath(code), { title, body });
	const join = (pick: (part: DocsSection) => string) => parts.map(pick).join(" ");
	return {
		href: problemPath(code),
		title,
		trail: ["Problems"],
		text: join(({ text }) => text),
		prose: join(({ prose }) => prose),
		terms: parts.flatMap(({ terms }) => terms),
		code,
	};
}

function resultPage(c: WebContext, query: SearchQuery, found: Found, deps: SearchDeps): DocsPage {
	return {
		title: "Search the documentation",
		active: null,
		outline: [],
		query: query.text,
		body: html`${summary(query, found)}${
			found.sections.length === 0
				? whatToType(c, query, deps)
				: html`<ol class="docs-found">${found.sections.map(foundItem)}</ol>`
		}`,
	};
}

function summary({ text, words, ownHeader }: SearchQuery, { sections, total, isPartial }: Found): Content {
	if (words.length === 0) return null;
	const note =
		ownHeader === null
			? null
			: html` Headers carry the network's name: here it is <code>${ownHeader}</code>.`;
	if (sections.length === 0) return html`<p role="status">Nothing found for “${text}”.${note}</p>`;
	const count = total === 1 ? "1 section" : `${total} sections`;
	if (isPartial) {
		return html`<p role="status">No section has all of these words: “${text}”. ${count} with some of them:${note}</p>`;
	}
	return html`<p role="status">${count} for “${text}”${total > sections.length ? `, the best ${sections.length} of them` : ", the best first"}.${note}</p>`;
}

function foundItem({ section: { href, trail }, title, passage }: FoundSection): Html {
	return html`<li><a href="${href}">${title.map(marked)}</a>${
		trail.length === 0 ? null : html`<span class="docs-trail">${trail.join(" › ")}</span>`
	}<p>${passage.map(marked)}</p></li>`;
}

function marked({ text, isMarked }: TextPart): Content {
	return isMarked ? html`<mark>${text}</mark>` : text;
}

/** Before anything was typed, and when nothing was found. */
function whatToType(c: WebContext, { words }: SearchQuery, { network: { face } }: SearchDeps): Html {
	const examples = [
		`X-${face.brand}-Signature`,
		"bad_signature",
		"401",
		"PARKED",
		"conversion.approved",
		"retry",
	];
	return html`<p>${
		words.length === 0
			? "Type a header, an error code, a status or a word:"
			: "Check the spelling, or type fewer words. A header, an error code or a status is enough:"
	}</p>
<ul>${examples.map((example) => html`<li><a href="${withQuery(DOCS_SEARCH_PATH, { q: example })}">${example}</a></li>`)}</ul>
<p>Or look through ${documentsFor(c).map(({ label, href }, index) => html`${index === 0 ? "" : ", "}<a href="${href}">${label}</a>`)}.${
		face.supportAddress === null
			? null
			: html` If it is not there, write to <a class="break" href="mailto:${face.supportAddress}">${face.supportAddress}</a>.`
	}</p>`;
}
