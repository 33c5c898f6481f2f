// How much memory this process holds on to, and how much it needed in between.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const LOOK_EVERY_MS = 50;

/** What is still reachable, in and outside of the heap, in bytes. */
export function measureHeld(): number {
	setFlagsFromString("--expose-gc");
	const collect: unknown = runInNewContext("gc");
	if (typeof collect !== "function") throw new Error("this Node cannot be told to collect garbage");
	// Twice: the first finds what has a finalizer, the second what that let go of.
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
		/** By how many bytes what is resident had grown at most. */
		stop() {
			look();
			clearInterval(timer);
			return mostBytes - startBytes;
		},
	};
}
