// Renders the Markdown of our documents with the components of the site's pages. The service never loads it.

import { posix } from "node:path";
import { raw } from "hono/html";
import { lexer, Parser, Renderer, type Token, type Tokens } from "marked";
import { markdownPath, PUBLIC_DOCUMENTS } from "#core/web/docs/document-list.ts";
import * as paths from "#core/web/paths.ts";
import { codeBlock, countOf, dataTable, type Html, html } from "#core/web/ui.ts";
import { GUIDE_PARTS, GUIDE_START } from "../src/operations-guide.ts";
import { highlight, languageName } from "./highlight.ts";

/** Pages of the site, by the path in the repository that documents link to. */
const SITE_PATHS: ReadonlyMap<string, string> = new Map([
	...PUBLIC_DOCUMENTS.map(({ file, path }) => [file, path] as const),
	["receiver/downloads", paths.DOWNLOADS_PATH],
	...[GUIDE_START, ...GUIDE_PARTS].map(({ file, name }) => [file, paths.operationsPath(name)] as const),
]);

/** Comments that the server replaces for each request: see fillSlots in src/core/web/docs/docs-pages.ts. */
const SLOT = /^<!-- (?:examples: [a-z]+|versions|basket values) -->$/;

/** Renders a document. `source` is its path in the repository, from which its relative links lead. */
export function renderMarkdown(markdown: string, source: string): string {
	return Parser.parse(lexer(markdown), { renderer: new PageRenderer(source) });
}

const PLACEHOLDER_URL = "https://ringback.example";
const CODE_BLOCK = /^(```.*?^```$)/ms;
const COMMENT = /^<!--(?! versions ).*?-->\n?/gms;
const LINK = /\[([^\]]*)\]\(([^)\s]+)\)/g;

/**
 * Returns a document as the Markdown that the site serves to programs. Its links are whole addresses of other Markdown
 * pages, comments are removed, and links to files that the site does not have become plain text.
 */
export function publishMarkdown(markdown: string, source: string): string {
	// The operations guide describes every installation, so the server does not fill in its address there.
	const origin = source.startsWith("docs/operations") ? "" : PLACEHOLDER_URL;
	const publishLink = (_: string, text: string, href: string) => {
		const target = targetOf(href, source);
		if (target === null) return text;
		const [path = "", anchor] = target.split("#");
		const isPage = path.startsWith("/") && !path.includes(".");
		const address = isPage ? `${origin}${markdownPath(path)}` : path;
		return `[${text}](${anchor === undefined ? address : `${address}#${anchor}`})`;
	};
	const publishText = (text: string) => text.replace(COMMENT, "").replace(LINK, publishLink);
	// The second of every two parts is a code block, which stays as it is.
	const parts = markdown.split(CODE_BLOCK).map((part, index) => (index % 2 === 1 ? part : publishText(part)));
	return `${parts.join("").trim()}\n`;
}

/**
 * Returns the address to which a link of a document leads, or null if the site does not have that file. `source` is the
 * document's path in the repository.
 */
function targetOf(href: string, source: string): string | null {
	if (/^(?:#|https:)/.test(href)) return href;
	const [file = "", anchor] = href.split("#");
	const path = SITE_PATHS.get(posix.join(posix.dirname(source), file)) ?? paths.ownPath(file);
	return path === null || anchor === undefined ? path : `${path}#${anchor}`;
}

/** Returns the id that GitHub gives to a heading, so that links to it work on the site and on GitHub. */
export function headingId(text: string): string {
	return text
		.toLowerCase()
		.replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
		.replaceAll(" ", "-");
}

class PageRenderer extends Renderer {
	readonly #source: string;
	/** The text of the last heading. Code blocks and tables are named after it for screen readers. */
	#heading = "";
	readonly #labelCounts = new Map<string, number>();

	constructor(source: string) {
		super();
		this.#source = source;
	}

	override heading({ tokens, depth }: Tokens.Heading): string {
		if (depth === 1) return `${html`<h1>${this.#inline(tokens)}</h1>`}\n`;
		const text = this.parser.parseInline(tokens, this.parser.textRenderer);
		this.#heading = text;
		const tag = raw(`h${depth}`);
		const id = headingId(text);
		const link = html`<a class="heading-link" href="#${id}" aria-label="Link to “${text}”">#</a>`;
		return `${html`<${tag} id="${id}">${this.#inline(tokens)}${link}</${tag}>`}\n`;
	}

	override code({ text, lang = "" }: Tokens.Code): string {
		const language = languageName(lang);
		const code = language === null ? text : raw(highlight(text, lang));
		const title = language ?? countOf(text.split("\n").length, "line");
		return `${codeBlock(code, this.#uniqueLabel(`Code in “${this.#heading}”`), title)}\n`;
	}

	override table({ header, rows }: Tokens.Table): string {
		const columns = header.map((cell, index) => ({
			title: this.#inline(cell.tokens),
			isNumber: cell.align === "right",
			cell: (row: Tokens.TableCell[]) => this.#inline(row[index]?.tokens ?? []),
		}));
		const caption = this.#uniqueLabel(`Table in “${this.#heading}”`);
		return `${dataTable({ caption, rows, empty: null, columns })}\n`;
	}

	/** Renders a link to something that is not on the site as its text. */
	override link({ href, tokens }: Tokens.Link): string {
		const target = targetOf(href, this.#source);
		const text = this.#inline(tokens);
		return String(target === null ? text : html`<a href="${target}">${text}</a>`);
	}

	/**
	 * Removes comments other than slots. Documents must have no other markup, because GitHub would show it
	 * differently.
	 */
	override html({ text }: Tokens.HTML | Tokens.Tag): string {
		const markup = text.trim();
		if (SLOT.test(markup)) return `${markup}\n`;
		if (/^<!--.*-->$/s.test(markup)) return "";
		throw new Error(`${this.#source} has markup: ${markup}`);
	}

	override checkbox(): string {
		return "☐ ";
	}

	#inline(tokens: Token[]): Html {
		return raw(this.parser.parseInline(tokens));
	}

	/** Numbers repeated labels, because two regions of a page must not have the same name. */
	#uniqueLabel(text: string): string {
		const count = (this.#labelCounts.get(text) ?? 0) + 1;
		this.#labelCounts.set(text, count);
		return count === 1 ? text : `${text}, ${count}`;
	}
}
