// What somebody typed into the search of the documentation, as the words to look for. People paste whole header lines,
// codes with quotes around them, or a question.

import { headerNames } from "../../domain/signature.ts";

export const MAX_QUERY_CHARACTERS = 100;
/** More make the search slower and its results no better. */
const MAX_WORDS = 8;

export interface SearchQuery {
	/** As it was typed, within its length. */
	text: string;
	/** In lower case. */
	words: readonly string[];
	/** The header as this network calls it, where another brand's was typed. */
	ownHeader: string | null;
}

/** In nearly every section, or in none: they would only keep a question from finding anything. */
const SMALL_WORDS = new Set(
	"a an and are be can do does for from has have how i in is it my not of on or the this to what when where why with you your".split(
		" ",
	),
);

/** PHP and Rack have CGI's names for headers. */
const BRANDED_HEADER = /^(?:http_)?x[-_].+[-_]([a-z]+)$/i;

export function readQuery(typed: string, brand: string): SearchQuery {
	const text = typed.trim().slice(0, MAX_QUERY_CHARACTERS);
	const isHere = (name: string) => text.toLowerCase().includes(name.toLowerCase());
	const typedWords = text.split(/\s+/).map(bareWord);
	const headers = typedWords.flatMap((word) => ownHeaderOf(word, brand) ?? []);
	return {
		text,
		words: tellingWords(typedWords.map((word) => ownHeaderOf(word, brand) ?? word).join(" ")).slice(
			0,
			MAX_WORDS,
		),
		ownHeader: headers.find((name) => !isHere(name)) ?? null,
	};
}

/** What a text is about, each word once, in lower case and in the singular. Single letters are in everything. */
export function tellingWords(text: string): string[] {
	const words = text
		.toLowerCase()
		.split(/\s+/)
		.map(bareWord)
		.filter((word) => word.length > 1);
	const telling = words.filter((word) => !SMALL_WORDS.has(word));
	return [...new Set((telling.length > 0 ? telling : words).map(singular))];
}

/** Without the quotes, brackets and colons around it. */
function bareWord(word: string): string {
	return word.replace(/^[^\p{Letter}\p{Number}_/$-]+|[^\p{Letter}\p{Number}_/-]+$/gu, "");
}

/** As this network calls it; null for what is no such header. */
function ownHeaderOf(word: string, brand: string): string | null {
	const kind = BRANDED_HEADER.exec(word)?.[1]?.toLowerCase();
	return Object.entries(headerNames(brand)).find(([name]) => name === kind)?.[1] ?? null;
}

/** "callbacks" finds "callback" too; the other way round it does anyway. */
function singular(word: string): string {
	return /^[a-z]{4,}s$/.test(word) && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word;
}
