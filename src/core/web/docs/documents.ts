// Reads the documents that `npm ci` rendered into docs/rendered/ (docs/rendered-pages.ts).

import { GUIDE_PARTS } from "../../../operations-guide.ts";
import { EXPLAINED_CODES } from "../../domain/fault.ts";
import { type ExampleValues, fillIn } from "../examples.ts";
import * as paths from "../paths.ts";
import { NOT_RENDERED, NOT_RENDERED_MARKUP, readRendered } from "../rendered-files.ts";
import { PUBLIC_DOCUMENTS } from "./document-list.ts";

export const DOCUMENT_PATHS: readonly string[] = [
	...PUBLIC_DOCUMENTS.map(({ path }) => path),
	...EXPLAINED_CODES.map(paths.problemPath),
	paths.OPERATIONS_PATH,
	...GUIDE_PARTS.map(({ name }) => paths.operationsPath(name)),
];

export interface DocsDocument {
	title: string;
	/** Markup of the document without its title. */
	body: string;
	/**
	 * Sections of the document. The first is the text before the first heading, and each further one belongs to
	 * a heading.
	 */
	sections: readonly DocsSection[];
}

interface DocsSection {
	/** Id of the section's heading, or the empty string for the text before the first heading. */
	id: string;
	title: string;
	/** Level of the section's heading, from 1 for the title to 4. */
	depth: number;
	/** Text below the section's heading, on one line. */
	text: string;
}

/** Returns the path of a page's rendered file. */
export function renderedPagePath(path: string): string {
	return `docs/rendered${path}.html`;
}

/** Returns the path of a page's rendered Markdown. */
export function renderedMarkdownPath(path: string): string {
	return `docs/rendered${path}.md`;
}

/** Returns true for the pages that only staff may read. */
export function isForStaff(path: string): boolean {
	return path.startsWith(paths.OPERATIONS_PATH);
}

export function readDocument(path: string, values: ExampleValues): DocsDocument {
	const rendered =
		readRendered(renderedPagePath(path)) ?? `<h1>Documentation</h1><p>${NOT_RENDERED_MARKUP}</p>`;
	const markup = fillDocument(path, rendered, values);
	const sections = markup.split(/(?=<h[234] id=")/).map(readSection);
	return { title: sections[0]?.title ?? "", body: markup.replace(/^<h1>.*?<\/h1>/, ""), sections };
}

export function readMarkdown(path: string, values: ExampleValues): string {
	const rendered = readRendered(renderedMarkdownPath(path)) ?? `# Documentation\n\n${NOT_RENDERED}\n`;
	return fillDocument(path, rendered, values);
}

/** Fills in this network's values, except in the operations guide, because that describes every installation. */
function fillDocument(path: string, text: string, values: ExampleValues): string {
	return isForStaff(path) ? text : fillIn(text, values);
}

/** Parses the markup of one section, which docs/markdown.ts wrote. */
function readSection(markup: string): DocsSection {
	const match = /^<h(\d)(?: id="([^"]*)")?>(.*?)<\/h\d>(.*)$/s.exec(markup);
	if (match === null) throw new Error("a section begins with its heading");
	const [, depth, id = "", title = "", text = ""] = match;
	return { id, title: plainText(title), depth: Number(depth), text: plainText(text) };
}

/** Elements that are left out of a section's plain text, such as buttons. */
const CONTROLS = /<(button|caption)\b.*?<\/\1>|<a class="heading-link".*?<\/a>/gs;

/** Returns the plain text of markup that we rendered, on one line. A dot separates the cells of a table. */
function plainText(markup: string): string {
	return markup
		.replace(CONTROLS, "")
		.replace(/<\/t[dh]>(?=<t[dh])/g, " · ")
		.replace(/<\/(?:t[dh]|tr|li|p|div)>/g, " ")
		.replace(/<[^>]+>/g, "")
		.replace(/&(?:lt|gt|quot|#39|#x27|amp);/g, (entity) => CHARACTERS[entity] ?? entity)
		.replace(/\s+/g, " ")
		.trim();
}

const CHARACTERS: Readonly<Record<string, string>> = {
	"&lt;": "<",
	"&gt;": ">",
	"&quot;": '"',
	"&#39;": "'",
	"&#x27;": "'",
	"&amp;": "&",
};
