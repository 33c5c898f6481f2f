// Descriptions of the API document as markup. They are CommonMark by the standard; of it ours use paragraphs,
// numbered lists, fenced blocks and code within a line.

import { html } from "hono/html";
import { codeBlock } from "../components/text.ts";
import type { Content, Html } from "../html.ts";

export function renderText(text: string): Content {
	return splitBlocks(text).map(renderBlock);
}

/** One line: for cells of tables. */
export function renderLine(text: string): Content {
	return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** Blank lines part blocks, but not within a fence. */
function splitBlocks(text: string): string[] {
	const blocks: string[] = [];
	let isFenced = false;
	for (const part of text.split("\n\n")) {
		if (isFenced) blocks.push(`${blocks.pop()}\n\n${part}`);
		else blocks.push(part);
		if ((part.match(/^```/gm) ?? []).length % 2 === 1) isFenced = !isFenced;
	}
	return blocks;
}

function renderBlock(block: string): Html {
	const fence = /^```\n([\s\S]*)\n```$/.exec(block);
	if (fence !== null) return codeBlock(fence[1] ?? "", "Canonical string");
	const lines = block.split("\n");
	if (lines.every((line) => /^\d+\. /.test(line))) {
		return html`<ol>${lines.map((line) => html`<li>${renderLine(line.replace(/^\d+\. /, ""))}</li>`)}</ol>`;
	}
	return html`<p>${renderLine(block)}</p>`;
}
