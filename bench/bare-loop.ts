// The limit: sign and POST over kept connections with the same client, no store. Written as fast as it can
// be: kept key, one-shot hashes, header array, one handler object per connection, no timers of the client.
// Arguments: URL, CA file, requests, connections. Prints {"perSecond":…,"cpuMicros":…}.

import { readFileSync } from "node:fs";
import { Client, type Dispatcher } from "undici";
import { bodySentAt, composeEvent } from "../src/domain/event.ts";
import { canonicalString, sha256Hex, sign, signingKey } from "../src/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import { SAMPLE_SUBJECT } from "./sample.ts";

const [url = "", caFile = "", requests = "", connections = ""] = process.argv.slice(2);
const total = Number(requests);
const ca = readFileSync(caFile, "utf8");
const random = createRandom();
const key = signingKey(`rbs_${random.hex(32)}`);
const event = composeEvent("conversion.approved", SAMPLE_SUBJECT);
const { origin, pathname: TARGET } = new URL(url);

let started = 0;
let finished = 0;
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();

class Lane implements Dispatcher.DispatchHandler {
	readonly #client: Client;

	constructor() {
		this.#client = new Client(origin, {
			connect: { ca },
			allowH2: false,
			pipelining: 1,
			// As the service has it: its deadline is its own.
			headersTimeout: 0,
			bodyTimeout: 0,
		});
	}

	next(): void {
		if (started >= total) return;
		started++;
		const nowMs = Date.now();
		const body = bodySentAt(event, nowMs);
		const timestamp = String(Math.floor(nowMs / 1000));
		const nonce = random.hex(16);
		const signature = sign(key, canonicalString("POST", TARGET, timestamp, nonce, sha256Hex(body)));
		const headers = [
			"Content-Type",
			"application/json",
			"User-Agent",
			"service-postback/1",
			"X-Service-Event",
			"conversion.approved",
			"X-Service-Timestamp",
			timestamp,
			"X-Service-Nonce",
			nonce,
			"X-Service-Signature",
			signature,
		];
		this.#client.dispatch({ path: TARGET, method: "POST", headers, body }, this);
	}

	onRequestStart(): void {
		// Required by undici; nothing to do here and below.
	}
	onResponseStart(): void {
		// The status is always 204.
	}
	onResponseData(): void {
		// A 204 has no body.
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
