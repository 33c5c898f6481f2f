// /docs as people get it, with this instance's own brand and address, in each language.

import assert from "node:assert/strict";
import { test } from "node:test";
import { codeLanguageOf, EXAMPLE_LANGUAGES, fillIn, readExample } from "../examples.ts";
import { highlight } from "../highlight.ts";
import { openTestSite } from "../test-site.test-support.ts";

test("each language shows its own receiver and sender, escaped, and an unknown one the first", async (t) => {
	const site = await openTestSite(t);
	const { publicUrl, network } = site.deps;
	const { brand } = network.face;
	const open = async (query: string) => (await site.browser().open(`/docs${query}`)).text;
	for (const { value, label } of EXAMPLE_LANGUAGES) {
		const text = await open(`?lang=${value}`);
		for (const kind of ["receiver", "sender"] as const) {
			const code = highlight(fillIn(readExample(value, kind), { publicUrl, brand }), codeLanguageOf(value));
			assert.ok(text.includes(`<code>${code}</code>`), `${value} ${kind}`);
			assert.ok(
				text.includes(
					`<a href="/docs?lang=${value}#${kind}-code" aria-current="true">${escapeHtml(label)}</a>`,
				),
			);
		}
		assert.equal(text.split('aria-current="true"').length, 4, "the document, and one tab a kind");
	}
	assert.equal(await open("?lang=%3Cscript%3E"), await open(""));
});

function escapeHtml(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;")
		.replaceAll("'", "&#39;");
}
