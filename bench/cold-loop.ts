// Program that measures the limit of the machine for hosts to which no connection is open. It signs and POSTs with the
// service's HTTP client, opens a connection for each request, looks up no names and stores nothing. Argument: a file with a
// ColdLoop. Prints {"perSecond":…,"cpuMicros":…}.

import { readFileSync } from "node:fs";
import { connect, createSecureContext } from "node:tls";
import { Client, type Dispatcher } from "undici";
import { composeEvent } from "#core/domain/event.ts";
import { signingKey } from "#core/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import type { ColdLoop } from "./cold-loop-process.ts";
import { SAMPLE_SUBJECT } from "./sample.ts";
import { signRequest } from "./signed-request.ts";

const loop: ColdLoop = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const { urls, connections, warmUp, requests, isResuming } = loop;
const targets = urls.map((url) => new URL(url));
const secureContext = createSecureContext({ ca: readFileSync(loop.caFile) });
const key = signingKey(`rbs_${createRandom().hex(32)}`);
const event = composeEvent(SAMPLE_SUBJECT);
const sessions = new Map<string, Buffer[]>();

let started = 0;
let finished = 0;
let startedAt = 0;
let cpuBefore = process.cpuUsage();

class Attempt implements Dispatcher.DispatchHandler {
	readonly #socket: ReturnType<typeof connect>;
	readonly #client: Client;

	constructor({ origin, hostname, port, pathname }: URL) {
		const stored = sessions.get(hostname) ?? [];
		sessions.set(hostname, stored);
		const session = stored.pop();
		const socket = connect({
			host: "127.0.0.1",
			port: Number(port),
			servername: hostname,
			secureContext,
			...(session === undefined ? {} : { session }),
		});
		this.#socket = socket;
		socket.setNoDelay(true);
		socket.on("error", () => socket.destroy());
		if (isResuming) socket.on("session", (issued) => stored.push(Buffer.from(issued)));
		socket.once("secureConnect", () => {
			// A ticket of TLS 1.3 is used once, as in the service.
			if (session !== undefined && socket.getProtocol() === "TLSv1.2") stored.push(session);
		});
		this.#client = new Client(origin, {
			connect: (_options, callback) => socket.once("secureConnect", () => callback(null, socket)),
			allowH2: false,
			pipelining: 1,
			headersTimeout: 0,
			bodyTimeout: 0,
		});
		this.#client.dispatch(signRequest(key, pathname, event), this);
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
		this.#socket.destroy();
		finished++;
		if (finished === warmUp) begin();
		if (finished === warmUp + requests) finish();
		else startNext();
	}
	onResponseError(_controller: unknown, error: Error): void {
		throw error;
	}
}

function startNext(): void {
	if (started >= warmUp + requests) return;
	const target = targets[started % targets.length];
	started++;
	if (target !== undefined) new Attempt(target);
}

function begin(): void {
	startedAt = performance.now();
	cpuBefore = process.cpuUsage();
}

function finish(): void {
	const seconds = (performance.now() - startedAt) / 1_000;
	const { user, system } = process.cpuUsage(cpuBefore);
	const answer = { perSecond: requests / seconds, cpuMicros: (user + system) / requests };
	process.stdout.write(`${JSON.stringify(answer)}\n`);
	process.exit();
}

if (warmUp === 0) begin();
for (let i = 0; i < connections; i++) startNext();
