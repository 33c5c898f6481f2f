// The process of a Vendure shop, its GraphQL APIs, and a TLS proxy before it, because callbacks go to HTTPS only. The
// proxy stays while the shop is killed and started again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request as forward } from "node:http";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import { makeCertificates } from "../../demo/certificate.ts";
import { portOf } from "../support/port-of.ts";
import { programEnvironment, type Settings } from "../support/run-program.ts";
import { endProcess, type Running, watchProcess } from "../support/watched-process.ts";

export interface ShopStatus {
	openCalls: number;
	doneCalls: number;
	settledCalls: number;
	refusedCalls: string[];
	openCallbacks: number;
	doneCallbacks: number;
}

export interface ReconciliationResult {
	compared: number;
	corrected: number;
	reportedAgain: number;
	unknownHere: string[];
}

export interface TlsProxy {
	caPem: string;
	/** Host and port under which the shop is reached. */
	host: string;
	close(): Promise<void>;
}

/** Starts a proxy that passes every request on unchanged. It closes the connection while the shop is down. */
export async function startTlsProxy(shopPort: number): Promise<TlsProxy> {
	const certificates = await makeCertificates({ names: ["localhost", "127.0.0.1"] });
	const server: Server = createServer({ cert: certificates.certPem, key: certificates.keyPem });
	server.on("request", (incoming, outgoing) => {
		const { method, url: path, headers } = incoming;
		const onward = forward({ host: "127.0.0.1", port: shopPort, method, path, headers }, (answer) => {
			outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
			answer.pipe(outgoing);
		});
		onward.on("error", () => outgoing.destroy());
		incoming.pipe(onward);
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return {
		caPem: certificates.caPem,
		host: `localhost:${portOf(server)}`,
		async close() {
			const closed = once(server, "close");
			server.close();
			server.closeAllConnections();
			await closed;
		},
	};
}

const LISTENS = /^The shop listens on/m;

/** The shop's process, which can be killed and started again. */
export class ShopProcess {
	readonly #folder: string;
	#settings: Settings;
	#child: ChildProcess | undefined;
	#running: Running | undefined;
	#earlierLog = "";
	#commands = 0;

	constructor(folder: string, settings: Settings) {
		this.#folder = folder;
		this.#settings = settings;
	}

	async populate(): Promise<void> {
		const { code, stdout, stderr } = await this.#spawn(["populate"]).ended();
		if (code !== 0) throw new Error(`the shop could not be populated:\n${stdout}${stderr}`);
	}

	/** Starts the shop. The settings are added to the earlier ones, and stay for later starts. */
	async start(settings: Settings = {}): Promise<void> {
		this.#settings = { ...this.#settings, ...settings };
		await this.#spawn([]).said(LISTENS);
	}

	async kill(): Promise<void> {
		if (this.#child !== undefined) await endProcess(this.#child);
	}

	status(): Promise<ShopStatus> {
		return this.#ask("status") as Promise<ShopStatus>;
	}

	/** All output of all processes of the shop. */
	get log(): string {
		return `${this.#earlierLog}${this.#running?.stdout ?? ""}${this.#running?.stderr ?? ""}`;
	}

	/** Sends a command on the standard input. Each has a number, so that its answer is found among earlier ones. */
	async #ask(command: string): Promise<unknown> {
		const running = this.#running;
		if (running === undefined || this.#child?.stdin == null) throw new Error("the shop was not started");
		const numbered = `${command} ${++this.#commands}`;
		this.#child.stdin.write(`${numbered}\n`);
		const [, json = ""] = await running.said(new RegExp(`^${numbered}: (.*)$`, "m"));
		return JSON.parse(json);
	}

	#spawn(args: readonly string[]): Running {
		this.#earlierLog = this.log;
		const program = join(this.#folder, "shop.js");
		const child = spawn(process.execPath, [program, ...args], {
			cwd: this.#folder,
			env: programEnvironment(process.env, this.#settings),
		});
		// The standard input of a process that was killed cannot be written.
		child.stdin.on("error", () => undefined);
		this.#child = child;
		this.#running = watchProcess(child);
		return this.#running;
	}
}

/** A session with one of the shop's GraphQL APIs. */
export class GraphQlSession {
	readonly #url: string;
	readonly #cookie: string;
	#token = "";

	constructor(url: string, cookie = "") {
		this.#url = url;
		this.#cookie = cookie;
	}

	/** Sends a query. Throws if the answer has errors, or if a result is an error of Vendure. */
	async ask<Answer>(query: string, variables: object = {}): Promise<Answer> {
		const response = await fetch(this.#url, {
			method: "POST",
			headers: {
				"content-type": "application/json",
				connection: "close",
				...(this.#token === "" ? {} : { authorization: `Bearer ${this.#token}` }),
				...(this.#cookie === "" ? {} : { cookie: this.#cookie }),
			},
			body: JSON.stringify({ query, variables }),
		});
		this.#token = response.headers.get("vendure-auth-token") ?? this.#token;
		const { data, errors } = (await response.json()) as { data: Answer; errors?: unknown };
		if (errors !== undefined) throw new Error(`${JSON.stringify(errors)} in answer to ${query}`);
		const failed = Object.values(data as Record<string, { errorCode?: string } | null>).find(
			(result) => result?.errorCode !== undefined,
		);
		if (failed !== undefined) throw new Error(`${JSON.stringify(failed)} in answer to ${query}`);
		return data;
	}
}
