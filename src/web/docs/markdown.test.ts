import assert from "node:assert/strict";
import { test } from "node:test";
import { html } from "../ui.ts";
import { headingId, renderMarkdown } from "./markdown.ts";

const OPTIONS = {
	linkTo: (href: string) => (href.startsWith("#") || href === "/known" ? href : null),
	fillComment: (comment: string) => (comment === "here" ? html`<hr class="filled">` : null),
};

function render(body: string): string {
	return String(renderMarkdown(`# Title\n\n${body}`, OPTIONS).body)
		.replaceAll(/>\n/g, ">")
		.trim();
}

test("text, code and table cells are escaped, wherever markup stands in them", () => {
	const hostile = `<img src=x onerror=alert(1)> & "quotes"`;
	const written = [
		`A ${hostile} line`,
		`- ${hostile}`,
		`**${hostile}**`,
		`\`${hostile}\``,
		`## ${hostile}`,
		`\`\`\`html\n${hostile}\n\`\`\``,
		`| a |\n|---|\n| ${hostile} |`,
		`> ${hostile}`,
		`<pre> ${hostile.slice(0, -1)} <b`,
		`<script> ${hostile}`,
	];
	for (const markdown of written) {
		const shown = render(markdown);
		assert.doesNotMatch(shown, /<img/, markdown);
		assert.match(shown, /&lt;img src=x onerror=alert\(1\)&gt;/, markdown);
	}
});

test("raw markup shows as text, and a comment as nothing unless the page fills it", () => {
	assert.match(render("<script>alert(1)</script>"), /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
	assert.match(render("<details>\n<summary>x</summary>\n</details>"), /&lt;details&gt;/);
	assert.equal(render("<!-- anything else -->"), "");
	assert.equal(render("<!-- here -->"), '<hr class="filled">');
});

test("a link leads where the page says, and one to nowhere leaves its text", () => {
	assert.equal(render("[a **b**](/known)"), '<p><a href="/known">a <strong>b</strong></a></p>');
	for (const href of ["javascript:alert(1)", "../README.md", "data:text/html,x", "//elsewhere.example"]) {
		assert.equal(render(`[text](${href})`), "<p>text</p>", href);
		assert.equal(String(renderMarkdown(`# Title\n\n[text](${href})`).body), "<p>text</p>\n", href);
	}
});

test("headings get the ids that GitHub gives them, and the outline names each", () => {
	const { title, outline } = renderMarkdown(
		"# A `b`\n\n## What's *new*, 2xx?\n\n### Part: 1.2\n\n#### deep",
		OPTIONS,
	);
	assert.equal(title, "A b");
	assert.deepEqual(outline, [
		{ id: "whats-new-2xx", text: "What's new, 2xx?", depth: 2 },
		{ id: "part-12", text: "Part: 1.2", depth: 3 },
	]);
	assert.equal(headingId("It works with curl, but callbacks fail"), "it-works-with-curl-but-callbacks-fail");
});

test("no two code blocks or tables of a page have the same name", () => {
	const shown = render("## One\n\n```\na\n```\n\n```\nb\n```\n\n| a |\n|---|\n| 1 |\n\n| a |\n|---|\n| 2 |");
	const names = [...shown.matchAll(/role="region" aria-label="([^"]+)"/g)].map(([, name]) => name);
	assert.equal(names.length, 4);
	assert.equal(new Set(names).size, 4, names.join(" · "));
});

test("lists, quotes, tasks and tables keep their structure", () => {
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

test("a document without a title is refused", () => {
	assert.throws(() => renderMarkdown("no title", OPTIONS), /begins with its title/);
});
