// Each process of `npm test` loads this first. Node's bound is for a test, a suite or a hook: the runner waits for ever for
// a file that leaves something open after them, and `process.exit(0)` within a test is a success to it.

const { searchParams } = new URL(import.meta.url);
const boundMs = Number(searchParams.get("ms"));
const [, file = ""] = process.argv;

// Not in what a test file starts: that inherits this, and may end as it likes.
if (/\.test\.ts$|\/test-groups\//.test(file)) {
	let hasEnded = false;
	// Comes when nothing is left to do, and not by process.exit().
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
		// With an end of its own: what it started hears of it.
		process.exit(1);
	}, boundMs).unref();
}

export {};
