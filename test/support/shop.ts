// Provides a real HTTPS shop on a loopback port. The shop records the requests that arrive and answers as the test
// says.

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import { type Certificates, makeCertificates } from "../../demo/certificate.ts";
import { portOf } from "./port-of.ts";

export interface ShopRequest {
	method: string;
	/** Path and query exactly as received. */
	path: string;
	/** Header names and values in turn, in the sender's spelling. */
	rawHeaders: readonly string[];
	body: Buffer;
	/** Number of the connection, counted from 1 in the order of completed handshakes. */
	connectionId: number;
	arrivedAtMs: number;
}

export type ShopAnswer =
	| { status: number; headers?: Record<string, string>; body?: string; delayMs?: number }
	/** Accepts the request and never answers. */
	| "hang"
	/** Lets the test write any bytes to the connection. */
	| { raw: (socket: Socket) => void };

export type AnswerRequest = (request: ShopRequest) => ShopAnswer;

export interface ShopOptions {
	/** Names in the certificate. The default is 127.0.0.1, ::1 and localhost. */
	names?: readonly string[];
	answer?: AnswerRequest;
	host?: string;
	/** Certificates of the shop. By default new ones are made. */
	certificates?: Certificates;
}

export interface Shop {
	readonly caPem: string;
	readonly port: number;
	readonly requests: readonly ShopRequest[];
	/** Number of TCP connections accepted so far, including those without a request. */
	readonly connectionCount: number;
	/** Function that returns the shop's answer. A change takes effect with the next request. */
	answer: AnswerRequest;
	url(path?: string, host?: string): string;
	/** Closes all connections, as a restart does. */
	dropConnections(): void;
	close(): Promise<void>;
}

const DEFAULT_NAMES = ["127.0.0.1", "::1", "localhost"];

let shared: Promise<Certificates> | undefined;

/** Returns the certificates of all shops of this process that do not ask for their own. */
function sharedCertificates(): Promise<Certificates> {
	shared ??= makeCertificates({ names: DEFAULT_NAMES });
	return shared;
}

export async function startShop(options: ShopOptions = {}): Promise<Shop> {
	const host = options.host ?? "127.0.0.1";
	const certificates =
		options.certificates ??
		(options.names === undefined
			? await sharedCertificates()
			: await makeCertificates({ names: options.names }));
	const requests: ShopRequest[] = [];
	const sockets = new Set<Socket>();
	const connectionIds = new Map<Socket, number>();
	let connectionCount = 0;

	const server = createServer({ cert: certificates.certPem, key: certificates.keyPem }, take);
	server.on("connection", (socket) => {
		connectionCount += 1;
		sockets.add(socket);
		socket.on("close", () => sockets.delete(socket));
	});
	server.on("secureConnection", (socket) => {
		connectionIds.set(socket, connectionIds.size + 1);
		// Errors are expected here, because clients of these tests disconnect in the middle.
		socket.on("error", () => undefined);
	});
	await new Promise<void>((resolve) => server.listen(0, host, resolve));
	const port = portOf(server);

	async function take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
		const arrivedAtMs = Date.now();
		const chunks = await incoming.toArray().catch(() => undefined);
		if (chunks === undefined) return;
		const request: ShopRequest = {
			method: incoming.method ?? "",
			path: incoming.url ?? "",
			rawHeaders: incoming.rawHeaders,
			body: Buffer.concat(chunks),
			connectionId: connectionIds.get(incoming.socket) ?? 0,
			arrivedAtMs,
		};
		requests.push(request);
		send(shop.answer(request), response);
	}

	const shop: Shop = {
		caPem: certificates.caPem,
		port,
		requests,
		get connectionCount() {
			return connectionCount;
		},
		answer: options.answer ?? (() => ({ status: 204 })),
		url: (path = "/postback", name = host) =>
			`https://${name.includes(":") ? `[${name}]` : name}:${port}${path}`,
		dropConnections() {
			for (const socket of sockets) socket.destroy();
		},
		close() {
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			shop.dropConnections();
			return closed;
		},
	};
	return shop;
}

function send(answer: ShopAnswer, response: ServerResponse): void {
	if (answer === "hang") return;
	if ("raw" in answer) {
		if (response.socket !== null) answer.raw(response.socket);
		return;
	}
	const write = () => response.writeHead(answer.status, answer.headers).end(answer.body);
	if (answer.delayMs === undefined) write();
	else setTimeout(write, answer.delayMs);
}
