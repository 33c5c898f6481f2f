// How much memory V8 may take beyond what is in use. By itself it rather grows than collects, and an idle process keeps
// for ever what it once had. The space for new objects is bounded where Node is started (--max-semi-space-size, in
// package.json and ringback.js), because later it cannot be. The figures are in docs/performance.md.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What is no longer used is collected when it is as much as what is; V8 alone waits for up to three times that. */
const GARBAGE_PERCENT = 100;

/** To be called when everything is loaded: most of what loading and compiling has filled is garbage by then. */
export function boundHeap(): void {
	setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
	setFlagsFromString("--expose-gc");
	const collect: NodeJS.GCFunction = runInNewContext("gc");
	setFlagsFromString("--no-expose-gc");
	// The only flavour that gives emptied pages back to the system; the regular one keeps them for later.
	collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
