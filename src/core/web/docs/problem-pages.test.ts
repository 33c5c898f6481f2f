// Tests the pages below /problems. There is one page for each fault code of the API.

import assert from "node:assert/strict";
import { test } from "node:test";
import { adviceOn } from "../../../../docs/problem-pages.ts";
import { API } from "../../../site-modules.ts";
import { createApiDocument } from "../../api/openapi/document.ts";
import { EXPLAINED_CODES, exampleFault, problemBody } from "../../domain/fault.ts";
import { openTestSite } from "../test-site.test-support.ts";

/** Codes that the API never returns. They appear only in the inbound log. */
const LOG_ONLY = ["pixel_limited"];

test("every code of the API has a page, and other codes get 404", async (t) => {
	const site = await openTestSite(t);
	const { ProblemCode } = createApiDocument(site.deps, API)().components.schemas;
	assert.deepEqual([...EXPLAINED_CODES].sort(), [...(ProblemCode?.enum ?? []), ...LOG_ONLY].sort());
	for (const code of ["nonsense", "toString", "mail_off", "<script>"]) {
		assert.equal((await site.browser().open(`/problems/${encodeURIComponent(code)}`)).status, 404, code);
	}
});

test("each page has this network's example answer, causes unless the meaning says them, the cure and advice on retries", async (t) => {
	const publicUrl = "https://track.acme.example";
	const site = await openTestSite(t, { publicUrl, brand: "Acme" });
	for (const code of EXPLAINED_CODES) {
		const { status, text } = await site.browser().open(`/problems/${code}`);
		assert.equal(status, 200, code);
		const { causes, cure } = adviceOn(code);
		const ids = [...(causes === "" ? [] : ["likely-causes"]), "what-to-do", "sending-it-again"];
		const shownIds = Array.from(text.matchAll(/<h2 id="([^"]+)">/g), ([, id]) => id);
		assert.deepEqual(shownIds.slice(-ids.length), ids, code);
		assert.doesNotMatch(text, /X-Service|ringback\.example/, code);
		assert.match(causes, /^(?:1\. |$)/, code);
		assert.match(cure, /^- /, code);
		const [, shown = ""] =
			/<h2 id="(?:likely-causes|what-to-do)">(.*)<h2 id="sending-it-again">/s.exec(text) ?? [];
		assert.equal(shown.split("<li>").length - 1, `${causes}\n${cure}`.trim().split("\n").length, code);
		if (LOG_ONLY.includes(code)) continue;
		const [, example = ""] = /aria-label="Code in “Example answer”"><code>(.*?)<\/code>/s.exec(text) ?? [];
		assert.deepEqual(JSON.parse(plainText(example)), problemBody({ publicUrl }, exampleFault(code, "Acme")));
	}
});

test("the list of problems links to every page, and the guides link to the list", async (t) => {
	const site = await openTestSite(t);
	const { text } = await site.browser().open("/problems");
	for (const code of EXPLAINED_CODES) assert.ok(text.includes(`href="/problems/${code}"`), code);
	for (const path of ["/docs", "/docs/api", "/docs/troubleshooting", "/problems/bad_signature"]) {
		assert.match((await site.browser().open(path)).text, /href="\/problems"/, path);
	}
});

function plainText(markup: string): string {
	return markup
		.replace(/<[^>]*>/g, "")
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&#x27;", "'")
		.replaceAll("&amp;", "&");
}
