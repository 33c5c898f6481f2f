// Measures the rate that the service's own HTTP client reaches without a service if it opens a connection for each request.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BareAnswer } from "./bare-loop-process.ts";
import { runChild } from "./child-process.ts";

export interface ColdLoop {
	urls: readonly string[];
	caFile: string;
	/** Maximum number of requests in flight. */
	connections: number;
	/** Number of requests before the measurement. */
	warmUp: number;
	requests: number;
	/** True if TLS sessions are resumed. The warm-up must then reach each host once. */
	isResuming: boolean;
}

export function runColdLoop(folder: string, loop: ColdLoop): Promise<BareAnswer> {
	const file = join(mkdtempSync(join(folder, "loop-")), "loop.json");
	writeFileSync(file, JSON.stringify(loop));
	return runChild<BareAnswer>("cold-loop.ts", [file]);
}
