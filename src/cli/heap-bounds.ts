// Limits how much memory V8 takes beyond what is in use. By default V8 prefers growing to collecting, and an
// idle process keeps forever what it once had. The space for new objects must be limited when Node starts
// (--max-semi-space-size in package.json and ringback.js). The figures are in docs/performance.md.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Amount of garbage, relative to live memory, at which V8 collects. Its own default is up to three times as
 * much.
 */
const GARBAGE_PERCENT = 100;

/**
 * Limits the heap. Call it when everything is loaded, because most of what loading and compiling allocated is
 * garbage by then.
 */
export function boundHeap(): void {
	setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
	setFlagsFromString("--expose-gc");
	const collect: NodeJS.GCFunction = runInNewContext("gc");
	setFlagsFromString("--no-expose-gc");
	// Only this flavour returns empty pages to the system. The regular one keeps them for later.
	collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
