// Markdown of our own documents as markup of our pages: the guide, and the descriptions in the API document. marked
// finds the structure, and every text goes through the same escaping as on any page. Raw markup shows as text, but
// for comments, which only the build reads.

import { html } from "hono/html";
import { Lexer, lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { isCodeLanguage } from "../components/highlight.ts";
import { dataTable } from "../components/lists.ts";
import { codeBlock } from "../components/text.ts";
import { attrs, type Content, type Html } from "../html.ts";
import { ownPath } from "../paths.ts";
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
	const [first, ...rest] = ownTokens(lexer(markdown));
	if (first?.type !== "heading" || first.depth !== 1) throw new Error("a document begins with its title");
	const headings = rest.filter((token) => token.type === "heading");
	const writer = new Writer(options);
	return {
		title: plainText(first.tokens),
		body: html`${rest.map((token) => writer.block(token))}`,
		outline: headings
			.filter(({ depth }) => depth <= OUTLINE_DEPTH)
			.map(({ tokens, depth }) => ({ id: headingId(plainText(tokens)), text: plainText(tokens), depth })),
	};
}

const PLAIN: MarkdownOptions = { linkTo: () => null, fillComment: () => null };

/** A description: no title, and links lead nowhere. */
export function renderText(text: string, codeLabel = "Code"): Content {
	const writer = new Writer({ ...PLAIN, codeLabel });
	return ownTokens(lexer(text)).map((token) => writer.block(token));
}

/** One line: for cells of tables. */
export function renderLine(text: string): Content {
	return new Writer(PLAIN).inline(Lexer.lexInline(text));
}

/** One line with links to pages of ours. */
export function renderLinkedLine(text: string): Content {
	return new Writer({ ...PLAIN, linkTo: ownPath }).inline(Lexer.lexInline(text));
}

/** As GitHub makes it, so that a link to a part of the document works in both places. */
export function headingId(text: string): string {
	return text
		.toLowerCase()
		.replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
		.replaceAll(" ", "-");
}

class Writer {
	readonly #options: MarkdownOptions;
	/** The last one: screen readers hear the code and the tables below it named after it. */
	#heading = "";
	readonly #labels = new Map<string, number>();

	constructor(options: MarkdownOptions) {
		this.#options = options;
	}

	block(token: MarkedToken): Content {
		switch (token.type) {
			case "heading":
				return this.#headingTag(token);
			case "paragraph":
				return html`<p>${this.inline(token.tokens)}</p>`;
			case "text":
				return this.inline(token.tokens ?? [token]);
			case "list":
				return this.#list(token);
			case "code":
				return this.#code(token);
			case "table":
				return this.#table(token);
			case "blockquote":
				return html`<blockquote>${ownTokens(token.tokens).map((inner) => this.block(inner))}</blockquote>`;
			case "html":
				return this.#comment(token.text);
			case "hr":
				return html`<hr>`;
			case "space":
			case "def":
				return null;
			default:
				return this.inline([token]);
		}
	}

	inline(tokens: readonly Token[]): Content {
		return ownTokens(tokens).map((token): Content => {
			switch (token.type) {
				case "strong":
					return html`<strong>${this.inline(token.tokens)}</strong>`;
				case "em":
					return html`<em>${this.inline(token.tokens)}</em>`;
				case "codespan":
					return html`<code>${token.text}</code>`;
				case "link":
					return this.#link(token);
				case "br":
					return html`<br>`;
				case "checkbox":
					return html`<span class="tick-box" aria-hidden="true"></span>`;
				default:
					return "text" in token ? token.text : token.raw;
			}
		});
	}

	#headingTag({ tokens, depth }: Tokens.Heading): Html {
		this.#heading = plainText(tokens);
		const id = headingId(this.#heading);
		const content = html`${this.inline(tokens)}<a class="heading-link" href="#${id}" aria-label="Link to “${this.#heading}”">#</a>`;
		if (depth === 2) return html`<h2 id="${id}">${content}</h2>`;
		return depth === 3 ? html`<h3 id="${id}">${content}</h3>` : html`<h4 id="${id}">${content}</h4>`;
	}

	#code({ text, lang }: Tokens.Code): Html {
		const label = this.#label(this.#options.codeLabel ?? `Code in “${this.#heading}”`);
		return codeBlock(text, label, isCodeLanguage(lang) ? lang : "lines");
	}

	#list({ ordered, items }: Tokens.List): Html {
		const entries = items.map(
			({ tokens, task }) =>
				html`<li${attrs({ class: [task && "task"] })}>${ownTokens(tokens).map((token) => this.block(token))}</li>`,
		);
		return ordered ? html`<ol>${entries}</ol>` : html`<ul>${entries}</ul>`;
	}

	#table({ header, rows }: Tokens.Table): Html {
		return dataTable<Tokens.TableCell[]>({
			caption: this.#label(`Table in “${this.#heading}”`),
			rows,
			empty: null,
			columns: header.map((cell, index) => ({
				title: this.inline(cell.tokens),
				isNumber: cell.align === "right",
				cell: (row) => this.inline(row[index]?.tokens ?? []),
			})),
		});
	}

	#link({ href, tokens }: Tokens.Link): Content {
		const target = this.#options.linkTo(href);
		const text = this.inline(tokens);
		return target === null ? text : html`<a href="${target}">${text}</a>`;
	}

	#comment(text: string): Content {
		const comment = /^<!--\s*(.*?)\s*-->$/s.exec(text.trim())?.[1];
		return comment === undefined ? html`<p>${text}</p>` : this.#options.fillComment(comment);
	}

	/** Two regions of a page must not have one name. */
	#label(text: string): string {
		const count = (this.#labels.get(text) ?? 0) + 1;
		this.#labels.set(text, count);
		return count === 1 ? text : `${text}, ${count}`;
	}
}

function plainText(tokens: readonly Token[]): string {
	return ownTokens(tokens)
		.map((token) =>
			"tokens" in token && token.tokens !== undefined ? plainText(token.tokens) : inlineText(token),
		)
		.join("");
}

function inlineText(token: MarkedToken): string {
	return "text" in token ? token.text : token.raw;
}

/** Other kinds come from extensions of marked, and there are none here. */
function ownTokens(tokens: readonly Token[]): readonly MarkedToken[] {
	return tokens as readonly MarkedToken[];
}
