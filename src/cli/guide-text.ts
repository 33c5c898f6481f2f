// Markdown of the operations guide as text for a terminal: wrapped, tables as lists, links as what to type or open.

import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { findLinked } from "../operations-guide.ts";

/** What most terminals show without breaking lines. */
const COLUMNS = 100;
const INDENT = "    ";

export function describeMarkdown(markdown: string): string {
	return describe(ownTokens(lexer(markdown)));
}

/** What stands below a heading, up to the next of its kind, or in the row of a table that begins with these words. */
export function describeSection(markdown: string, asked: string): string | null {
	const tokens = ownTokens(lexer(markdown));
	return findHeading(tokens, asked) ?? findRow(tokens, asked);
}

function findHeading(tokens: readonly MarkedToken[], asked: string): string | null {
	const at = tokens.findIndex((token) => token.type === "heading" && sameWords(token.text, asked));
	const heading = tokens[at];
	if (heading?.type !== "heading") return null;
	const rest = tokens.slice(at + 1);
	const end = rest.findIndex((token) => token.type === "heading" && token.depth <= heading.depth);
	return describe([heading, ...(end === -1 ? rest : rest.slice(0, end))]);
}

function findRow(tokens: readonly MarkedToken[], asked: string): string | null {
	const rows = tokens.flatMap((token) => (token.type === "table" ? token.rows : []));
	const row = rows.find(([first]) => first !== undefined && sameWords(inline(first.tokens), asked));
	return row === undefined ? null : tableRow(row, "");
}

function sameWords(heading: string, asked: string): boolean {
	const words = (text: string) =>
		text
			.toLowerCase()
			.replace(/[^\p{Letter}\p{Number}]+/gu, " ")
			.trim();
	return words(heading) === words(asked);
}

function describe(tokens: readonly MarkedToken[]): string {
	return tokens
		.map((token) => block(token, ""))
		.filter((text) => text !== "")
		.join("\n\n");
}

function block(token: MarkedToken, indent: string): string {
	switch (token.type) {
		case "heading":
			return underline(inline(token.tokens), token.depth);
		case "paragraph":
			return wrap(inline(token.tokens), indent);
		case "text":
			return wrap(inline(token.tokens ?? [token]), indent);
		case "code":
			return token.text
				.split("\n")
				.map((line) => `${indent}${INDENT}${line}`)
				.join("\n");
		case "list":
			return token.items.map((item, index) => listItem(item, index, token, indent)).join("\n");
		case "table":
			return token.rows.map((row) => tableRow(row, indent)).join("\n");
		default:
			return "";
	}
}

function underline(text: string, depth: number): string {
	if (depth > 2) return text;
	return `${text}\n${(depth === 1 ? "=" : "-").repeat(text.length)}`;
}

function listItem({ tokens }: Tokens.ListItem, index: number, list: Tokens.List, indent: string): string {
	const mark = list.ordered ? `${Number(list.start) + index}. ` : "- ";
	const inner = `${indent}${" ".repeat(mark.length)}`;
	const text = ownTokens(tokens)
		.map((token) => block(token, inner))
		.filter((part) => part !== "")
		.join("\n\n");
	return `${indent}${mark}${text.slice(inner.length)}`;
}

/** What it is about on a line, the rest below it: columns would be wider than any terminal. */
function tableRow(cells: readonly Tokens.TableCell[], indent: string): string {
	const [first = "", ...rest] = cells.map(({ tokens }) => inline(tokens));
	return `${wrap(first, indent)}\n${wrap(rest.filter((cell) => cell !== "").join(" · "), `${indent}${INDENT}`)}`;
}

function inline(tokens: readonly Token[]): string {
	return ownTokens(tokens)
		.map((token): string => {
			switch (token.type) {
				case "link":
					return link(token);
				case "codespan":
					return token.text;
				case "strong":
				case "em":
					return inline(token.tokens);
				case "br":
					return " ";
				default:
					return "text" in token ? token.text : "";
			}
		})
		.join("");
}

function link({ href, tokens }: Tokens.Link): string {
	const text = inline(tokens);
	if (href.startsWith("https://")) return `${text} (${href})`;
	const found = findLinked(href);
	return found === null || found.part.name === "" ? text : `${text} (ringback guide ${found.part.name})`;
}

function wrap(text: string, indent: string): string {
	const lines: string[] = [];
	let line = "";
	for (const word of text.split(/\s+/)) {
		if (line !== "" && indent.length + line.length + 1 + word.length > COLUMNS) {
			lines.push(line);
			line = word;
		} else {
			line = line === "" ? word : `${line} ${word}`;
		}
	}
	return [...lines, line].map((each) => `${indent}${each}`).join("\n");
}

/** Other kinds come from extensions of marked, and there are none here. */
function ownTokens(tokens: readonly Token[]): readonly MarkedToken[] {
	return tokens as readonly MarkedToken[];
}
