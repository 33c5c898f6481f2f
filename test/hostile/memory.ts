// Measures how much memory this process keeps, and how much it needed in between.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const LOOK_EVERY_MS = 50;

/** Bytes that are still reachable, inside and outside of the heap. */
export function measureHeld(): number {
	setFlagsFromString("--expose-gc");
	const collect: unknown = runInNewContext("gc");
	if (typeof collect !== "function") throw new Error("this Node cannot be told to collect garbage");
	// Twice, because the first collection finds objects with finalizers and the second one what they released.
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
		/** Maximum growth of the resident memory in bytes. */
		stop() {
			look();
			clearInterval(timer);
			return mostBytes - startBytes;
		},
	};
}
