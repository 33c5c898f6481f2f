// /docs/search: the guide, the examples, the API reference and the problems, by section; for staff the operations guide
// as well. The sections are taken from the pages themselves, with this network's own brand and address, when the first
// search comes. minisearch ranks them.

import MiniSearch, { type SearchResult } from "minisearch";
import { EXPLAINED_CODES } from "../../domain/fault.ts";
import { headerNames } from "../../domain/signature.ts";
import type { OpenApiDocument } from "../../openapi.ts";
import { GUIDE_PARTS } from "../../operations-guide.ts";
import { EXAMPLE_LANGUAGES, type ExampleValues, fillIn, readExample } from "../examples.ts";
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
import { type Html, html } from "../ui.ts";
import { renderReference } from "./api-page.ts";
import { answerDocs, type DocsPage, documentsFor, MAX_QUERY_CHARACTERS } from "./docs-document.ts";
import { EXAMPLE_ROLES, exampleHref, guideText } from "./guide-page.ts";
import { operationsPage } from "./operations-page.ts";
import { problemPage } from "./problem-pages.ts";

interface DocsSection {
	href: string;
	title: string;
	/** Where it stands: the document, and the section around it. */
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
	const { words, ownHeader } = readOwnHeaders(typed, deps.network.face.brand);
	const filter = ({ isForStaff }: SearchResult) => isForStaff !== true || isStaffViewer(c);
	const search = async (combineWith: "AND" | "OR") => (await index).search(words, { combineWith, filter });
	const all = await search("AND");
	const found = all.length > 0 ? all : await search("OR");
	const isEmpty = !/[\p{Letter}\p{Number}]/u.test(typed);
	return answerDocs(c, {
		title: "Search the documentation",
		active: null,
		outline: [],
		query: typed,
		body: html`${isEmpty ? null : summary(typed, found.length, all.length === 0, ownHeader)}${
			found.length === 0
				? whatToType(c, isEmpty, deps)
				: html`<ol class="docs-found">${found.slice(0, MAX_FOUND).map(foundItem)}</ol>`
		}`,
	});
}

/** Page after page, with a breath between two: all of them at once would hold up callbacks for a moment. */
async function indexPages(document: OpenApiDocument, deps: SearchDeps): Promise<MiniSearch<DocsSection>> {
	const instance = { publicUrl: deps.publicUrl, brand: deps.network.face.brand };
	const pages: readonly (() => DocsSection[])[] = [
		() => cutSections(DOCS_PATH, guideText(instance)),
		() => cutSections(API_REFERENCE_PATH, renderReference(document)),
		() => exampleSections(instance),
		() => EXPLAINED_CODES.map((code) => wholePage(problemPath(code), problemPage(code, instance), code)),
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
			tokenize: (text) => wordsOf(text).slice(0, MAX_WORDS),
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

/** More make the search slower and its results no better. */
const MAX_WORDS = 8;

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

/** PHP and Rack have CGI's names for headers. */
const BRANDED_HEADER = /\b(?:http_)?x[-_][\w-]+[-_]([a-z]+)\b/gi;

/** Headers of another brand, as this network calls them: `ownHeader` is the first that was typed otherwise. */
function readOwnHeaders(typed: string, brand: string): { words: string; ownHeader: string | null } {
	let ownHeader: string | null = null;
	const names = new Map(Object.entries(headerNames(brand)));
	const words = typed.replace(BRANDED_HEADER, (word, kind: string) => {
		const own = names.get(kind.toLowerCase());
		if (own !== undefined && own.toLowerCase() !== word.toLowerCase()) ownHeader ??= own;
		return own ?? word;
	});
	return { words, ownHeader };
}

function summary(typed: string, total: number, isPartial: boolean, ownHeader: string | null): Html {
	const note =
		ownHeader === null
			? null
			: html` Headers carry the network's name: here it is <code>${ownHeader}</code>.`;
	const count = total === 1 ? "1 section" : `${total} sections`;
	const sentence = isPartial
		? `No section has all of these words: “${typed}”. ${count} with some of them:`
		: `${count} for “${typed}”${total > MAX_FOUND ? `, the best ${MAX_FOUND} of them` : ", the best first"}.`;
	return html`<p role="status">${total === 0 ? `Nothing found for “${typed}”.` : sentence}${note}</p>`;
}

function foundItem({ href, title, trail, text, terms }: SearchResult): Html {
	const longestFirst = terms.toSorted((one, other) => other.length - one.length);
	const found = new RegExp(
		`(?<![\\p{Letter}\\p{Number}])((?:${longestFirst.map((term) => RegExp.escape(term)).join("|")})s?)(?![\\p{Letter}\\p{Number}])`,
		"giu",
	);
	const mark = (part: string, index: number) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part);
	return html`<li><a href="${href}">${String(title).split(found).map(mark)}</a>${
		trail === "" ? null : html`<span class="docs-trail">${String(trail)}</span>`
	}<p>${passageOf(String(text), found).split(found).map(mark)}</p></li>`;
}

/** Some three lines, of which so many characters stand before the first word that was found. */
const PASSAGE_CHARACTERS = 220;
const LEAD_CHARACTERS = 50;

/** Where most of the words stand close together; at spaces, with dots where something is left out. */
function passageOf(text: string, found: RegExp): string {
	const matches = [...text.matchAll(found)].slice(0, 50);
	const near = (from: number) =>
		new Set(
			matches
				.filter(({ index }) => index >= from && index < from + PASSAGE_CHARACTERS - LEAD_CHARACTERS)
				.map(([word]) => word.toLowerCase()),
		).size;
	const best = matches.reduce(
		(most, { index }) => (near(index) > near(most) ? index : most),
		matches[0]?.index ?? 0,
	);
	const start = best <= LEAD_CHARACTERS ? 0 : text.indexOf(" ", best - LEAD_CHARACTERS) + 1;
	const rest = text.slice(start);
	const space = rest.lastIndexOf(" ", PASSAGE_CHARACTERS);
	const end = rest.length <= PASSAGE_CHARACTERS ? rest.length : space === -1 ? PASSAGE_CHARACTERS : space;
	return `${start === 0 ? "" : "… "}${rest.slice(0, end)}${end === rest.length ? "" : " …"}`;
}

/** Before anything was typed, and when nothing was found. */
function whatToType(c: WebContext, isEmpty: boolean, { network: { face } }: SearchDeps): Html {
	const examples = [
		`X-${face.brand}-Signature`,
		"bad_signature",
		"401",
		"PARKED",
		"conversion.approved",
		"retry",
	];
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

type SearchedPage = Pick<DocsPage, "title" | "body">;

const HEADING = /<h([234]) id="([^"]+)">(.*?)<\/h\1>/gs;

/** A page of ours, cut at its headings. */
function cutSections(path: string, { title, body }: SearchedPage): DocsSection[] {
	const markup = String(body);
	const headings = [...markup.matchAll(HEADING)];
	const sections: DocsSection[] = [
		{ href: path, title, trail: "", ...readMarkup(markup.slice(0, headings[0]?.index)) },
	];
	let around = "";
	for (const [index, { 0: tag, 1: depth, 2: id = "", 3: heading = "", index: start }] of headings.entries()) {
		const text = plainText(heading);
		if (depth === "2") around = text;
		sections.push({
			href: `${path}#${id}`,
			title: text,
			trail: depth === "2" ? title : `${title} › ${around}`,
			...readMarkup(markup.slice(start + tag.length, headings[index + 1]?.index)),
		});
	}
	return sections;
}

function wholePage(href: string, { title, body }: SearchedPage, code: string): DocsSection {
	return { href, title, trail: "Problems", text: plainText(String(body)), terms: code };
}

/** Each at the address where it is shown. */
function exampleSections(instance: ExampleValues): DocsSection[] {
	return EXAMPLE_ROLES.flatMap((role) =>
		EXAMPLE_LANGUAGES.map(({ value, label }) => ({
			href: exampleHref(role, value),
			title: `${role === "receiver" ? "Receiver" : "Sender"} in ${label}`,
			trail: "Receiver guide",
			text: fillIn(readExample(value, role), instance).replace(/\s+/g, " "),
			terms: "",
		})),
	);
}

const FIRST_CELL = /<tr\b[^>]*>\s*<td\b[^>]*>(.*?)<\/td>/gs;
/** A longer cell is a sentence, and no name. */
const MAX_TERM_CHARACTERS = 60;

function readMarkup(markup: string): Pick<DocsSection, "text" | "terms"> {
	const cells = [...markup.matchAll(FIRST_CELL)].map(([, cell = ""]) => plainText(cell));
	return {
		text: plainText(markup),
		terms: cells.filter(({ length }) => length <= MAX_TERM_CHARACTERS).join(" "),
	};
}

/** What is read by nobody who looks for a text: buttons, tabs, and what tables are called for screen readers. */
const FURNITURE = /<(button|nav|caption)\b.*?<\/\1>|<a class="heading-link".*?<\/a>/gs;
/** Ends a word. Other tags stand within one: code in colours, emphasis. */
const BLOCK_TAG =
	/<\/?(?:p|li|ul|ol|dl|dt|dd|tr|td|th|table|div|section|pre|h\d|br|blockquote|summary)\b[^>]*>|<span class="(?!code-)[^"]*">/g;
const ENTITIES: Readonly<Record<string, string>> = {
	amp: "&",
	lt: "<",
	gt: ">",
	quot: '"',
	"#39": "'",
	"#x27": "'",
};

/** Values in our markup are escaped, so that a ">" always ends a tag. */
function plainText(markup: string): string {
	return markup
		.replace(FURNITURE, " ")
		.replace(/<\/t[dh]>(?=\s*<t[dh])/g, " · ")
		.replace(BLOCK_TAG, " ")
		.replace(/<[^>]*>/g, "")
		.replace(/&(amp|lt|gt|quot|#39|#x27);/g, (_, name: string) => ENTITIES[name] ?? "")
		.replace(/\s+/g, " ")
		.trim();
}
