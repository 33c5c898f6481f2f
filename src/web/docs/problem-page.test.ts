// /problems as people get it: a page for each code that the API answers, and no other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createApiDocument } from "../../api/openapi/document.ts";
import { openTestSite } from "../test-site.test-support.ts";
import { EXPLAINED_CODES, problemWords } from "./problem-words.ts";

/** In the inbound log alone. */
const LOG_ONLY = ["pixel_limited"];

test("every code of the API has a page, and every page a code", async (t) => {
	const site = await openTestSite(t);
	const answered = createApiDocument(site.deps)()["x-problems"].map(({ code }) => code);
	assert.deepEqual([...EXPLAINED_CODES].sort(), [...answered, ...LOG_ONLY].sort());
	for (const code of ["nonsense", "toString", "email_taken", "<script>"]) {
		assert.equal((await site.browser().open(`/problems/${encodeURIComponent(code)}`)).status, 404, code);
	}
});

test("each says what it means, with the answer as this instance gives it, causes, a cure and what to repeat", async (t) => {
	const site = await openTestSite(t, { publicUrl: "https://track.acme.example", brand: "Acme" });
	const document = createApiDocument(site.deps)();
	for (const code of EXPLAINED_CODES) {
		const { status, text, setCookies, headers } = await site.browser().open(`/problems/${code}`);
		assert.deepEqual([status, setCookies], [200, []], code);
		assert.equal(headers.get("cache-control"), "public, max-age=300", code);
		for (const id of ["example", "causes", "cure", "retry"])
			assert.match(text, new RegExp(`<h2 id="${id}">`), code);
		assert.doesNotMatch(text, /X-Service|ringback\.example/, code);
		const { causes, cure } = problemWords(code);
		assert.equal(text.split("<ol><li>").length - 1, 1, code);
		assert.ok(causes.length > 0 && cure.length > 0, code);
		if (LOG_ONLY.includes(code)) continue;
		const entry = document["x-problems"].find((problem) => problem.code === code);
		const answer: unknown = JSON.parse(
			plainText(/aria-label="Example answer"><code>(.*?)<\/code>/s.exec(text)?.[1] ?? ""),
		);
		const { detail, field } = problemWords(code).example;
		assert.deepEqual(answer, {
			type: `https://track.acme.example/problems/${code}`,
			title: /<h1>(.*?)<\/h1>/.exec(text)?.[1],
			status: entry?.status,
			detail: detail.replaceAll("X-Service-", "X-Acme-"),
			code,
			...(field === undefined ? {} : { field }),
		});
	}
});

test("the index leads to every page, and the reference and the docs lead to the index", async (t) => {
	const site = await openTestSite(t);
	const { text } = await site.browser().open("/problems");
	for (const code of EXPLAINED_CODES) assert.ok(text.includes(`href="/problems/${code}"`), code);
	for (const path of ["/docs", "/docs/api", "/problems/bad_signature"]) {
		assert.match((await site.browser().open(path)).text, /href="\/problems"/, path);
	}
	assert.match((await site.browser().open("/docs/api")).text, /href="\/problems\/stale_timestamp"/);
});

test("every link on these pages leads to something that is there", async (t) => {
	const site = await openTestSite(t);
	const hrefs = new Set<string>();
	for (const code of EXPLAINED_CODES) {
		const { text } = await site.browser().open(`/problems/${code}`);
		for (const [, href = ""] of text.matchAll(/<a href="(\/[^"]*)"/g)) hrefs.add(href);
	}
	assert.ok(hrefs.has("/docs#the-pixel"));
	const ids = new Map<string, string>();
	for (const href of hrefs) {
		const [path = "", id] = href.split("#");
		if (!ids.has(path)) {
			const { status, text } = await site.browser().open(path);
			assert.ok([200, 303].includes(status), href);
			ids.set(path, text);
		}
		if (id !== undefined) assert.ok(ids.get(path)?.includes(` id="${id}"`), href);
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
