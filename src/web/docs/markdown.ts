// Markdown of our own documents as markup of our pages: the guides, and the descriptions in the API document. marked makes
// it; here is what our pages have of their own: links, anchors, named tables and code, and that raw markup shows as text.

import { raw } from "hono/html";
import { Lexer, lexer, Parser, Renderer, type Token, type Tokens } from "marked";
import { isCodeLanguage } from "../components/highlight.ts";
import { codeBlock, dataTable, type Html, html } from "../ui.ts";
import type { OutlineEntry } from "./docs-document.ts";

export interface MarkdownOptions {
	/** Where a link of the document leads on the site; null for nowhere: then its text stands alone. */
	linkTo(href: string): string | null;
	/** What stands in place of a comment; null for nothing. */
	fillComment(comment: string): Html | null;
	/** The name of a block of code for screen readers; without it, the heading above it names it. */
	codeLabel?: string;
}

export interface RenderedMarkdown {
	/** The text of the first heading, which is not in the body. */
	title: string;
	outline: readonly OutlineEntry[];
	body: Html;
}

/** Deeper headings are parts of parts, and would make the outline longer than the page. */
const OUTLINE_DEPTH = 3;

export function renderMarkdown(markdown: string, options: MarkdownOptions): RenderedMarkdown {
	const renderer = new PageRenderer(options);
	const body = raw(Parser.parse(lexer(markdown), { renderer }));
	if (renderer.title === null) throw new Error("a document begins with its title");
	return { title: renderer.title, outline: renderer.outline, body };
}

const PLAIN: MarkdownOptions = { linkTo: () => null, fillComment: () => null };

/** A description: no title, and links lead nowhere. */
export function renderText(text: string, codeLabel = "Code"): Html {
	return raw(Parser.parse(lexer(text), { renderer: new PageRenderer({ ...PLAIN, codeLabel }) }));
}

/** One line: for cells of tables. */
export function renderLine(text: string, linkTo = PLAIN.linkTo): Html {
	return raw(Parser.parseInline(Lexer.lexInline(text), { renderer: new PageRenderer({ ...PLAIN, linkTo }) }));
}

/** As GitHub makes it, so that a link to a part of the document works in both places. */
export function headingId(text: string): string {
	return text
		.toLowerCase()
		.replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
		.replaceAll(" ", "-");
}

class PageRenderer extends Renderer {
	title: string | null = null;
	readonly outline: OutlineEntry[] = [];
	readonly #options: MarkdownOptions;
	/** The last one: screen readers hear the code and the tables below it named after it. */
	#heading = "";
	readonly #labels = new Map<string, number>();

	constructor(options: MarkdownOptions) {
		super();
		this.#options = options;
	}

	override heading({ tokens, depth }: Tokens.Heading): string {
		const text = this.parser.parseInline(tokens, this.parser.textRenderer);
		if (depth === 1 && this.title === null) {
			this.title = text;
			return "";
		}
		this.#heading = text;
		const id = headingId(text);
		if (depth <= OUTLINE_DEPTH) this.outline.push({ id, text, depth });
		const tag = raw(`h${Math.min(depth, 4)}`);
		const link = html`<a class="heading-link" href="#${id}" aria-label="Link to “${text}”">#</a>`;
		return String(html`<${tag} id="${id}">${this.#inline(tokens)}${link}</${tag}>`);
	}

	override code({ text, lang }: Tokens.Code): string {
		const label = this.#label(this.#options.codeLabel ?? `Code in “${this.#heading}”`);
		return String(codeBlock(text, label, isCodeLanguage(lang) ? lang : "lines"));
	}

	override table({ header, rows }: Tokens.Table): string {
		const columns = header.map((cell, index) => ({
			title: this.#inline(cell.tokens),
			isNumber: cell.align === "right",
			cell: (row: Tokens.TableCell[]) => this.#inline(row[index]?.tokens ?? []),
		}));
		return String(
			dataTable({ caption: this.#label(`Table in “${this.#heading}”`), rows, empty: null, columns }),
		);
	}

	override link({ href, tokens }: Tokens.Link): string {
		const target = this.#options.linkTo(href);
		const text = this.#inline(tokens);
		return String(target === null ? text : html`<a href="${target}">${text}</a>`);
	}

	override html({ text, block }: Tokens.HTML | Tokens.Tag): string {
		const comment = /^<!--\s*(.*?)\s*-->$/s.exec(text.trim())?.[1];
		if (comment !== undefined) return String(this.#options.fillComment(comment) ?? "");
		return String(block ? html`<p>${text}</p>` : html`${text}`);
	}

	/** marked trusts what stands between raw tags; nothing is trusted here. */
	override text(token: Tokens.Text | Tokens.Escape): string {
		return "tokens" in token && token.tokens !== undefined
			? this.parser.parseInline(token.tokens)
			: String(html`${token.text}`);
	}

	override image({ text }: Tokens.Image): string {
		return String(html`${text}`);
	}

	override listitem({ tokens, task }: Tokens.ListItem): string {
		return `<li${task ? ' class="task"' : ""}>${this.parser.parse(tokens)}</li>`;
	}

	override checkbox(): string {
		return '<span class="tick-box" aria-hidden="true"></span>';
	}

	#inline(tokens: Token[]): Html {
		return raw(this.parser.parseInline(tokens));
	}

	/** Two regions of a page must not have one name. */
	#label(text: string): string {
		const count = (this.#labels.get(text) ?? 0) + 1;
		this.#labels.set(text, count);
		return count === 1 ? text : `${text}, ${count}`;
	}
}
