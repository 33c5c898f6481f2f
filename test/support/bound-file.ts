// Makes a test process fail that does not end by itself. Every process of `npm test` loads this file first. Node's own
// timeout covers tests, suites and hooks. But the test runner would wait forever for a file that leaves something open
// after its tests, and would count `process.exit(0)` within a test as a success. This file also shows where an
// uncaught error comes from, because the runner only shows its message.

import "./untracked-promises.ts";

const { searchParams } = new URL(import.meta.url);
const boundMs = Number(searchParams.get("ms"));
const [, file = ""] = process.argv;

// Processes that a test file starts also import this file, but they may end in any way.
if (/\.test\.ts$|\/test-groups\//.test(file)) {
	process.on("uncaughtExceptionMonitor", (error) => console.error(error));
	process.on("unhandledRejection", (error) => {
		console.error(error);
		process.exitCode = 1;
	});
	let hasEnded = false;
	// Node emits this event when nothing is left to do, but not after process.exit().
	process.once("beforeExit", () => {
		hasEnded = true;
	});
	process.once("exit", (code) => {
		if (hasEnded || code !== 0) return;
		process.exitCode = 1;
		console.error(`${file} was ended before its tests were. ${new Error("Ended here").stack}`);
	});
	setTimeout(() => {
		const open = [...new Set(process.getActiveResourcesInfo())].join(", ");
		console.error(`${file} has not ended within ${boundMs / 1_000} seconds. Still open: ${open}.`);
		// process.exit() runs the exit handlers, so child processes are stopped too.
		process.exit(1);
	}, boundMs).unref();
}
