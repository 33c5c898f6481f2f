// Tests how docs/markdown.ts renders our documents.

import assert from "node:assert/strict";
import { test } from "node:test";
import { headingId, publishMarkdown, renderMarkdown } from "../../docs/markdown.ts";

function render(markdown: string, source = "docs/api.md"): string {
	return renderMarkdown(markdown, source).replaceAll(/>\n/g, ">").trim();
}

test("special characters in text, code and table cells are escaped", () => {
	const shown = '&lt;img src=x onerror=alert(1)&gt; &amp; "quotes"';
	const written = [
		'A \\<img src=x onerror=alert(1)> & "quotes" line',
		'`<img src=x onerror=alert(1)> & "quotes"`',
		'```text\n<img src=x onerror=alert(1)> & "quotes"\n```',
		'| a |\n|---|\n| `<img src=x onerror=alert(1)> & "quotes"` |',
		'> `<img src=x onerror=alert(1)> & "quotes"`',
	];
	for (const markdown of written) {
		assert.ok(render(markdown).replaceAll("&quot;", '"').includes(shown), render(markdown));
		assert.doesNotMatch(render(markdown), /<img/);
	}
});

test("a document that contains HTML markup is refused", () => {
	for (const markup of [
		"<script>alert(1)</script>",
		"<details>\n<summary>x</summary>\n</details>",
		"a <b>c</b>",
	]) {
		assert.throws(() => render(markup), /docs\/api\.md has markup: </);
	}
});

test("HTML comments are removed, and placeholders stay for the server to fill in", () => {
	assert.equal(render("<!-- anything else -->"), "");
	assert.equal(render("<!-- examples: receiver -->"), "<!-- examples: receiver -->");
	assert.equal(render("<!-- versions -->"), "<!-- versions -->");
});

test("a link to another document leads to its page", () => {
	assert.equal(render("[a **b**](/problems)"), '<p><a href="/problems">a <strong>b</strong></a></p>');
	const links: readonly (readonly [href: string, source: string, target: string])[] = [
		["callbacks.md#headers", "docs/api.md", "/docs/callbacks#headers"],
		["../start.md", "docs/operations/install.md", "/docs"],
		["proxy.md#nginx", "docs/operations/install.md", "/docs/operations/proxy#nginx"],
		["operations/proxy.md", "docs/operations.md", "/docs/operations/proxy"],
		["../receiver/downloads", "docs/quick-start.md", "/downloads"],
		["#here", "docs/api.md", "#here"],
		["https://elsewhere.example/a", "docs/api.md", "https://elsewhere.example/a"],
	];
	for (const [href, source, target] of links) {
		assert.equal(render(`[text](${href})`, source), `<p><a href="${target}">text</a></p>`, href);
	}
});

test("a link that leads to no page is rendered as its text", () => {
	for (const href of ["javascript:alert(1)", "../README.md", "data:text/html,x", "//elsewhere.example"]) {
		assert.equal(render(`[text](${href})`), "<p>text</p>", href);
	}
});

test("headings have the ids that GitHub gives them", () => {
	assert.match(render("## What's *new*, 2xx?"), /^<h2 id="whats-new-2xx">What&#39;s <em>new<\/em>, 2xx\?<a /);
	assert.match(render("### Part: 1.2"), /^<h3 id="part-12">/);
	assert.equal(headingId("It works with curl, but callbacks fail"), "it-works-with-curl-but-callbacks-fail");
});

test("no two code blocks or tables of a page have the same name", () => {
	const shown = render("## One\n\n```\na\n```\n\n```\nb\n```\n\n| a |\n|---|\n| 1 |\n\n| a |\n|---|\n| 2 |");
	const names = [...shown.matchAll(/role="region" aria-label="([^"]+)"/g)].map(([, name]) => name);
	assert.equal(names.length, 4);
	assert.equal(new Set(names).size, 4, names.join(" · "));
});

test("lists, quotes, tasks and tables are rendered with their structure", () => {
	assert.equal(
		render("1. one\n2. two\n\n- [ ] do *it*"),
		"<ol><li>one</li><li>two</li></ol><ul><li>☐ do <em>it</em></li></ul>",
	);
	assert.match(
		render("| a | b |\n|---|--:|\n| `x` | 2 |"),
		/<th scope="col" class="number">b<\/th>.*<td class=""><code>x<\/code><\/td><td class="number">2<\/td>/s,
	);
	assert.equal(render("> quoted\n\n---"), "<blockquote><p>quoted</p></blockquote><hr>");
});

test("Markdown for programs has whole addresses, no comments, and unchanged code", () => {
	const published = publishMarkdown(
		[
			"# Title",
			"<!-- generated: x -->",
			"[a](callbacks.md#headers), [b](#here), [c](../README.md), [d](/problems/x), [e](https://e.example/)",
			"<!-- /generated -->",
			"```js",
			"// [a](callbacks.md)",
			"<!-- kept -->",
			"```",
		].join("\n"),
		"docs/api.md",
	);
	assert.equal(
		published,
		[
			"# Title",
			"[a](https://ringback.example/docs/callbacks.md#headers), [b](#here), c, [d](https://ringback.example/problems/x.md), [e](https://e.example/)",
			"```js",
			"// [a](callbacks.md)",
			"<!-- kept -->",
			"```",
			"",
		].join("\n"),
	);
});
