// /docs/search: the documents by section; for staff the operations guide as well. The sections are cut from the documents'
// Markdown when the first search comes. minisearch ranks them.

import { lexer } from "marked";
import MiniSearch, { type SearchResult } from "minisearch";
import { EXPLAINED_CODES, titleOfFault } from "../../domain/fault.ts";
import { GUIDE_PARTS, readGuide } from "../../operations-guide.ts";
import { isStaffViewer, type PageDeps, type WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { type Html, html } from "../ui.ts";
import { answerDocs, MAX_QUERY_CHARACTERS } from "./docs-document.ts";
import {
	type DocsDeps,
	instanceOf,
	PARTNER_GUIDE,
	writeApiReference,
	writeGuide,
	writeProblem,
} from "./docs-pages.ts";
import { headingId } from "./markdown.ts";

interface DocsSection {
	href: string;
	title: string;
	/** The document that it is a part of. */
	trail: string;
	/** In one line. */
	text: string;
	isForStaff?: boolean;
}

type SearchDeps = DocsDeps & Pick<PageDeps, "clock">;

/** Another one is made when the network changes its brand. */
let kept: { key: string; index: Promise<MiniSearch<DocsSection>> } | undefined;

const MAX_FOUND = 20;

export async function showSearch(c: WebContext, deps: SearchDeps): Promise<Response> {
	const key = JSON.stringify(instanceOf(deps));
	if (kept?.key !== key) kept = { key, index: indexPages(deps) };
	const typed = (c.req.query("q") ?? "").trim().slice(0, MAX_QUERY_CHARACTERS);
	const filter = ({ isForStaff }: SearchResult) => isForStaff !== true || isStaffViewer(c);
	const found = (await kept.index).search(typed, { filter }).slice(0, MAX_FOUND);
	const isEmpty = !/[\p{Letter}\p{Number}]/u.test(typed);
	return answerDocs(c, {
		title: "Search the documentation",
		active: null,
		outline: [],
		query: typed,
		body:
			found.length > 0
				? html`<p role="status">The best for “${typed}” first:</p><ol class="docs-found">${found.map(foundItem)}</ol>`
				: html`${isEmpty ? null : html`<p role="status">Nothing found for “${typed}”.</p>`}${whatToType(deps)}`,
	});
}

/** Page after page, with a breath between two: all of them at once would hold up callbacks for a moment. */
async function indexPages(deps: SearchDeps): Promise<MiniSearch<DocsSection>> {
	const instance = instanceOf(deps);
	const pages: readonly (() => readonly DocsSection[])[] = [
		() => cutSections(paths.DOCS_PATH, writeGuide(instance)),
		() => cutSections(paths.API_REFERENCE_PATH, writeApiReference(instance)),
		() => cutSections(paths.PARTNER_DOCS_PATH, PARTNER_GUIDE),
		() =>
			EXPLAINED_CODES.map((code) => ({
				href: paths.problemPath(code),
				title: `${code}: ${titleOfFault(code)}`,
				trail: "Problems",
				text: plainText(writeProblem(code, instance)),
			})),
		...GUIDE_PARTS.map((part) => () => {
			const sections = cutSections(paths.operationsPath(part.name), readGuide(part));
			return sections.map((section) => ({ ...section, isForStaff: true }));
		}),
	];
	const index = new MiniSearch<DocsSection>({
		idField: "href",
		fields: ["title", "text"],
		storeFields: ["href", "title", "trail", "text", "isForStaff"],
		tokenize: wordsOf,
		processTerm: termOf,
		searchOptions: {
			prefix: (term) => term.length >= 3,
			// Letters that may be wrong: in short words they would make others of them.
			fuzzy: (term) => (term.length < 6 ? 0 : term.length < 8 ? 1 : 2),
			weights: { prefix: 0.1, fuzzy: 0.1 },
			boost: { title: 4 },
			// A problem's page is for those who have its code.
			boostDocument: (href, term) => (href.startsWith(paths.PROBLEMS_PATH) && !term.includes("_") ? 0.4 : 1),
		},
	});
	for (const sections of pages) {
		index.addAll(sections());
		await deps.clock.yieldLoop();
	}
	return index;
}

/** In nearly every section, or in none: they would only keep a question from finding anything. */
const SMALL_WORDS = new Set(
	"a an and are be can do does for from has have how i in is it my not of on or the this to what when where why with you your".split(
		" ",
	),
);

/** `bad_signature` and `X-Service-Nonce` are words, and so is each part of them. */
function wordsOf(text: string): string[] {
	const words = text.match(/[\p{Letter}\p{Number}]+(?:[_-]+[\p{Letter}\p{Number}]+)*/gu) ?? [];
	return words.flatMap((word) => (/[_-]/.test(word) ? [word, ...word.split(/[_-]+/)] : [word]));
}

/** In lower case and in the singular. */
function termOf(word: string): string | null {
	const term = word.toLowerCase();
	if (term.length === 1 || SMALL_WORDS.has(term)) return null;
	return /^[a-z]{4,}s$/.test(term) && !/(?:ss|us|is)$/.test(term) ? term.slice(0, -1) : term;
}

/** Some three lines, of which so many characters stand before the first word that was found. */
const PASSAGE_CHARACTERS = 220;
const LEAD_CHARACTERS = 50;

function foundItem({ href, title, trail, text, terms }: SearchResult): Html {
	const longestFirst = terms.toSorted((one, other) => other.length - one.length);
	const found = new RegExp(
		`(?<![\\p{Letter}\\p{Number}])((?:${longestFirst.map((term) => RegExp.escape(term)).join("|")})s?)(?![\\p{Letter}\\p{Number}])`,
		"giu",
	);
	const marked = (words: string) =>
		words.split(found).map((part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part));
	const start = Math.max(0, String(text).search(found) - LEAD_CHARACTERS);
	const passage = String(text).slice(start, start + PASSAGE_CHARACTERS);
	return html`<li><a href="${href}">${marked(title)}</a><span class="docs-trail">${String(trail)}</span><p>${
		start === 0 ? null : "… "
	}${marked(passage)}${start + PASSAGE_CHARACTERS < text.length ? " …" : null}</p></li>`;
}

/** Before anything was typed, and when nothing was found. */
function whatToType({ network: { face } }: SearchDeps): Html {
	const examples = [`X-${face.brand}-Signature`, "bad_signature", "401", "PARKED", "retry"];
	return html`<p>Type a header, an error code, a status or a word:</p>
<ul>${examples.map((example) => html`<li><a href="${paths.withQuery(paths.DOCS_SEARCH_PATH, { q: example })}">${example}</a></li>`)}</ul>`;
}

/** A document, cut at its headings. */
function cutSections(path: string, markdown: string): DocsSection[] {
	const sections: DocsSection[] = [];
	for (const token of lexer(markdown)) {
		const section = sections.at(-1);
		if (token.type === "heading") {
			const title = String(token["text"]).replace(/[`*]/g, "");
			const href = section === undefined ? path : `${path}#${headingId(title)}`;
			sections.push({ href, title, trail: section?.trail ?? title, text: "" });
		} else if (section !== undefined) {
			section.text = `${section.text} ${plainText(token.raw)}`.trim();
		}
	}
	return sections;
}

/** Without its marks, in one line. */
function plainText(markdown: string): string {
	return markdown
		.replace(/<!--.*?-->/gs, " ")
		.replace(/^(?:#+ |```\w*$)|^\|[-:| ]+\|$|^(?:> |[-+] |\d+\. )|[`*]/gm, "")
		.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
		.replace(/^\| | \|$/gm, "")
		.replaceAll(" | ", " · ")
		.replace(/\s+/g, " ")
		.trim();
}
