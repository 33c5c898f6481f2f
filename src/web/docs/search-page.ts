// /docs/search: the guide, the examples, the API reference and the problems, by section; for staff the operations guide
// as well. The sections are cut from the documents' Markdown when the first search comes. minisearch ranks them.

import { lexer } from "marked";
import MiniSearch, { type SearchResult } from "minisearch";
import { EXPLAINED_CODES, titleOfFault } from "../../domain/fault.ts";
import type { OpenApiDocument } from "../../openapi.ts";
import { GUIDE_PARTS, readGuide } from "../../operations-guide.ts";
import { EXAMPLE_LANGUAGES, fillIn, readExample } from "../examples.ts";
import { isStaffViewer, type PageDeps, type WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { type Html, html } from "../ui.ts";
import { writeReference } from "./api-reference.ts";
import { answerDocs, MAX_QUERY_CHARACTERS } from "./docs-document.ts";
import {
	type DocsDeps,
	EXAMPLE_ROLES,
	exampleHref,
	instanceOf,
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
	/** The code that it explains, or what the rows of its tables are about. */
	terms: string;
	isForStaff?: boolean;
}

type SearchDeps = DocsDeps & Pick<PageDeps, "clock">;

/** By the document: another one is made when the network changes its name or its brand. */
const kept = new WeakMap<OpenApiDocument, Promise<MiniSearch<DocsSection>>>();

const MAX_FOUND = 20;

export async function showSearch(c: WebContext, deps: SearchDeps): Promise<Response> {
	const document = deps.apiDocument();
	const index = kept.get(document) ?? indexPages(document, deps);
	kept.set(document, index);
	const typed = (c.req.query("q") ?? "").trim().slice(0, MAX_QUERY_CHARACTERS);
	const filter = ({ isForStaff }: SearchResult) => isForStaff !== true || isStaffViewer(c);
	const found = (await index).search(typed, { filter }).slice(0, MAX_FOUND);
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
async function indexPages(document: OpenApiDocument, deps: SearchDeps): Promise<MiniSearch<DocsSection>> {
	const instance = instanceOf(deps);
	const pages: readonly (() => readonly DocsSection[])[] = [
		() => cutSections(paths.DOCS_PATH, writeGuide(instance)),
		() => cutSections(paths.API_REFERENCE_PATH, writeReference(document)),
		() =>
			EXAMPLE_ROLES.flatMap((role) =>
				EXAMPLE_LANGUAGES.map(({ value, label }) => ({
					href: exampleHref(role, value),
					title: `${role === "receiver" ? "Receiver" : "Sender"} in ${label}`,
					trail: "Receiver guide",
					text: fillIn(readExample(value, role), instance).replace(/\s+/g, " "),
					terms: "",
				})),
			),
		() =>
			EXPLAINED_CODES.map((code) => ({
				href: paths.problemPath(code),
				title: titleOfFault(code),
				trail: "Problems",
				text: plainText(writeProblem(code, instance)),
				terms: code,
			})),
		...GUIDE_PARTS.map((part) => () => {
			const sections = cutSections(paths.operationsPath(part.name), readGuide(part));
			return sections.map((section) => ({ ...section, isForStaff: true }));
		}),
	];
	const index = new MiniSearch<DocsSection>({
		idField: "href",
		fields: ["title", "terms", "text"],
		storeFields: ["href", "title", "trail", "text", "isForStaff"],
		tokenize: wordsOf,
		processTerm: termOf,
		searchOptions: {
			tokenize: (text) => wordsOf(text),
			prefix: (term) => term.length >= 3,
			// Letters that may be wrong: in short words they would make others of them.
			fuzzy: (term) => (term.length < 6 ? 0 : term.length < 8 ? 1 : 2),
			weights: { prefix: 0.1, fuzzy: 0.1 },
			boost: { title: 4, terms: 3 },
			boostDocument: (href, term) => worthOf(String(href), term),
		},
	});
	for (const sections of pages) {
		index.addAll(sections());
		await deps.clock.yieldLoop();
	}
	return index;
}

/** Listings mention everything and explain nothing; a problem's page is for those who have its code. */
function worthOf(href: string, term: string): number {
	if (href.includes("?lang=")) return 0.3;
	return href.startsWith(paths.PROBLEMS_PATH) && !term.includes("_") ? 0.4 : 1;
}

/** In nearly every section, or in none: they would only keep a question from finding anything. */
const SMALL_WORDS = new Set(
	"a an and are be can do does for from has have how i in is it my not of on or the this to what when where why with you your".split(
		" ",
	),
);

/** `bad_signature` and `X-Service-Nonce` are words, and so is each part of them, but for terms: each of those is one. */
function wordsOf(text: string, field?: string): string[] {
	const words = text.match(/[\p{Letter}\p{Number}]+(?:[_-]+[\p{Letter}\p{Number}]+)*/gu) ?? [];
	if (field === "terms") return words;
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

/** A longer cell is a sentence, and no name. */
const MAX_TERM_CHARACTERS = 60;

/** A document, cut at its headings. */
function cutSections(path: string, markdown: string): DocsSection[] {
	const sections: DocsSection[] = [];
	for (const token of lexer(markdown)) {
		const section = sections.at(-1);
		if (token.type === "heading") {
			const title = String(token["text"]).replace(/[`*]/g, "");
			const href = section === undefined ? path : `${path}#${headingId(title)}`;
			sections.push({ href, title, trail: section?.trail ?? title, text: "", terms: "" });
		} else if (section !== undefined) {
			section.text = `${section.text} ${plainText(token.raw)}`.trim();
			const cells: readonly string[] =
				token.type === "table"
					? token["rows"].map(([first]: [{ text: string }]) => plainText(first.text))
					: [];
			section.terms += ` ${cells.filter(({ length }) => length <= MAX_TERM_CHARACTERS).join(" ")}`;
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
