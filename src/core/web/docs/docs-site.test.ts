// Tests all pages of the documentation, for visitors and for people who are signed in.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readExample } from "../../../../docs/source-files.ts";
import { setProgramme } from "../../../../test/support/change-rows.ts";
import { API } from "../../../site-modules.ts";
import { createApiDocument } from "../../api/openapi/document.ts";
import { EXAMPLE_LANGUAGES, fillIn } from "../examples.ts";
import { openAsOwner, openAsStaff, openTestSite } from "../test-site.test-support.ts";
import { PUBLIC_DOCUMENTS } from "./document-list.ts";

const PAGES = [
	...PUBLIC_DOCUMENTS.map(({ path }) => path),
	"/problems/bad_signature",
	"/docs/search?q=retry",
];

/** Texts for programs, which are the same for every reader. */
const TEXTS = [
	...PUBLIC_DOCUMENTS.map(({ path }) => `${path}.md`),
	"/problems/bad_signature.md",
	"/llms.txt",
	"/llms-full.txt",
	"/llms-full.txt?lang=python",
];

for (const page of PAGES) {
	test(`${page}: a visitor who is not signed in gets no cookie and may cache the page`, async (t) => {
		const site = await openTestSite(t);
		const { status, headers, text, setCookies } = await site.browser().open(page);
		assert.equal(status, 200);
		assert.deepEqual(setCookies, []);
		assert.equal(headers.get("cache-control"), "public, max-age=300");
		assert.equal(headers.get("vary"), "cookie, accept");
		assert.match(text, /<a href="\/sign-in">Sign in<\/a>/);
		assert.doesNotMatch(text, /Sign out|method="post"/);
		assert.match(text, /<form class="docs-search" role="search" method="get" action="\/docs\/search">/);
	});

	test(`${page}: the page has this network's brand and address`, async (t) => {
		const site = await openTestSite(t, { publicUrl: "https://track.acme.example", brand: "Acme" });
		const { text } = await site.browser().open(page);
		assert.doesNotMatch(text, /X-Service-|HTTP_X_SERVICE_|acme-postback|https:\/\/ringback\.example/i);
	});
}

test("programs get every document as Markdown, without a cookie, with this network's brand and address", async (t) => {
	const site = await openTestSite(t, { publicUrl: "https://track.acme.example", brand: "Acme" });
	for (const path of TEXTS) {
		const { status, headers, text, setCookies } = await site.browser().open(path);
		assert.equal(status, 200, path);
		assert.deepEqual(setCookies, []);
		const type = path.endsWith(".md") ? "text/markdown" : "text/plain";
		assert.equal(headers.get("content-type"), `${type}; charset=UTF-8`, path);
		assert.equal(headers.get("cache-control"), "public, max-age=300");
		assert.match(text, /^# \S/, path);
		assert.doesNotMatch(text, /X-Service-|HTTP_X_SERVICE_|acme-postback|https:\/\/ringback\.example/i, path);
		assert.doesNotMatch(text, /^<!-- |\]\((?!https:|#)/m, `${path}: comments and relative links are gone`);
	}
});

test("/robots.txt lets search engines read the documentation and nothing else", async (t) => {
	const site = await openTestSite(t);
	const { status, headers, text, setCookies } = await site.browser().open("/robots.txt");
	assert.deepEqual([status, setCookies], [200, []]);
	assert.equal(headers.get("content-type"), "text/plain; charset=UTF-8");
	assert.deepEqual(text.split("\n"), [
		"User-agent: *",
		"Allow: /docs",
		"Allow: /problems",
		"Allow: /downloads",
		"Allow: /llms",
		"Allow: /openapi.json",
		"Allow: /assets/",
		"Disallow: /",
		"",
	]);
});

test("a request that prefers text/markdown gets the Markdown of the same page", async (t) => {
	const site = await openTestSite(t);
	const open = async (accept: string, path = "/docs/api") =>
		(await site.browser().open(path, { accept })).text;
	const markdown = await open("*/*", "/docs/api.md");
	assert.ok((await open("text/markdown")) === markdown);
	assert.ok((await open("text/markdown, text/html;q=0.9, */*;q=0.1")) === markdown);
	for (const accept of [
		"*/*",
		"text/html,application/xhtml+xml,*/*;q=0.8",
		"text/html, text/markdown;q=0.5",
	]) {
		assert.match(await open(accept), /^<!doctype html>/i, accept);
	}
});

test("/llms.txt lists every public document, and /llms-full.txt has all of them and every example", async (t) => {
	const site = await openTestSite(t);
	const { publicUrl } = site.deps;
	const index = (await site.browser().open("/llms.txt")).text;
	const full = (await site.browser().open("/llms-full.txt")).text;
	const [head = "", ...parts] = full.split(/^---\n\nSource: (?=https?:\S+\.md\n)/m);
	const contents = [...head.matchAll(/^- .+? \((\d+) KB, for .+?\): (\S+)$/gm)];
	assert.deepEqual(
		contents.map(([, , address]) => address),
		parts.map((part) => part.slice(0, part.indexOf("\n"))),
		"the list of contents names the parts in their order",
	);
	assert.match(parts.at(-1) ?? "", /\/docs\/network-api\.md\n/, "the part for staff is the last");
	for (const { path, label } of PUBLIC_DOCUMENTS) {
		const address = `${publicUrl}${path}.md`;
		assert.ok(index.includes(`- [${label}](${address}): `), path);
		const part = parts.find((one) => one.startsWith(`${address}\n\n`)) ?? "";
		const { text } = await site.browser().open(`${path}.md`);
		assert.equal(part.trimEnd(), `${address}\n\n${text.replaceAll("](#", `](${address}#`)}`.trimEnd(), path);
		const size = contents.find(([, , other]) => other === address)?.[1];
		assert.ok(Math.abs(Number(size) - Buffer.byteLength(part) / 1_000) < 2, `${path}: ${size} KB`);
	}
	for (const { label } of EXAMPLE_LANGUAGES) assert.ok(full.includes(`**${label}**\n\n\`\`\``), label);
	assert.doesNotMatch(full, /\]\(#/, "links name their page, because headings of two pages may be equal");
	assert.doesNotMatch(full, /operations guide|RINGBACK_SECRET_KEY=/, "the operations guide is for staff");
});

test("/llms-full.txt?lang=… has the programs of one language, and the JavaScript library only for Node", async (t) => {
	const site = await openTestSite(t);
	const open = async (path: string) => (await site.browser().open(path)).text;
	const full = await open("/llms-full.txt");
	const shownIn = (text: string) =>
		EXAMPLE_LANGUAGES.filter(({ label }) => text.includes(`**${label}**\n\n\`\`\``)).map(
			({ value }) => value,
		);
	for (const { value } of EXAMPLE_LANGUAGES) {
		assert.ok(full.includes(`\`?lang=${value}\``), "the full text names the choice");
		const text = await open(`/llms-full.txt?lang=${value}`);
		assert.deepEqual(shownIn(text), [value]);
		assert.equal(/^Source: \S+\/docs\/library\.md$/m.test(text), value === "node");
		assert.deepEqual(shownIn(await open(`/docs/rules.md?lang=${value}`)), [value]);
	}
	const python = await open("/llms-full.txt?lang=python");
	for (const kind of ["receiver", "sender", "click"] as const) {
		const { publicUrl, network } = site.deps;
		const code = fillIn(readExample("python", kind), { publicUrl, brand: network.face.brand });
		assert.ok(python.includes(code.trimEnd()), kind);
	}
	assert.match(
		python,
		/\n## Keep a sale until its answer says what to do\n/,
		"the text after the programs is there",
	);
	assert.equal(await open("/llms-full.txt?lang=cobol"), full);
});

test("the documents for programs name nothing that the service does not serve", async (t) => {
	const site = await openTestSite(t);
	const { text: served } = await site.browser().open("/llms-full.txt");
	// A clone without the Vendure plugin says how to pack the plugin. Released programs include it.
	const text = served.replaceAll(/^- \S+ is not here, because .*$/gm, "");
	assert.doesNotMatch(
		text,
		/our repository|the repository (?:has|`)|integrations\/|vectors\.sh|`examples\/`/,
	);
	assert.doesNotMatch(
		text,
		/ringback (?!listen|trigger|--help)[a-z]+ (?:issue|create|import)/,
		"staff's commands",
	);
});

test("unknown pages below /docs are not found, also as Markdown, and the operations guide is for staff", async (t) => {
	const site = await openTestSite(t);
	for (const path of ["/docs/nothing-here", "/docs/nothing-here.md", "/problems/nothing.md"]) {
		assert.equal((await site.browser().open(path)).status, 404, path);
	}
	const { browser: staff } = await openAsStaff(t);
	for (const path of ["/docs/operations.md", "/docs/operations/proxy.md"]) {
		assert.equal((await site.browser().open(path)).status, 303, path);
		assert.match((await staff.open(path)).text, /^# \S/, path);
	}
});

test("From order to money says what the basket value contains in the reader's own programmes", async (t) => {
	const { site, browser, programme } = await openAsOwner(t);
	await setProgramme(site.store.db, programme.id, {
		basket_rule: "GOODS_NET",
		basket_note: "No <gift> cards.",
	});
	const own = await browser.open("/docs/order-to-money");
	assert.match(own.text, /<strong>[^<]+<\/strong>: The goods alone: without VAT.* No &lt;gift&gt; cards\./);
	const visitor = await site.browser().open("/docs/order-to-money");
	assert.doesNotMatch(visitor.text, /gift&gt; cards/);
});

test("every link leads to an existing heading, ids are unique, and the outline has every heading", async (t) => {
	const site = await openTestSite(t);
	const pages = new Map<string, { ids: string[]; text: string }>();
	const open = async (path: string) => {
		const opened = pages.get(path);
		if (opened !== undefined) return opened;
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

test("the references of the three APIs have every call of the OpenAPI document", async (t) => {
	const site = await openTestSite(t);
	const open = async (path: string) => (await site.browser().open(path)).text;
	const [signed, network, partner] = [
		await open("/docs/api"),
		await open("/docs/network-api"),
		await open("/docs/partner-api"),
	];
	for (const [path, item] of Object.entries(createApiDocument(site.deps, API)().paths)) {
		if (!path.startsWith("/v1/")) continue;
		const ofTokens = path.startsWith("/v1/partner/") ? partner : network;
		const text = /^\/v1\/(?:network|partner)\//.test(path) ? ofTokens : signed;
		for (const method of Object.keys(item)) {
			const call = `<code>${method.toUpperCase()} ${path}</code>`;
			assert.ok(text.includes(call), call);
		}
	}
});

test("a person who is signed in sees the usual navigation, and the page is not cached", async (t) => {
	const { browser: staff } = await openAsStaff(t);
	const { headers, text } = await staff.open("/docs");
	assert.equal(headers.get("cache-control"), "no-store");
	assert.equal(headers.get("vary"), "cookie, accept");
	assert.match(text, /Sign out/);
	assert.match(text, /<a href="\/docs" class="wide-only" aria-current="page">Docs<\/a>/);
	assert.equal((await staff.submit("/sign-out", {})).status, 303, "its form works");
});

test("a request with an invalid session cookie gets the same page as a visitor", async (t) => {
	const site = await openTestSite(t);
	const browser = site.browser({ headers: { cookie: "ringback.session=nonsense" } });
	const { status, headers, setCookies } = await browser.open("/docs");
	assert.deepEqual([status, headers.get("cache-control"), setCookies], [200, "public, max-age=300", []]);
});
