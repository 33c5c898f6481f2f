// Tests the snippets, which are the files of examples/ with the programme's values. They must be short enough
// for a page, filled in, and free of secrets. test/examples runs them.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { readExample } from "../../../../docs/source-files.ts";
import { LIBRARY } from "../downloads.ts";
import { EXAMPLE_LANGUAGES, fillIn } from "../examples.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "../listen-command.ts";
import { partnerLinksSection, pixelSnippet, snippetsSection } from "./keys-page.ts";

/** Maximum number of lines of an example. The examples in C# and Java are the longest. */
const PAGE_LINES = 115;
/** Maximum number of columns of an example. On a narrow screen the example scrolls sideways. */
const PAGE_COLUMNS = 100;

const PUBLIC_URL = "https://network.example:8443";
const CLICK = { parameter: "via", days: 7 };
const VALUES = {
	publicUrl: PUBLIC_URL,
	brand: "Acme",
	programId: "prg_1",
	click: CLICK,
	basketValue: "The total.",
};
const EXAMPLES = EXAMPLE_LANGUAGES.flatMap(({ value }) =>
	(["receiver", "sender"] as const).map((role) => ({
		language: value,
		role,
		text: readExample(value, role),
	})),
);

test("each example is at most a page long, contains no secret, and has the network's brand and address", () => {
	for (const { language, role, text } of EXAMPLES) {
		const what = `${role} in ${language}`;
		const lines = text.split("\n");
		ok(lines.length - 1 <= PAGE_LINES, what);
		ok(
			lines.every((line) => line.replaceAll("\t", "    ").length <= PAGE_COLUMNS),
			what,
		);
		ok(text.endsWith("\n") && !text.endsWith("\n\n") && text.includes(SECRET_VARIABLE), what);
		doesNotMatch(text, /rb[ks]_/, what);
		equal(text.includes(API_KEY_VARIABLE), role === "sender", what);
		const filled = fillIn(text, { publicUrl: PUBLIC_URL, brand: "Acme-Net" });
		doesNotMatch(filled, /X-Service|X_SERVICE|"Service"|ringback\.example/i, what);
		match(filled, /X-Acme-Net-|HTTP_X_ACME_NET_|brand: "Acme-Net"/, what);
		// Every sender contains the service's address. The examples for Node all contain it, because they install their
		// library from there.
		equal(filled.includes(PUBLIC_URL), role === "sender" || language === "node", what);
	}
});

test("the click examples have the programme's parameter and days, and a cookie that scripts cannot read", () => {
	for (const { value } of EXAMPLE_LANGUAGES) {
		const text = readExample(value, "click");
		ok(text.split("\n").length <= 45, value);
		ok(
			text.split("\n").every((line) => line.replaceAll("\t", "    ").length <= PAGE_COLUMNS),
			value,
		);
		ok(text.includes("rbclick") && text.includes("2592000"), value);
		match(text, /HttpOnly/i, value);
		match(text, /Secure/i, value);
		match(text, /SameSite[\s\S]{1,30}Lax/i, value);
		doesNotMatch(text, /rb[ks]_/, value);
		const filled = fillIn(text, VALUES);
		ok(filled.includes("via") && filled.includes("604800"), value);
		doesNotMatch(filled, /rbclick|2592000/, value);
		const section = String(partnerLinksSection(value, VALUES));
		match(section, /<code>via<\/code>[\s\S]*for 7 days/);
	}
});

test("a value that contains a replacement pattern is filled in unchanged", () => {
	equal(fillIn("https://ringback.example/", { publicUrl: "$&$1", brand: "Service" }), "$&$1/");
});

test("the languages on the page are the folders of examples/", () => {
	const entries = readdirSync(new URL("../../../../examples", import.meta.url), { withFileTypes: true });
	const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
	deepEqual(folders.sort(), EXAMPLE_LANGUAGES.map(({ value }) => value as string).sort());
});

test("the section shows both directions in the chosen language, and Node for an unknown one", () => {
	const shown = (language: string | undefined) => String(snippetsSection("/integration", language, VALUES));
	const text = shown("csharp").replace(/<\/?span[^>]*>/g, "");
	match(text, /aria-current="true">C#<[\s\S]*static class Sender[\s\S]*static class Receiver/);
	match(shown("curl"), /aria-current="true">Node</);
	equal(shown(undefined), shown("node"));
	for (const { label } of EXAMPLE_LANGUAGES) ok(shown("node").includes(`>${label}</a>`), label);
});

test("the section says how to install the library for Node, with its checksum, and nothing for other languages", () => {
	const shown = (language: string) => String(snippetsSection("/keys", language, VALUES));
	const { file, current } = LIBRARY;
	ok(shown("node").includes(`<code>npm install ${PUBLIC_URL}/downloads/${file}</code>`));
	ok(current !== undefined && shown("node").includes(current.sha256));
	doesNotMatch(shown("php"), /npm install/);
});

test("the pixel has the address of the programme", () => {
	match(pixelSnippet(VALUES), /https:\/\/network\.example:8443\/pixel\/prg_1\.gif/);
});
