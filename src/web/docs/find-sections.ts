// Which sections fit what was typed, the best first, each with the passage that shows why.

import type { DocsSection } from "./docs-sections.ts";
import { tellingWords } from "./search-query.ts";

export interface FoundSection {
	section: DocsSection;
	title: readonly TextPart[];
	passage: readonly TextPart[];
}

/** As it is compared: made once, because making it takes longer than a search. */
export interface FoldedSection {
	section: DocsSection;
	title: string;
	text: string;
	prose: string;
	terms: ReadonlySet<string>;
	/** What the title is about. */
	words: readonly string[];
}

export function foldSection(section: DocsSection): FoldedSection {
	return {
		section,
		title: section.title.toLowerCase(),
		text: section.text.toLowerCase(),
		prose: section.prose.toLowerCase(),
		terms: new Set(section.terms.map((term) => term.toLowerCase())),
		words: tellingWords(section.title),
	};
}

export interface TextPart {
	text: string;
	isMarked: boolean;
}

export interface Found {
	sections: readonly FoundSection[];
	/** How many fit; only the best of them are in the list. */
	total: number;
	/** No section has all of the words: these have most of them. */
	isPartial: boolean;
}

const MAX_FOUND = 20;
/** Some three lines. */
const PASSAGE_CHARACTERS = 220;
/** Of these so many stand before the first word that was found. */
const LEAD_CHARACTERS = 50;

/**
 * What a word is worth: a section is about what its title says and what its tables list, and a code has one page. Listings
 * mention everything and explain nothing.
 */
const WORTH = {
	exactCode: 200,
	title: 20,
	wholeTitle: 20,
	term: 15,
	kinInTitle: 10,
	wholeWord: 5,
	mention: 1,
} as const;
const MAX_MENTIONS = 5;
/** "signed" and "signing" are of the family of "signature": a word as long as this, and where it begins. */
const LONG_WORD = 8;
const STEM_CHARACTERS = 4;
/** Of a word in a section: so that no query, such as letters that are everywhere, takes long. */
const MAX_MATCHES = 8;

export function findSections(sections: readonly FoldedSection[], words: readonly string[]): Found {
	if (words.length === 0) return { sections: [], total: 0, isPartial: false };
	const scored = sections
		.map((folded) => ({ folded, ...score(folded, words) }))
		.filter(({ hits }) => hits > 0);
	const most = Math.max(0, ...scored.map(({ hits }) => hits));
	const best = scored.filter(({ hits }) => hits === most).sort((one, other) => other.worth - one.worth);
	return {
		sections: best.slice(0, MAX_FOUND).map(({ folded: { section, text } }) => ({
			section,
			title: markWords(section.title, words),
			passage: markWords(passageOf(section.text, text, words), words),
		})),
		total: best.length,
		isPartial: most < words.length,
	};
}

/** `hits` is how many of the words are there. */
function score(
	{ section: { code }, title, text, prose, terms, words: about }: FoldedSection,
	words: readonly string[],
): { hits: number; worth: number } {
	let hits = 0;
	let worth = about.join(" ") === words.join(" ") ? WORTH.wholeTitle : 0;
	for (const word of words) {
		const isInTitle = title.includes(word);
		if (!isInTitle && !text.includes(word) && word !== code) continue;
		hits++;
		const inProse = findAll(prose, word);
		if (word === code) worth += WORTH.exactCode;
		if (isInTitle) worth += WORTH.title;
		else if (isOfFamily(about, word)) worth += WORTH.kinInTitle;
		if (terms.has(word)) worth += WORTH.term;
		if (isInTitle && findAll(title, word).some(({ isWhole }) => isWhole)) worth += WORTH.wholeWord;
		if (inProse.some(({ isWhole }) => isWhole)) worth += WORTH.wholeWord;
		worth += Math.min(inProse.length, MAX_MENTIONS) * WORTH.mention;
	}
	return { hits, worth };
}

function isOfFamily(about: readonly string[], word: string): boolean {
	if (word.length < LONG_WORD) return false;
	const stem = word.slice(0, STEM_CHARACTERS);
	return about.some((one) => one.startsWith(stem));
}

interface Match {
	start: number;
	end: number;
	/** No letter, digit or underscore on either side of it. */
	isWhole: boolean;
}

/** `folded` is in lower case. */
function findAll(folded: string, word: string): Match[] {
	const matches: Match[] = [];
	for (
		let start = folded.indexOf(word);
		start !== -1 && matches.length < MAX_MATCHES;
		start = folded.indexOf(word, start + word.length)
	) {
		// The plural is the word.
		const end = start + word.length + (folded.charAt(start + word.length) === "s" ? 1 : 0);
		const isWhole = !/\w/.test(folded.charAt(start - 1)) && !/\w/.test(folded.charAt(end));
		matches.push({ start, end, isWhole });
	}
	return matches;
}

/** Where most of the words stand close together. */
function passageOf(text: string, folded: string, words: readonly string[]): string {
	const matches = words.flatMap((word) => findAll(folded, word).map((match) => ({ ...match, word })));
	let from = 0;
	let most = 0;
	for (const { start, isWhole } of matches.sort((one, other) => one.start - other.start)) {
		const near = matches.filter(
			(match) => match.start >= start && match.end <= start + PASSAGE_CHARACTERS - LEAD_CHARACTERS,
		);
		const worth = new Set(near.map(({ word }) => word)).size + (isWhole ? 0.5 : 0);
		if (worth <= most) continue;
		most = worth;
		from = start;
	}
	return cut(text, from);
}

/** At spaces, with dots where something is left out. */
function cut(text: string, from: number): string {
	const lead = Math.max(0, from - LEAD_CHARACTERS);
	const start = lead === 0 ? 0 : Math.min(from, text.indexOf(" ", lead) + 1);
	const rest = text.slice(start);
	const space = rest.lastIndexOf(" ", PASSAGE_CHARACTERS);
	const shown =
		rest.length <= PASSAGE_CHARACTERS
			? rest
			: `${rest.slice(0, space === -1 ? PASSAGE_CHARACTERS : space)} …`;
	return start === 0 ? shown : `… ${shown}`;
}

function markWords(text: string, words: readonly string[]): TextPart[] {
	const parts: TextPart[] = [];
	let end = 0;
	const folded = text.toLowerCase();
	const matches = words.flatMap((word) => findAll(folded, word));
	for (const match of matches.sort((one, other) => one.start - other.start || other.end - one.end)) {
		if (match.start < end) continue;
		parts.push({ text: text.slice(end, match.start), isMarked: false });
		parts.push({ text: text.slice(match.start, match.end), isMarked: true });
		end = match.end;
	}
	parts.push({ text: text.slice(end), isMarked: false });
	return parts.filter((part) => part.text !== "");
}
