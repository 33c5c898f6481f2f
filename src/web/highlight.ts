// Code in colours: of our own texts alone, such as the guide and the examples, each coloured once and kept. What others
// wrote is shown plain, because some of the patterns take very long over text that was made for it.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import csharp from "highlight.js/lib/languages/csharp";
import go from "highlight.js/lib/languages/go";
import http from "highlight.js/lib/languages/http";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import xml from "highlight.js/lib/languages/xml";
import { raw } from "hono/html";

/** By the word that a fence in Markdown has for it. */
const LANGUAGES = { js: javascript, php, python, ruby, go, java, csharp, sh: bash, http, json, html: xml };
export type CodeLanguage = keyof typeof LANGUAGES;
export const LANGUAGE_NAMES: Readonly<Record<CodeLanguage, string>> = {
	js: "JavaScript",
	php: "PHP",
	python: "Python",
	ruby: "Ruby",
	go: "Go",
	java: "Java",
	csharp: "C#",
	sh: "Shell",
	http: "HTTP",
	json: "JSON",
	html: "HTML",
};

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

// The library tells some forty kinds of words apart; the style sheet has a colour for some of them.
hljs.configure({ classPrefix: "code-" });

/** All blocks of the guide, of the reference and of the problems, and half as many again for a change of the brand. */
const MAX_KEPT = 400;
const kept = new Map<string, string>();

export function isCodeLanguage(word: string | undefined): word is CodeLanguage {
	return word !== undefined && Object.hasOwn(LANGUAGES, word);
}

/** `code` must be ours. */
export function highlight(code: string, language: CodeLanguage): ReturnType<typeof raw> {
	const key = `${language} ${code}`;
	const known = kept.get(key) ?? colour(code, language);
	if (kept.size >= MAX_KEPT) kept.clear();
	kept.set(key, known);
	return raw(known);
}

/** The library escapes the code. */
function colour(code: string, language: CodeLanguage): string {
	if (language !== "http") return hljs.highlight(code, { language, ignoreIllegals: true }).value;
	// By itself the library would try every language on the body, to find out which it is.
	const [head = "", ...body] = code.split(/(?=\n\n\{)/);
	const { value } = hljs.highlight(head, { language, ignoreIllegals: true });
	return value + body.map((text) => colour(text, "json")).join("");
}
