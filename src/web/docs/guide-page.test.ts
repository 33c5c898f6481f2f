// /docs as people get it: strangers and those who are signed in, with this instance's own brand and address.

import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight } from "../components/highlight.ts";
import { codeLanguageOf, EXAMPLE_LANGUAGES, fillIn, readExample } from "../examples.ts";
import { openTestSite } from "../test-site.test-support.ts";

test("a stranger reads it without signing in, gets no cookie, and may keep it for a while", async (t) => {
	const site = await openTestSite(t);
	const { status, headers, text, setCookies } = await site.browser().open("/docs");
	assert.equal(status, 200);
	assert.deepEqual(setCookies, []);
	assert.equal(headers.get("cache-control"), "public, max-age=300");
	assert.equal(headers.get("vary"), "cookie");
	assert.match(text, /<h1>Receiver guide<\/h1>/);
	assert.match(text, /<a href="\/sign-in">Sign in<\/a>/);
	assert.doesNotMatch(text, /name="csrf"|Sign out|method="post"/);
});

test("somebody who is signed in has the usual navigation, and a page that nobody keeps", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.signIn(await site.addStaff());
	const { headers, text } = await staff.open("/docs");
	assert.equal(headers.get("cache-control"), "no-store");
	assert.equal(headers.get("vary"), "cookie");
	assert.match(text, /Sign out/);
	assert.match(text, /<a href="\/review" *>Review<\/a>/);
	assert.match(text, /<a href="\/docs" class="wide-only" aria-current="page">Docs<\/a>/);
	assert.equal((await staff.submit("/sign-out", {})).status, 303, "its form works");
});

test("a cookie that is no session is answered like a stranger's", async (t) => {
	const site = await openTestSite(t);
	const browser = site.browser({ headers: { cookie: "ringback.session_token=nonsense" } });
	const { status, headers, setCookies } = await browser.open("/docs");
	assert.deepEqual([status, headers.get("cache-control"), setCookies], [200, "public, max-age=300", []]);
});

test("it has the headers of every page, and no inline script, style or handler", async (t) => {
	const site = await openTestSite(t);
	const docs = await site.browser().open("/docs");
	const signIn = await site.browser().open("/sign-in");
	for (const name of [
		"content-security-policy",
		"referrer-policy",
		"x-content-type-options",
		"cross-origin-opener-policy",
	]) {
		assert.ok(docs.headers.get(name), name);
		assert.equal(docs.headers.get(name), signIn.headers.get(name), name);
	}
	// Quotes are escaped inside texts, so what stands between two of them is an attribute's value.
	const markup = docs.text.replace(/="[^"]*"/g, '=""').replaceAll('<script src=""', "<script src");
	assert.doesNotMatch(markup, /<script(?! src)|<style|<[a-z][^>]*\s(?:style|on[a-z]+)=/i);
});

test("headers, agent and address are this instance's own; those of the file show nowhere", async (t) => {
	const site = await openTestSite(t, { publicUrl: "https://track.acme.example", brand: "Acme" });
	for (const { value } of EXAMPLE_LANGUAGES) {
		const { text } = await site.browser().open(`/docs?lang=${value}`);
		assert.match(text, /X-Acme-Signature: [0-9a-f]{64}/);
		assert.match(text, /User-Agent: acme-postback\/1/);
		assert.match(text, /RINGBACK_URL=https:\/\/track\.acme\.example\nexport RINGBACK_BRAND=Acme\n/);
		assert.doesNotMatch(
			text,
			/X-Service-|HTTP_X_SERVICE_|service-postback|https:\/\/ringback\.example/i,
			value,
		);
	}
});

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

test("every link on it leads somewhere: to a part of the page, or to a page that is there", async (t) => {
	const site = await openTestSite(t);
	const { text } = await site.browser().open("/docs");
	const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
	const hrefs = new Set([...text.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href = ""]) => href));
	assert.ok(hrefs.size > 40, String(hrefs.size));
	for (const href of hrefs) {
		if (href.startsWith("#")) assert.ok(ids.has(href.slice(1)), href);
		else assert.ok([200, 303].includes((await site.browser().open(href)).status), href);
	}
	assert.equal([...text.matchAll(/ id="/g)].length, ids.size, "no id comes twice");
});

test("the outline names every section and leads to it", async (t) => {
	const site = await openTestSite(t);
	const { text } = await site.browser().open("/docs");
	const [, outline = ""] = /<nav class="docs-outline"[^>]*>(.*?)<\/nav>/s.exec(text) ?? [];
	const named = [...outline.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
	const headings = [...text.matchAll(/<h[23] id="([^"]+)"/g)].map(([, id]) => id);
	assert.deepEqual(named, headings);
});

test("pages lead to it: sign-in, Integration, and every page of those who are signed in", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	const { text: signIn } = await site.browser().open("/sign-in");
	assert.match(signIn, /<a href="\/docs">/);
	for (const [page, id] of [
		["integration", "callback"],
		["integration/keys", "snippets"],
	] as const) {
		const { text } = await owner.open(`/programmes/${programme.public_id}/${page}`);
		const part = text.split("<section ").find((section) => section.includes(`id="${id}"`)) ?? "";
		assert.match(part, /<a href="\/docs(?:#[a-z-]+)?">/, id);
	}
	const { text: account } = await owner.open("/account");
	assert.match(account, /<a href="\/docs" class="wide-only" *>Docs<\/a>/);
	assert.match(account, /<a href="\/docs">Documentation for developers<\/a>/, "in the menu, for phones");
});

function escapeHtml(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;")
		.replaceAll("'", "&#39;");
}
