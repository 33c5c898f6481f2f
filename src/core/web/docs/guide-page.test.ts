// Tests the examples on the pages for developers in each language. They must contain this network's brand and address.

import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight } from "../../../../docs/highlight.ts";
import { readExample } from "../../../../docs/source-files.ts";
import { EXAMPLE_LANGUAGES, fillIn } from "../examples.ts";
import { openTestSite } from "../test-site.test-support.ts";

test("each language shows its receiver, sender and click program, and an unknown language shows the first one", async (t) => {
	const site = await openTestSite(t);
	const { publicUrl, network } = site.deps;
	const { brand } = network.face;
	for (const [kind, path] of [
		["receiver", "/docs/rules"],
		["sender", "/docs/report-sales"],
		["click", "/docs/click-ids"],
	] as const) {
		const open = async (query: string) => (await site.browser().open(`${path}${query}`)).text;
		for (const { value, label, fence } of EXAMPLE_LANGUAGES) {
			const text = await open(`?lang=${value}`);
			const code = highlight(fillIn(readExample(value, kind), { publicUrl, brand }), fence);
			assert.ok(text.includes(`<code>${code}</code>`), `${value} ${kind}`);
			assert.ok(
				text.includes(
					`<a href="${path}?lang=${value}#${kind}-code" aria-current="true">${escapeHtml(label)}</a>`,
				),
			);
			assert.equal(text.split('aria-current="true"').length, 3, "the document and the language");
		}
		assert.equal(await open("?lang=%3Cscript%3E"), await open(""));
	}
});

function escapeHtml(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;")
		.replaceAll("'", "&#39;");
}
