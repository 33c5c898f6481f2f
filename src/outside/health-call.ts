// Asks a running process whether it can work, as a load balancer does.

import { get } from "node:http";

/** Resolves to the status of the answer; rejects when there is none in time. Not by fetch: it refuses some ports. */
export function askHealth(url: string, timeoutMs: number): Promise<number> {
	const { promise, resolve, reject } = Promise.withResolvers<number>();
	// The time is for all of it: a process that stands still takes the connection, and says nothing.
	const signal = AbortSignal.timeout(timeoutMs);
	get(url, { agent: false, signal }, (answer) => {
		// What it says besides does not matter, and may come from anybody.
		answer.destroy();
		resolve(answer.statusCode ?? 0);
	}).on("error", () => reject(new Error(signal.aborted ? "no answer in time" : "nothing answers")));
	return promise;
}
