// /docs/search: the guide, the examples, the API reference and the problems, by section; for staff the operations guide
// as well. The sections are taken from the pages themselves, with this network's own brand and address, when the first
// search comes. minisearch ranks them.

import MiniSearch, { type SearchResult } from "minisearch";
import { EXPLAINED_CODES } from "../../domain/fault.ts";
import type { OpenApiDocument } from "../../openapi.ts";
import { GUIDE_PARTS } from "../../operations-guide.ts";
import { EXAMPLE_LANGUAGES, fillIn, readExample } from "../examples.ts";
import { isStaffViewer, type PageDeps, type WebContext } from "../page.ts";
import {
	API_REFERENCE_PATH,
	DOCS_PATH,
	DOCS_SEARCH_PATH,
	operationsPath,
	PROBLEMS_PATH,
	problemPath,
	withQuery,
} from "../paths.ts";
import { countOf, type Html, html } from "../ui.ts";
import { renderReference } from "./api-page.ts";
import { answerDocs, type DocsPage, documentsFor, MAX_QUERY_CHARACTERS } from "./docs-document.ts";
import { EXAMPLE_ROLES, exampleHref, guideText } from "./guide-page.ts";
import { operationsPage } from "./operations-page.ts";
import { problemPage } from "./problem-pages.ts";

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

type SearchDeps = Pick<PageDeps, "network" | "publicUrl" | "apiDocument" | "clock">;

/** By the document: another one is made when the network changes its name or its brand. */
const kept = new WeakMap<OpenApiDocument, Promise<MiniSearch<DocsSection>>>();

const MAX_FOUND = 20;

export async function showSearch(c: WebContext, deps: SearchDeps): Promise<Response> {
	const document = deps.apiDocument();
	const index = kept.get(document) ?? indexPages(document, deps);
	kept.set(document, index);
	const typed = (c.req.query("q") ?? "").trim().slice(0, MAX_QUERY_CHARACTERS);
	const filter = ({ isForStaff }: SearchResult) => isForStaff !== true || isStaffViewer(c);
	const search = async (combineWith: "AND" | "OR") => (await index).search(typed, { combineWith, filter });
	const all = await search("AND");
	const found = all.length > 0 ? all : await search("OR");
	const count = countOf(found.length, "section");
	const words =
		all.length > 0
			? `${count} for “${typed}”, the best first.`
			: `No section has all of these words: “${typed}”. ${count} with some of them:`;
	const isEmpty = !/[\p{Letter}\p{Number}]/u.test(typed);
	return answerDocs(c, {
		title: "Search the documentation",
		active: null,
		outline: [],
		query: typed,
		body:
			found.length > 0
				? html`<p role="status">${words}</p><ol class="docs-found">${found.slice(0, MAX_FOUND).map(foundItem)}</ol>`
				: html`${isEmpty ? null : html`<p role="status">Nothing found for “${typed}”.</p>`}${whatToType(c, isEmpty, deps)}`,
	});
}

/** Page after page, with a breath between two: all of them at once would hold up callbacks for a moment. */
async function indexPages(document: OpenApiDocument, deps: SearchDeps): Promise<MiniSearch<DocsSection>> {
	const instance = { publicUrl: deps.publicUrl, brand: deps.network.face.brand };
	const pages: readonly (() => readonly DocsSection[])[] = [
		() => cutSections(DOCS_PATH, guideText(instance)),
		() => cutSections(API_REFERENCE_PATH, renderReference(document)),
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
			EXPLAINED_CODES.map((code) => {
				const { title, body } = problemPage(code, instance);
				const text = plainText(String(body));
				return { href: problemPath(code), title, trail: "Problems", text, terms: code };
			}),
		...GUIDE_PARTS.map((part) => () => {
			const sections = cutSections(operationsPath(part.name), operationsPage(part));
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
	return href.startsWith(PROBLEMS_PATH) && !term.includes("_") ? 0.4 : 1;
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
function whatToType(c: WebContext, isEmpty: boolean, { network: { face } }: SearchDeps): Html {
	const examples = [`X-${face.brand}-Signature`, "bad_signature", "401", "PARKED", "retry"];
	return html`<p>${
		isEmpty
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

const HEADING = /<h([234]) id="([^"]+)">(.*?)<\/h\1>/gs;
const FIRST_CELL = /<tr\b[^>]*>\s*<td\b[^>]*>(.*?)<\/td>/gs;
/** A longer cell is a sentence, and no name. */
const MAX_TERM_CHARACTERS = 60;

/** A page of ours, cut at its headings. */
function cutSections(path: string, { title, body }: Pick<DocsPage, "title" | "body">): DocsSection[] {
	const [before = "", ...parts] = String(body).split(HEADING);
	const sectionOf = (href: string, heading: string, markup: string) => {
		const cells = [...markup.matchAll(FIRST_CELL)].map(([, cell = ""]) => plainText(cell));
		const terms = cells.filter(({ length }) => length <= MAX_TERM_CHARACTERS).join(" ");
		return { href, title: plainText(heading), trail: title, text: plainText(markup), terms };
	};
	const sections = [sectionOf(path, title, before)];
	// The depth, the id and the heading, then what stands below it.
	for (let at = 0; at < parts.length; at += 4) {
		sections.push(sectionOf(`${path}#${parts[at + 1]}`, parts[at + 2] ?? "", parts[at + 3] ?? ""));
	}
	return sections;
}

/** What is read by nobody who looks for a text: buttons, tabs, and what tables are called for screen readers. */
const FURNITURE = /<(button|nav|caption)\b.*?<\/\1>|<a class="heading-link".*?<\/a>/gs;
/** Stands within a word: code in colours, emphasis. Other tags end one. */
const INLINE_TAG = /<\/?(?:a|code|em|strong|mark|wbr)\b[^>]*>|<span class="code-[^"]*">|<\/span>/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** Values in our markup are escaped, so that a ">" always ends a tag. */
function plainText(markup: string): string {
	return markup
		.replace(FURNITURE, " ")
		.replace(/<\/t[dh]>(?=\s*<t[dh])/g, " · ")
		.replace(INLINE_TAG, "")
		.replace(/<[^>]*>/g, " ")
		.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? "")
		.replace(/\s+/g, " ")
		.trim();
}
