// Measures how much memory this process holds, and how much more it needed at its peak.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const LOOK_EVERY_MS = 50;

/** Returns the number of bytes that are still reachable, inside and outside of the heap. */
export function measureHeld(): number {
	setFlagsFromString("--expose-gc");
	const collect: unknown = runInNewContext("gc");
	if (typeof collect !== "function") throw new Error("this Node cannot be told to collect garbage");
	// Garbage is collected twice. The first collection finds objects with finalizers, and the second one frees
	// the memory that they released.
	collect();
	collect();
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}

export function watchResident() {
	const startBytes = process.memoryUsage.rss();
	let mostBytes = startBytes;
	const look = () => {
		mostBytes = Math.max(mostBytes, process.memoryUsage.rss());
	};
	const timer = setInterval(look, LOOK_EVERY_MS);
	return {
		/** Stops the measurement and returns the maximum growth of the resident memory in bytes. */
		stop() {
			look();
			clearInterval(timer);
			return mostBytes - startBytes;
		},
	};
}
