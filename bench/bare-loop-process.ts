// Measures the machine's limit, which is the rate that the service's own HTTP client reaches without a
// service.

import { runChild } from "./child-process.ts";
import { CONNECTIONS } from "./connection.ts";
import type { Receiver } from "./receiver-process.ts";

export interface BareAnswer {
	perSecond: number;
	/** Processor time of the sending process per request. */
	cpuMicros: number;
}

export function runBareLoop(receiver: Receiver, requests: number): Promise<BareAnswer> {
	const args = [receiver.url(0), receiver.caFile, String(requests), String(CONNECTIONS)];
	return runChild<BareAnswer>("bare-loop.ts", args);
}
