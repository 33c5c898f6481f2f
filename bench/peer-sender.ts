// Posts the signed callbacks of a peer, which is another job queue that the service is compared with. It uses
// the same HTTP client and the same number of connections as bare-loop.ts, the program that measures the
// limit of the machine.

import { readFileSync } from "node:fs";
import type { Client, Dispatcher } from "undici";
import { CONNECTIONS, openConnection } from "./connection.ts";
import type { SignedRequest } from "./signed-request.ts";

interface Waiting {
	request: SignedRequest;
	resolve(): void;
	reject(error: Error): void;
}

const NO_CONTENT = 204;

export class PeerSender {
	readonly #idle: Connection[];
	#waiting: Waiting[] = [];
	#next = 0;

	constructor(origin: string, caFile: string) {
		const ca = readFileSync(caFile, "utf8");
		const free = (connection: Connection): void => this.#take(connection);
		this.#idle = Array.from({ length: CONNECTIONS }, () => new Connection(openConnection(origin, ca), free));
	}

	/** Sends the request. Resolves when the shop has accepted it, and rejects for any other answer. */
	post(request: SignedRequest): Promise<void> {
		return new Promise((resolve, reject) => {
			const connection = this.#idle.pop();
			const posted = { request, resolve, reject };
			if (connection === undefined) this.#waiting.push(posted);
			else connection.carry(posted);
		});
	}

	async close(): Promise<void> {
		await Promise.all(this.#idle.map((connection) => connection.close()));
	}

	/** Sends the first waiting request on a connection that has become free. */
	#take(connection: Connection): void {
		const posted = this.#waiting[this.#next];
		if (posted === undefined) {
			this.#waiting = [];
			this.#next = 0;
			this.#idle.push(connection);
			return;
		}
		this.#next++;
		connection.carry(posted);
	}
}

class Connection implements Dispatcher.DispatchHandler {
	readonly #client: Client;
	readonly #free: (connection: Connection) => void;
	#posted: Waiting | null = null;
	#status = 0;

	constructor(client: Client, free: (connection: Connection) => void) {
		this.#client = client;
		this.#free = free;
	}

	carry(posted: Waiting): void {
		this.#posted = posted;
		this.#client.dispatch(posted.request, this);
	}

	close(): Promise<void> {
		return this.#client.close();
	}

	onRequestStart(): void {
		// The interface of undici requires this method, but the benchmark does not need it.
	}
	onResponseStart(_controller: unknown, status: number): void {
		this.#status = status;
	}
	onResponseData(): void {
		// An answer with the status 204 has no body.
	}
	onResponseEnd(): void {
		const posted = this.#posted;
		if (this.#status === NO_CONTENT) posted?.resolve();
		else posted?.reject(new Error(`the receiver answered ${this.#status}`));
		this.#free(this);
	}
	onResponseError(_controller: unknown, error: Error): void {
		this.#posted?.reject(error);
	}
}
