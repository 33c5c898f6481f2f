// Asks a running process whether it is ready, as a load balancer does.

import { get } from "node:http";

/**
 * Requests the URL and resolves to the HTTP status. Rejects if there is no answer in time. The function does not use
 * fetch, because fetch refuses some ports.
 */
export function askHealth(url: string, timeoutMs: number): Promise<number> {
	const { promise, resolve, reject } = Promise.withResolvers<number>();
	// The timeout covers the whole call, because a stalled process accepts the connection and never answers.
	const signal = AbortSignal.timeout(timeoutMs);
	get(url, { agent: false, signal }, (answer) => {
		// Only the status matters. The body is not read, because another program may listen on the port and send any
		// amount.
		answer.destroy();
		resolve(answer.statusCode ?? 0);
	}).on("error", () => reject(new Error(signal.aborted ? "no answer in time" : "nothing answers")));
	return promise;
}
