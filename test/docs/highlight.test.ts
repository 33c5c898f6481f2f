// Tests the syntax highlighting of our documents and examples.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EXAMPLE_LANGUAGES, EXAMPLE_ROLES } from "#core/web/examples.ts";
import { highlight } from "../../docs/highlight.ts";
import { readExample } from "../../docs/source-files.ts";

const SPAN = /<span class="(?:code-|language-)[\w\- ]+">|<\/span>/g;

/** Returns the text that a reader sees. */
function shownText(code: string, fence: string): string {
	return highlight(code, fence)
		.replace(SPAN, "")
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&#x27;", "'")
		.replaceAll("&amp;", "&");
}

test("highlighting changes no character of an example, and marks comments, keywords and strings", () => {
	for (const { value, fence } of EXAMPLE_LANGUAGES) {
		for (const role of EXAMPLE_ROLES) {
			const code = readExample(value, role);
			assert.equal(shownText(code, fence), code, `${value} ${role}`);
			const kinds = role === "click" ? ["comment", "string"] : ["comment", "keyword", "string"];
			for (const kind of kinds) {
				assert.ok(highlight(code, fence).includes(`<span class="code-${kind}`), `${value} ${role}: ${kind}`);
			}
		}
	}
});

test("code that looks like markup is escaped in every language", () => {
	const hostile = `</code><img src=x onerror="alert(1)"><span class="hljs-x">&amp;'`;
	for (const fence of [
		...EXAMPLE_LANGUAGES.map((language) => language.fence),
		"http",
		"json",
		"html",
		"sql",
	]) {
		assert.doesNotMatch(highlight(hostile, fence).replace(SPAN, ""), /[<>"]/, fence);
		assert.equal(shownText(hostile, fence), hostile, fence);
	}
});

test("the head of a request is highlighted as HTTP and its body as JSON", () => {
	const markup = highlight('POST /postback HTTP/1.1\nHost: shop.example\n\n{"test":false}', "http");
	assert.match(markup, /<span class="code-attribute">Host<\/span>/);
	assert.match(markup, /<span class="code-attr">&quot;test&quot;<\/span>/);
	assert.match(markup, /<span class="code-literal">(?:<span class="code-keyword">)?false/);
});
