import assert from "node:assert/strict";
import { test } from "node:test";
import { codeLanguageOf, EXAMPLE_LANGUAGES, readExample } from "./examples.ts";
import { type CodeLanguage, highlight } from "./highlight.ts";

const SPAN = /<span class="(?:code-|language-)[\w\- ]+">|<\/span>/g;

/** What is left is what a reader sees. */
function shownText(code: string, language: CodeLanguage): string {
	return plainText(String(highlight(code, language)).replace(SPAN, ""));
}

function plainText(text: string): string {
	return text
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&#x27;", "'")
		.replaceAll("&amp;", "&");
}

test("every example keeps its text to the letter, and has comments, words and strings in colour", () => {
	for (const { value } of EXAMPLE_LANGUAGES) {
		for (const role of ["receiver", "sender"] as const) {
			const code = readExample(value, role);
			const language = codeLanguageOf(value);
			assert.equal(shownText(code, language), code, `${value} ${role}`);
			const markup = String(highlight(code, language));
			for (const kind of ["comment", "keyword", "string"]) {
				assert.ok(markup.includes(`<span class="code-${kind}`), `${value} ${role}: ${kind}`);
			}
		}
	}
});

test("code is never taken for markup, whatever the language", () => {
	const hostile = `</code><img src=x onerror="alert(1)"><span class="hljs-x">&amp;'`;
	const languages = [
		"js",
		"php",
		"python",
		"ruby",
		"go",
		"java",
		"csharp",
		"sh",
		"http",
		"json",
		"html",
	] as const;
	for (const language of languages) {
		assert.doesNotMatch(String(highlight(hostile, language)).replace(SPAN, ""), /[<>"]/, language);
		assert.equal(shownText(hostile, language), hostile, language);
	}
});

test("the body of a request is coloured as JSON, its head as HTTP", () => {
	const markup = String(highlight('POST /postback HTTP/1.1\nHost: shop.example\n\n{"test":false}', "http"));
	assert.match(markup, /<span class="code-attribute">Host<\/span>/);
	assert.match(markup, /<span class="code-attr">&quot;test&quot;<\/span>/);
	assert.match(markup, /<span class="code-literal">(?:<span class="code-keyword">)?false/);
});
