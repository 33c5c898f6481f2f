// Tests that every `ringback listen` and `ringback trigger` in a document works as it is written, also
// without the package installed. No document gives npm a bare package name, which a stranger could register.

import { deepEqual, ok } from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { runCommand } from "@ringback/receiver/command";
import receiverPackage from "../../receiver/package.json" with { type: "json" };
import { startHttpServer } from "../support/http-server.ts";

interface ShownCommand {
	document: string;
	/** Arguments of the command after `ringback`. */
	words: string[];
	/** True if the command names the package's address, or if the document installed the package before. */
	isFound: boolean;
}

const ROOT = new URL("../../", import.meta.url);
const ADDRESS = "https://ringback.example/downloads/";
const INSTALL = `npm install ${ADDRESS}`;
const SHOWN = [...findCommands("docs/quick-start.md", 6), ...findCommands("receiver/README.md", 2)];

test("each command in a document is complete, so that its own parser accepts it and it reaches the service", async (t) => {
	const problem = JSON.stringify({ code: "unknown_api_key", detail: "This API key is not known here." });
	const url = await startHttpServer(t, (_, answer) =>
		answer.writeHead(401, { "content-type": "application/problem+json" }).end(problem),
	);
	const environment = {
		RINGBACK_URL: url,
		RINGBACK_API_KEY: "rbk_key",
		RINGBACK_SIGNING_SECRET: "rbs_secret",
	};
	for (const { document, words } of SHOWN) {
		const said: string[] = [];
		const screen = { out: (line: string) => said.push(line), error: (line: string) => said.push(line) };
		const code = await runCommand(words, { environment, screen, isTerminal: false });
		const shown = `${document}: ringback ${words.join(" ")}`;
		deepEqual([shown, code, ...said], [shown, 1, "Check RINGBACK_API_KEY. This API key is not known here."]);
	}
});

test("each command in a document names the package's address, unless the document installed the package before", () => {
	deepEqual(
		SHOWN.filter(({ isFound }) => !isFound),
		[],
	);
});

/** The files that people read: documents, examples, and the sources of pages and commands. */
const READ = globSync(
	[
		"*.md",
		"{docs,examples,receiver}/**/*.md",
		"examples/**/*.mjs",
		"{src,receiver/src}/**/!(*.test).{ts,js}",
	],
	{ cwd: ROOT, exclude: ["docs/rendered/**"] },
).map((path) => ({ path, text: readFileSync(new URL(path, ROOT), "utf8") }));

test("npm and npx are never given a name that a stranger could register", () => {
	ok(READ.length > 100);
	const bare = /(?:(?:npx|-p|--package|npm (?:install|i|exec)(?: -\S+)*) |--package=)@?ringback\b\S*/g;
	const found = READ.flatMap(({ path, text }) =>
		[...text.matchAll(bare)].map(([words]) => `${path}: ${words}`),
	);
	// These documents are exceptions, because they show what not to write.
	deepEqual(
		found.filter((line) => !/^docs\/(?:decisions\/|downloads\.md)/.test(line)),
		[],
	);
});

test("every document names the current version of the package: `npm run docs` has been run", () => {
	const named = READ.filter(({ path }) => path !== "CHANGELOG.md").flatMap(({ path, text }) =>
		[...text.matchAll(/ringback-receiver-\d[\w.-]*?\.tgz/g)].map(([file]) => `${path}: ${file}`),
	);
	ok(named.length >= 7, named.join("\n"));
	const current = `ringback-receiver-${receiverPackage.version}.tgz`;
	deepEqual(
		named.filter((line) => !line.endsWith(`: ${current}`)),
		[],
	);
});

/** Finds the commands in code blocks and in sentences. */
function findCommands(document: string, least: number): ShownCommand[] {
	const text = readFileSync(new URL(document, ROOT), "utf8");
	const installedAt = text.indexOf(INSTALL);
	const commands = [...text.matchAll(/npx (?:--no-install|--yes -p (\S+)) ringback ([^`\n]+)/g)].map(
		(match) => ({
			document,
			words: (match[2] ?? "").trim().split(" "),
			isFound: match[1]?.startsWith(ADDRESS) ?? (installedAt !== -1 && installedAt < match.index),
		}),
	);
	ok(commands.length >= least, `${document} shows ${commands.length}`);
	return commands;
}
