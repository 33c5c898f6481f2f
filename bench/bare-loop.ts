// Program that measures the limit of the machine. It signs and POSTs over reused connections with the
// service's HTTP client as fast as possible, and stores nothing. Arguments: URL, CA file, requests,
// connections. Prints {"perSecond":…,"cpuMicros":…}.

import { readFileSync } from "node:fs";
import type { Client, Dispatcher } from "undici";
import { composeEvent } from "#core/domain/event.ts";
import { signingKey } from "#core/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import { openConnection } from "./connection.ts";
import { SAMPLE_SUBJECT } from "./sample.ts";
import { signRequest } from "./signed-request.ts";

const [url = "", caFile = "", requests = "", connections = ""] = process.argv.slice(2);
const total = Number(requests);
const ca = readFileSync(caFile, "utf8");
const key = signingKey(`rbs_${createRandom().hex(32)}`);
const event = composeEvent(SAMPLE_SUBJECT);
const { origin, pathname: TARGET } = new URL(url);

let started = 0;
let finished = 0;
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();

class Lane implements Dispatcher.DispatchHandler {
	readonly #client: Client = openConnection(origin, ca);

	next(): void {
		if (started >= total) return;
		started++;
		this.#client.dispatch(signRequest(key, TARGET, event), this);
	}

	onRequestStart(): void {
		// undici requires these methods, but the benchmark does not need them.
	}
	onResponseStart(): void {
		// The status is not checked, because the receiver always answers 204.
	}
	onResponseData(): void {
		// An answer with the status 204 has no body.
	}
	onResponseEnd(): void {
		finished++;
		if (finished === total) finish();
		else this.next();
	}
	onResponseError(_controller: unknown, error: Error): void {
		throw error;
	}
}

function finish(): void {
	const seconds = (performance.now() - startedAt) / 1000;
	const { user, system } = process.cpuUsage(cpuBefore);
	const cpuMicros = (user + system) / total;
	process.stdout.write(`${JSON.stringify({ perSecond: total / seconds, cpuMicros })}\n`);
	process.exit();
}

for (let i = 0; i < Number(connections); i++) new Lane().next();
