// Renders the pages of the documentation and the highlighted examples into docs/rendered/, which is not in
// git. npm runs this program at the end of `npm ci` (its script `prepare`), so that the service never loads
// the renderer. Each page is rendered as HTML for people and as Markdown for programs.

import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { EXPLAINED_CODES } from "#core/domain/fault.ts";
import { PUBLIC_DOCUMENTS } from "#core/web/docs/document-list.ts";
import { renderedMarkdownPath, renderedPagePath } from "#core/web/docs/documents.ts";
import { EXAMPLE_LANGUAGES, EXAMPLE_ROLES, renderedExamplePath } from "#core/web/examples.ts";
import * as paths from "#core/web/paths.ts";
import { GUIDE_PARTS, GUIDE_START } from "../src/operations-guide.ts";
import { highlight } from "./highlight.ts";
import { publishMarkdown, renderMarkdown } from "./markdown.ts";
import { fence } from "./markdown-text.ts";
import { writeProblem, writeProblemList } from "./problem-pages.ts";
import { readExample, readSource } from "./source-files.ts";

const ROOT = new URL("../", import.meta.url);
/** On GitHub a document links to the example files. The site shows their code instead. */
const LINKED_EXAMPLES = /(<!-- examples: ([a-z]+) -->).*?<!-- \/examples -->/gs;

/**
 * Writes the rendered files, and removes those of pages that no longer exist. A file that is up to date is not written,
 * because a running service or test may be reading it.
 */
export function writeRenderedPages(): void {
	const rendered = renderPages();
	for (const path of globSync("docs/rendered/**/*.{html,md}", { cwd: ROOT })) {
		if (!rendered.has(path)) rmSync(new URL(path, ROOT));
	}
	for (const [path, text] of rendered) {
		const file = new URL(path, ROOT);
		if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
		mkdirSync(new URL(".", file), { recursive: true });
		writeFileSync(file, text);
	}
}

/** Returns every rendered file by its path in the repository. */
export function renderPages(): ReadonlyMap<string, string> {
	return new Map([
		...PUBLIC_DOCUMENTS.flatMap(({ path, file }) => renderPage(path, file, readPublicDocument(path, file))),
		...EXPLAINED_CODES.flatMap((code) =>
			renderPage(paths.problemPath(code), "docs/problems.md", writeProblem(code)),
		),
		...[GUIDE_START, ...GUIDE_PARTS].flatMap(({ name, file }) =>
			renderPage(paths.operationsPath(name), file, readSource(file)),
		),
		...EXAMPLE_LANGUAGES.flatMap(({ value, fence }) =>
			EXAMPLE_ROLES.map(
				(role) => [renderedExamplePath(value, role), highlight(readExample(value, role), fence)] as const,
			),
		),
	]);
}

/** Reads a public document. The list of problems is generated, because docs/problems.md has only causes and cures. */
function readPublicDocument(path: string, file: string): string {
	return path === paths.PROBLEMS_PATH ? writeProblemList() : readSource(file);
}

/** Returns the two rendered files of a page. */
function renderPage(path: string, source: string, markdown: string): (readonly [string, string])[] {
	// The HTML page shows one language at a time, and a program gets all of them.
	const forPeople = markdown.replace(LINKED_EXAMPLES, "$1");
	const forPrograms = markdown.replace(LINKED_EXAMPLES, (_, _slot, role: string) => writeExamples(role));
	return [
		[renderedPagePath(path), renderMarkdown(forPeople, source)],
		[renderedMarkdownPath(path), publishMarkdown(forPrograms, source)],
	];
}

/**
 * Writes the example programs of a role in every language. The name of the language stands before each
 * program.
 */
function writeExamples(name: string): string {
	const role = EXAMPLE_ROLES.find((known) => known === name);
	if (role === undefined) throw new Error(`there are no examples of the role ${name}`);
	return EXAMPLE_LANGUAGES.map(
		({ value, label, fence: language }) =>
			`**${label}**\n\n${fence(language, readExample(value, role).trimEnd())}`,
	).join("\n\n");
}

if (import.meta.main) writeRenderedPages();
