// `node --import ./test/support/bound-file.ts?ms=… --test …`: a test file that does not end, or that is ended before its
// tests are, fails and says why. Node's own bound is for a test, a suite or a hook: what stays open after them holds up
// the run for ever, and `process.exit(0)` within a test is a success to it. Of files that share a process all are named.

import { isTestGroup, nameTestFiles } from "./test-group.ts";

// Not in what a test file starts: that inherits this, and may end as it likes.
const path = process.argv[1] ?? "";
if (isTestGroup(path) || path.endsWith(".test.ts")) {
	boundFile(Number(new URL(import.meta.url).searchParams.get("ms")));
}

function boundFile(boundMs: number): void {
	const names = nameTestFiles(path);
	let hasEnded = false;
	// Comes when nothing is left to do, and not by process.exit().
	process.once("beforeExit", () => {
		hasEnded = true;
	});
	process.once("exit", (code) => {
		if (hasEnded || code !== 0) return;
		process.exitCode = 1;
		console.error(`${names} was ended before its tests were. ${new Error("Ended here").stack}`);
	});
	setTimeout(() => {
		const kept = [...new Set(process.getActiveResourcesInfo())].join(", ");
		console.error(`${names} has not ended within ${boundMs / 1_000} seconds. Still open: ${kept}.`);
		// With an end of its own: what it started hears of it.
		process.exit(1);
	}, boundMs).unref();
}
