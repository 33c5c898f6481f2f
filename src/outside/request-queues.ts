// Requests that came on a connection before the one ahead of them was answered. Nothing more is read from it until the
// last of them has its turn: whoever sends without waiting is slowed down to what is answered.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export type ServeRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

interface Queue {
	requests: (readonly [IncomingMessage, ServerResponse])[];
	/** Node reads on by itself for the body of a request ahead. */
	holdBack: () => void;
}

export class RequestQueues {
	readonly #serve: ServeRequest;
	/** Only of connections on which one waits, which is hardly any. */
	readonly #queues = new Map<Socket, Queue>();

	constructor(serve: ServeRequest) {
		this.#serve = serve;
	}

	add(socket: Socket, incoming: IncomingMessage, outgoing: ServerResponse): void {
		const queue = this.#queues.get(socket) ?? this.#open(socket);
		queue.requests.push([incoming, outgoing]);
	}

	/** The one ahead is answered. */
	goOn(socket: Socket): void {
		const queue = this.#queues.get(socket);
		const next = queue?.requests.shift();
		if (queue === undefined || next === undefined) return;
		if (queue.requests.length === 0) {
			this.#queues.delete(socket);
			socket.off("resume", queue.holdBack);
			socket.resume();
		}
		if (!socket.destroyed) this.#serve(...next);
	}

	hasWaiting(socket: Socket): boolean {
		return this.#queues.has(socket);
	}

	forget(socket: Socket): void {
		this.#queues.delete(socket);
	}

	#open(socket: Socket): Queue {
		const holdBack = (): void => {
			socket.pause();
		};
		const queue: Queue = { requests: [], holdBack };
		this.#queues.set(socket, queue);
		socket.on("resume", holdBack);
		socket.pause();
		return queue;
	}
}
