// Every `ringback listen` and `ringback trigger` that a document shows can be typed as it stands: the command itself
// reads it, and whoever has not installed the package gets it by its name.

import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { runCommand } from "@ringback/receiver/command";
import { portOf } from "../support/port-of.ts";

interface ShownCommand {
	document: string;
	/** Behind `ringback`. */
	words: string[];
	/** `npx` alone would fetch a package of that name, whoever owns it. */
	isFound: boolean;
}

const INSTALL = "npm install @ringback/receiver";
const SHOWN = [
	...findCommands("docs/receiver-guide.md", 5),
	...findCommands("docs/api.md", 1),
	...findCommands("receiver/README.md", 2),
];

test("each is complete: the command's own parser takes it, and it gets as far as the service", async (t) => {
	const problem = JSON.stringify({ code: "unknown_api_key", detail: "This API key is not known here." });
	const service = createServer((_, answer) =>
		answer.writeHead(401, { "content-type": "application/problem+json" }).end(problem),
	);
	await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
	t.after(async () => {
		const closed = new Promise<void>((resolve) => service.close(() => resolve()));
		service.closeAllConnections();
		await closed;
	});
	const environment = {
		RINGBACK_URL: `http://127.0.0.1:${portOf(service)}`,
		RINGBACK_API_KEY: "rbk_key",
		RINGBACK_SIGNING_SECRET: "rbs_secret",
	};
	for (const { document, words } of SHOWN) {
		const said: string[] = [];
		const screen = { out: (line: string) => said.push(line), error: (line: string) => said.push(line) };
		const code = await runCommand(words, { environment, screen, isTerminal: false });
		const shown = `${document}: ringback ${words.join(" ")}`;
		deepEqual([shown, code, ...said], [shown, 1, "This API key is not known here. Check RINGBACK_API_KEY."]);
	}
});

test("each names the package it comes from, unless the document has it installed before", () => {
	deepEqual(
		SHOWN.filter(({ isFound }) => !isFound),
		[],
	);
});

/** Of the fenced blocks and of the sentences. */
function findCommands(document: string, least: number): ShownCommand[] {
	const text = readFileSync(new URL(`../../${document}`, import.meta.url), "utf8");
	const installedAt = text.indexOf(INSTALL);
	const commands = [...text.matchAll(/npx (-p @ringback\/receiver )?ringback ([^`\n]+)/g)].map((match) => ({
		document,
		words: (match[2] ?? "").trim().split(" "),
		isFound: match[1] !== undefined || (installedAt !== -1 && installedAt < match.index),
	}));
	ok(commands.length >= least, `${document} shows ${commands.length}`);
	return commands;
}
