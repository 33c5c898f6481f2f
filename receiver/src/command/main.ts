#!/usr/bin/env node
// The `ringback` command of the package that a shop installs.

import { runCommand } from "./run-command.ts";

// The reader of the output may close the pipe early, as in `ringback listen | head -3`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
	if (error.code !== "EPIPE") throw error;
	process.exit(0);
});

process.exitCode = await runCommand(process.argv.slice(2), {
	environment: process.env,
	screen: {
		out: (line) => process.stdout.write(`${line}\n`),
		error: (line) => process.stderr.write(`${line}\n`),
	},
	isTerminal: process.stdout.isTTY === true,
});
