// The page /docs/search, which finds sections of the documents by their words. Staff also find sections of
// the operations guide. The index is built at the first search.

import type { ExampleValues } from "../examples.ts";
import { isStaffViewer, type WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { type Html, html } from "../ui.ts";
import { answerDocs, type DocsDeps, MAX_QUERY_CHARACTERS, valuesOf } from "./docs-pages.ts";
import { DOCUMENT_PATHS, isForStaff, readDocument } from "./documents.ts";

interface Entry {
	href: string;
	title: string;
	/** Title of the document that contains the section. */
	trail: string;
	text: string;
	isForStaff: boolean;
}

interface SearchIndex {
	/** Brand and address that the indexed texts contain, as JSON. If they change, the index is rebuilt. */
	key: string;
	entryCount: number;
	/** Map from each word to the entries that contain it, with the weight of the word in each entry. */
	weights: ReadonlyMap<string, ReadonlyMap<Entry, number>>;
}

const MAX_RESULTS = 20;
/** Weight of a word in a section's title. A word in the section's text has the weight 1. */
const TITLE_WEIGHT = 8;
/** Factor that lowers the score of a word that only begins with the typed word. */
const PREFIX_FACTOR = 0.2;
/**
 * Factor that lowers the score of problem pages if the search contains no fault code, so that the guides come
 * first.
 */
const PROBLEM_FACTOR = 0.5;
/**
 * Maximum number of words in a search. Further words are ignored, because each word costs a pass over the
 * index.
 */
const MAX_TERMS = 12;

let index: SearchIndex | undefined;

export async function showSearch(c: WebContext, deps: DocsDeps): Promise<Response> {
	const values = valuesOf(deps);
	const key = JSON.stringify(values);
	if (index?.key !== key) index = buildIndex(key, values);
	const query = (c.req.query("q") ?? "").trim().slice(0, MAX_QUERY_CHARACTERS);
	const terms = termsOf(query).slice(0, MAX_TERMS);
	const found = search(index, terms).filter((entry) => !entry.isForStaff || isStaffViewer(c));
	const nothing = terms.length === 0 ? null : html`<p role="status">Nothing found for “${query}”.</p>`;
	return answerDocs(c, {
		title: "Search the documentation",
		outline: [],
		query,
		article:
			found.length === 0
				? html`${nothing}${suggestions(values.brand)}`
				: html`<p role="status">Best matches for “${query}”:</p><ol class="docs-found">${found
						.slice(0, MAX_RESULTS)
						.map((entry) => resultItem(entry, terms))}</ol>`,
	});
}

function buildIndex(key: string, values: ExampleValues): SearchIndex {
	const entries = DOCUMENT_PATHS.filter((path) => path !== paths.PROBLEMS_PATH).flatMap((path) =>
		entriesOf(path, values),
	);
	const weights = new Map<string, Map<Entry, number>>();
	const add = (entry: Entry, text: string, weight: number) => {
		for (const term of termsOf(text)) {
			const found = weights.get(term) ?? new Map<Entry, number>();
			weights.set(term, found.set(entry, (found.get(entry) ?? 0) + weight));
		}
	};
	for (const entry of entries) {
		add(entry, entry.title, TITLE_WEIGHT);
		add(entry, entry.text, 1);
	}
	return { key, entryCount: entries.length, weights };
}

/**
 * Returns one index entry for each section of a document. The page of a problem is short, so it is a single
 * entry.
 */
function entriesOf(path: string, values: ExampleValues): Entry[] {
	const { title: trail, sections } = readDocument(path, values);
	const code = path.startsWith(`${paths.PROBLEMS_PATH}/`) ? path.slice(paths.PROBLEMS_PATH.length + 1) : null;
	if (code !== null) {
		const text = sections
			.map((section) => `${section.depth > 1 ? section.title : ""} ${section.text}`)
			.join(" ");
		return [{ href: path, title: `${code}: ${trail}`, trail: "Problems", text, isForStaff: false }];
	}
	return sections.map(({ id, title, text }) => ({
		href: id === "" ? path : `${path}#${id}`,
		title,
		trail,
		text,
		isForStaff: isForStaff(path),
	}));
}

/**
 * Returns the matching entries, best first. Rare words count more, and so do entries that contain more of the
 * words.
 */
function search({ weights, entryCount }: SearchIndex, terms: readonly string[]): Entry[] {
	const scores = new Map<Entry, { sum: number; matchedTerms: number }>();
	for (const term of terms) {
		const best = new Map<Entry, number>();
		for (const [word, entries] of weights) {
			if (!word.startsWith(term)) continue;
			const rarity = Math.log(1 + entryCount / entries.size) * (word === term ? 1 : PREFIX_FACTOR);
			for (const [entry, weight] of entries) {
				best.set(entry, Math.max(best.get(entry) ?? 0, rarity * Math.log2(1 + weight)));
			}
		}
		for (const [entry, score] of best) {
			const { sum, matchedTerms } = scores.get(entry) ?? { sum: 0, matchedTerms: 0 };
			scores.set(entry, { sum: sum + score, matchedTerms: matchedTerms + 1 });
		}
	}
	const hasCode = terms.some((term) => term.includes("_"));
	const rank = ([entry, { sum, matchedTerms }]: readonly [Entry, { sum: number; matchedTerms: number }]) =>
		sum * matchedTerms * (entry.trail === "Problems" && !hasCode ? PROBLEM_FACTOR : 1);
	return [...scores].toSorted((one, other) => rank(other) - rank(one)).map(([entry]) => entry);
}

/** Words that the search ignores, because nearly every section contains them. */
const SMALL_WORDS = new Set(
	"a an and are be can do does for from has have how i in is it my not of on or the this to what when where why with you your".split(
		" ",
	),
);

/**
 * Returns the words of a text in lower case, without a plural s. `bad_signature` and `X-Service-Nonce` each
 * count as one word, and their parts are words as well.
 */
function termsOf(text: string): string[] {
	const words = text.toLowerCase().match(/[\p{Letter}\p{Number}]+(?:[_-]+[\p{Letter}\p{Number}]+)*/gu) ?? [];
	return words
		.flatMap((word) => (/[_-]/.test(word) ? [word, ...word.split(/[_-]+/)] : [word]))
		.filter((word) => word.length > 1 && !SMALL_WORDS.has(word))
		.map((word) => (/^[a-z]{4,}s$/.test(word) && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word));
}

/**
 * Length of the text that a result shows, about three lines. It starts a little before the first word that
 * was found.
 */
const PASSAGE_CHARACTERS = 220;
const LEAD_CHARACTERS = 50;

function resultItem({ href, title, trail, text }: Entry, terms: readonly string[]): Html {
	const longestFirst = terms.toSorted((one, other) => other.length - one.length);
	const wanted = new RegExp(
		`(?<![\\p{Letter}\\p{Number}])(${longestFirst.map(RegExp.escape).join("|")})`,
		"giu",
	);
	const mark = (words: string) =>
		words.split(wanted).map((part, at) => (at % 2 === 1 ? html`<mark>${part}</mark>` : part));
	const start = Math.max(0, text.search(wanted) - LEAD_CHARACTERS);
	const passage = text.slice(start, start + PASSAGE_CHARACTERS);
	const isCutAtEnd = start + PASSAGE_CHARACTERS < text.length;
	return html`<li><a href="${href}">${mark(title)}</a><span class="docs-trail">${trail}</span><p>${
		start === 0 ? null : "… "
	}${mark(passage)}${isCutAtEnd ? " …" : null}</p></li>`;
}

/** Returns example searches. They are shown before anything was typed, and if nothing was found. */
function suggestions(brand: string): Html {
	const examples = [`X-${brand}-Signature`, "bad_signature", "401", "PARKED", "retry", "EPC"];
	return html`<p>Type a header, an error code, a status or a word:</p>
<ul>${examples.map((example) => html`<li><a href="${paths.withQuery(paths.DOCS_SEARCH_PATH, { q: example })}">${example}</a></li>`)}</ul>`;
}
