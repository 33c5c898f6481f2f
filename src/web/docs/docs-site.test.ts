// What every page of the documentation has in common, as strangers and people who are signed in get it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createApiDocument } from "../../api/openapi/document.ts";
import { openAsStaff, openTestSite } from "../test-site.test-support.ts";

const PAGES = [
	"/docs",
	"/docs/api",
	"/docs/partners",
	"/problems",
	"/problems/bad_signature",
	"/docs/search?q=retry",
	"/downloads",
];

for (const page of PAGES) {
	test(`${page}: a stranger reads it without signing in, gets no cookie, and may keep it for a while`, async (t) => {
		const site = await openTestSite(t);
		const { status, headers, text, setCookies } = await site.browser().open(page);
		assert.equal(status, 200);
		assert.deepEqual(setCookies, []);
		assert.equal(headers.get("cache-control"), "public, max-age=300");
		assert.equal(headers.get("vary"), "cookie");
		assert.match(text, /<a href="\/sign-in">Sign in<\/a>/);
		assert.doesNotMatch(text, /Sign out|method="post"/);
		assert.match(text, /<form class="docs-search" role="search" method="get" action="\/docs\/search">/);
	});

	test(`${page}: brand and address are this instance's own`, async (t) => {
		const site = await openTestSite(t, { publicUrl: "https://track.acme.example", brand: "Acme" });
		const { text } = await site.browser().open(page);
		assert.doesNotMatch(text, /X-Service-|HTTP_X_SERVICE_|service-postback|https:\/\/ringback\.example/i);
	});
}

test("every link leads to a part of a page that is there, no id comes twice, and the outline has every heading", async (t) => {
	const site = await openTestSite(t);
	const pages = new Map<string, { ids: string[]; text: string }>();
	const open = async (path: string) => {
		const known = pages.get(path);
		if (known !== undefined) return known;
		const { status, text } = await site.browser().open(path);
		assert.ok([200, 303].includes(status), path);
		const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id);
		assert.equal(new Set(ids).size, ids.length, `${path}: an id comes twice`);
		pages.set(path, { ids, text });
		return { ids, text };
	};
	const seen = new Set<string>();
	const waiting = [...PAGES];
	let followed = 0;
	for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
		const { text } = await open(page);
		const [, outline = ""] = /<nav class="docs-outline"[^>]*>(.*?)<\/nav>/s.exec(text) ?? [];
		const named = [...outline.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
		if (outline !== "") {
			assert.deepEqual(
				named,
				[...text.matchAll(/<h[23] id="([^"]+)"/g)].map(([, id]) => id),
				page,
			);
		}
		for (const [, href = ""] of text.matchAll(/<a [^>]*href="([/#][^"]*)"/g)) {
			const [path = "", id] = href.split("#");
			const { ids } = await open(path === "" ? page : path);
			assert.ok(id === undefined || ids.includes(id), `${page} → ${href}`);
			followed++;
			if (path.startsWith("/problems/") && !seen.has(path)) waiting.push(path);
			seen.add(path);
		}
	}
	assert.ok(followed > 500, String(followed));
});

test("every call that the OpenAPI document has is on the page of the API", async (t) => {
	const site = await openTestSite(t);
	const { text } = await site.browser().open("/docs/api");
	for (const [path, item] of Object.entries(createApiDocument(site.deps)().paths)) {
		if (!path.startsWith("/v1/")) continue;
		for (const method of Object.keys(item)) {
			const call = `<code>${method.toUpperCase()} ${path}</code>`;
			assert.ok(text.includes(call), call);
		}
	}
});

test("somebody who is signed in has the usual navigation, and a page that nobody keeps", async (t) => {
	const { browser: staff } = await openAsStaff(t);
	const { headers, text } = await staff.open("/docs");
	assert.equal(headers.get("cache-control"), "no-store");
	assert.equal(headers.get("vary"), "cookie");
	assert.match(text, /Sign out/);
	assert.match(text, /<a href="\/docs" class="wide-only" aria-current="page">Docs<\/a>/);
	assert.equal((await staff.submit("/sign-out", {})).status, 303, "its form works");
});

test("a cookie that is no session is answered like a stranger's", async (t) => {
	const site = await openTestSite(t);
	const browser = site.browser({ headers: { cookie: "ringback.session_token=nonsense" } });
	const { status, headers, setCookies } = await browser.open("/docs");
	assert.deepEqual([status, headers.get("cache-control"), setCookies], [200, "public, max-age=300", []]);
});
