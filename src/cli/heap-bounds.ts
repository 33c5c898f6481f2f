// Limits how much memory V8 takes beyond the memory in use. By default V8 prefers growing to collecting, and
// an idle process never returns the memory it once had. The space for new objects must be limited when Node
// starts (--max-semi-space-size in package.json and ringback.js). The measurements are in
// docs/performance.md.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Amount of garbage at which V8 collects, as a percentage of live memory. V8's own default is up to three
 * times this value.
 */
const GARBAGE_PERCENT = 100;

/**
 * Limits the heap. Call it when all modules are loaded, because most memory that loading and compiling used
 * is garbage by then.
 */
export function boundHeap(): void {
	setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
	setFlagsFromString("--expose-gc");
	const collect: NodeJS.GCFunction = runInNewContext("gc");
	setFlagsFromString("--no-expose-gc");
	// Only the "last-resort" flavour returns empty pages to the system. A regular collection keeps them.
	collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
