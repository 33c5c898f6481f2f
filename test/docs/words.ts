// Counts the words of the repository's documents. Code blocks, comments and generated parts do not count.
// `npx node test/docs/words.ts` prints the words of each document, and `npx node test/docs/words.ts docs/operations` only some.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lexer, walkTokens } from "marked";

/** A paragraph has at most this many words. So do an item of a list and a cell of a table. */
export const PARAGRAPH_LIMIT = 120;

export interface DocumentSize {
	/** Path in the repository. */
	file: string;
	words: number;
	/** Paragraphs that have more words than the limit, by their beginnings. */
	longParagraphs: string[];
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const GENERATED = /<!-- generated: .*?<!-- \/generated -->/gs;
const COMMENT = /<!--.*?-->/gs;
const LINK_TARGET = /\]\([^)\s]*\)/g;
const WORD = /\S*[\p{Letter}\p{Number}]\S*/gu;

/** Returns the size of every Markdown document that git has or would add, in the order of their paths. */
export function measureDocuments(): DocumentSize[] {
	const listed = execFileSync(
		"git",
		["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
		{
			cwd: ROOT,
			encoding: "utf8",
		},
	);
	const files = listed.split("\0").filter((file) => file !== "" && !file.startsWith("docs/rendered/"));
	return files.sort().map((file) => ({ file, ...measureText(readFileSync(`${ROOT}/${file}`, "utf8")) }));
}

export function measureText(markdown: string): Pick<DocumentSize, "words" | "longParagraphs"> {
	const paragraphs = readParagraphs(markdown);
	return {
		words: paragraphs.reduce((sum, text) => sum + countWords(text), 0),
		longParagraphs: paragraphs.filter((text) => countWords(text) > PARAGRAPH_LIMIT).map(beginningOf),
	};
}

/** Returns the texts of headings, paragraphs, list items and table cells. */
function readParagraphs(markdown: string): string[] {
	const written = markdown.replaceAll(GENERATED, "").replaceAll(COMMENT, "");
	const texts: string[] = [];
	walkTokens(lexer(written), (token) => {
		// A paragraph in an item of a list is a "text" with tokens inside. A "text" without them is a part of a paragraph.
		const isItem = token.type === "text" && token.tokens !== undefined;
		if (token.type === "heading" || token.type === "paragraph" || isItem) texts.push(token.text);
		if (token.type === "table") {
			for (const cell of [...token.header, ...token.rows.flat()]) texts.push(cell.text);
		}
	});
	return texts;
}

function countWords(text: string): number {
	return text.replaceAll(LINK_TARGET, "]").match(WORD)?.length ?? 0;
}

function beginningOf(text: string): string {
	return `${text.split(/\s+/).slice(0, 8).join(" ")} …`;
}

if (import.meta.main) {
	const folders = process.argv.slice(2);
	const documents = measureDocuments().filter(
		({ file }) => folders.length === 0 || folders.some((folder) => file.startsWith(folder)),
	);
	for (const { file, words, longParagraphs } of documents) {
		console.log(`${String(words).padStart(6)}  ${file}`);
		for (const beginning of longParagraphs) {
			console.log(`        more than ${PARAGRAPH_LIMIT} words: ${beginning}`);
		}
	}
	console.log(`${String(documents.reduce((sum, { words }) => sum + words, 0)).padStart(6)}  together`);
}
