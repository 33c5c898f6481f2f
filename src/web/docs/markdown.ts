// Markdown of our own documents as markup of our pages. marked makes it; here is what our pages have of their own: links,
// anchors, named tables and code, and that raw markup shows as text. And how documents that are made write it.

import { raw } from "hono/html";
import { lexer, Parser, Renderer, type Token, type Tokens } from "marked";
import { isCodeLanguage } from "../highlight.ts";
import { ownPath } from "../paths.ts";
import { codeBlock, dataTable, type Html, html } from "../ui.ts";

export interface MarkdownOptions {
	/** Where a link of the document leads on the site; null for nowhere: then its text stands alone. */
	linkTo?(href: string): string | null;
	/** What stands in place of a comment; null for nothing. */
	fillComment?(comment: string): Html | null;
}

export interface OutlineEntry {
	/** Of the heading it leads to. */
	id: string;
	text: string;
	/** 2 for a section, 3 for a part of one: as the headings have it. */
	depth: number;
}

export interface RenderedMarkdown {
	/** The text of the first heading, which is not in the body. */
	title: string;
	outline: readonly OutlineEntry[];
	body: Html;
}

/** Deeper headings are parts of parts, and would make the outline longer than the page. */
const OUTLINE_DEPTH = 3;

export function renderMarkdown(markdown: string, options: MarkdownOptions = {}): RenderedMarkdown {
	const renderer = new PageRenderer(options);
	const body = raw(Parser.parse(lexer(markdown), { renderer }));
	if (renderer.title === null) throw new Error("a document begins with its title");
	return { title: renderer.title, outline: renderer.outline, body };
}

/** To a part of the page, to a page of ours, or away. */
export function linkWithin(href: string): string | null {
	return href.startsWith("#") || href.startsWith("https://") ? href : ownPath(href);
}

export function fence(language: string, text: string): string {
	return `\`\`\`${language}\n${text}\n\`\`\``;
}

export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]) =>
		`| ${cells.map((cell) => cell.replace(/\s+/g, " ").replaceAll("|", "\\|")).join(" | ")} |`;
	return [line(titles), line(titles.map(() => "---")), ...rows.map(line)].join("\n");
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
		const label = this.#label(`Code in “${this.#heading}”`);
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
		const target = (this.#options.linkTo ?? linkWithin)(href);
		const text = this.#inline(tokens);
		return String(target === null ? text : html`<a href="${target}">${text}</a>`);
	}

	override html({ text, block }: Tokens.HTML | Tokens.Tag): string {
		const comment = /^<!--\s*(.*?)\s*-->$/s.exec(text.trim())?.[1];
		if (comment !== undefined) return String(this.#options.fillComment?.(comment) ?? "");
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

	override checkbox(): string {
		return "☐ ";
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
