import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "./run-command.ts";

test("an unexpected error ends a command with 1 and one plain line, without a stack, key or secret", async () => {
	const said: string[] = [];
	const environment = {
		RINGBACK_API_KEY: "rbk_key",
		RINGBACK_SIGNING_SECRET: "rbs_secret",
		get RINGBACK_URL(): string {
			throw new TypeError("Bearer rbk_key, rbs_secret \u001b[2J\nof all things");
		},
	};
	const screen = { out: (line: string) => said.push(line), error: (line: string) => said.push(line) };
	equal(await runCommand(["trigger", "conversion.recorded"], { environment, screen, isTerminal: true }), 1);
	equal(said.length, 1);
	match(
		said[0] ?? "",
		/^ringback trigger has failed, as it never should: TypeError: Bearer …, … \\u\{1b\}\[2J\\u\{a\}of/,
	);
	deepEqual([process.listenerCount("SIGINT"), process.listenerCount("SIGTERM")], [0, 0]);
});
