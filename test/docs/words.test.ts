// Keeps the documents short enough to be read. `npx node test/docs/words.ts` prints the words of each.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { measureDocuments, measureText, PARAGRAPH_LIMIT } from "./words.ts";

/** Maximum number of words of all documents together, apart from the changelog and the decision records. */
const TOTAL_LIMIT = 35_000;
const PAGE_LIMIT = 1_200;
const DECISION_LIMIT = 600;
/** Limits of other sizes. A reference is searched rather than read, so it has no limit of its own. */
const OTHER_LIMITS: ReadonlyMap<string, number> = new Map([
	["ARCHITECTURE.md", 1_500],
	["CHANGELOG.md", Infinity],
	["docs/api.md", Infinity],
	["docs/contract.md", Infinity],
	["docs/operations/settings.md", Infinity],
	["docs/problems.md", Infinity],
	["docs/security.md", Infinity],
	["receiver/README.md", Infinity],
]);

const DOCUMENTS = measureDocuments();

test("all documents together are short enough to be read", () => {
	const read = DOCUMENTS.filter(({ file }) => file !== "CHANGELOG.md" && !isDecision(file));
	ok(read.length > 30, `${read.length} documents`);
	const total = read.reduce((sum, { words }) => sum + words, 0);
	ok(total <= TOTAL_LIMIT, `${total} words`);
});

test("no document is longer than the limit of its kind", () => {
	const tooLong = DOCUMENTS.flatMap(({ file, words }) => {
		const limit = limitOf(file);
		return words > limit ? [`${file}: ${words} words, and the limit is ${limit}`] : [];
	});
	deepEqual(tooLong, []);
});

test("no paragraph is longer than the limit", () => {
	const tooLong = DOCUMENTS.flatMap(({ file, longParagraphs }) =>
		longParagraphs.map((beginning) => `${file}: ${beginning}`),
	);
	deepEqual(tooLong, []);
});

test("words of headings, paragraphs, lists and tables count; code, comments, generated parts and link targets do not", () => {
	const markdown = [
		"# One two",
		"<!-- a comment -->",
		"three [four](not/counted.md) `five six` – seven",
		"```sh\nnot counted\n```",
		"- eight\n  - nine\n\n    ten",
		"| eleven | twelve |\n|---|---|\n| thirteen | fourteen |",
		"<!-- generated: numbers -->\nnot counted\n<!-- /generated -->",
	].join("\n\n");
	deepEqual(measureText(markdown), { words: 14, longParagraphs: [] });
});

test("a paragraph, an item and a cell are measured each on its own", () => {
	const atLimit = "word ".repeat(PARAGRAPH_LIMIT).trim();
	const markdown = (text: string) => `${text}\n\n- ${text}\n- ${text}\n\n| ${text} | ${text} |\n|---|---|`;
	equal(measureText(markdown(atLimit)).longParagraphs.length, 0);
	equal(measureText(markdown(`${atLimit} word`)).longParagraphs.length, 5);
});

function isDecision(file: string): boolean {
	return file.startsWith("docs/decisions/");
}

function limitOf(file: string): number {
	return OTHER_LIMITS.get(file) ?? (isDecision(file) ? DECISION_LIMIT : PAGE_LIMIT);
}
