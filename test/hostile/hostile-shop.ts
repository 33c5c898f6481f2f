// One shop on its own port, which attacks or behaves well as ordered. It records every request, every
// connection and the number of bytes that it sent.

import { createServer, type Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from "node:tls";
import { portOf } from "../support/port-of.ts";
import type { ShopRequest } from "../support/shop.ts";
import type { Attack, Manners } from "./attack.ts";
import type { CertificateSet } from "./certificates.ts";

export interface SeenRequest extends ShopRequest {
	/** Status of the answer, or null if the shop attacked. */
	answered: number | null;
}

export interface ShopReport {
	openConnections: number;
	/** Number of bytes that were passed to the system, whether or not the service read them. */
	sentBytes: number;
	/** Requests since the last report. */
	requests: readonly SeenRequest[];
}

export type HostileShop = Awaited<ReturnType<typeof startHostileShop>>;

export async function startHostileShop(attack: Attack, certificates: CertificateSet, decoyPort: number) {
	const connections = new Set<Socket>();
	let requests: SeenRequest[] = [];
	let closedBytes = 0;
	/** Status to answer with, or null to attack. */
	let status: number | null = 204;

	const good = startTls({}, certificates);
	const bad = startTls(attack.manners ?? {}, certificates);
	const server = createServer((socket) => {
		connections.add(socket);
		// The service may close a connection at any time, so errors are expected here.
		socket.on("error", () => undefined);
		socket.once("close", () => {
			connections.delete(socket);
			closedBytes += socket.bytesWritten;
		});
		if (status !== null) good.emit("connection", socket);
		else if (attack.onConnection !== undefined) attack.onConnection(socket);
		else bad.emit("connection", attack.openWire === undefined ? socket : divert(socket, attack.openWire));
	});
	for (const tlsServer of [good, bad]) tlsServer.on("secureConnection", serve);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const port = portOf(server);

	function serve(socket: TLSSocket): void {
		const { remotePort } = socket;
		socket.on("error", () => undefined);
		const reset = () => {
			for (const raw of connections) if (raw.remotePort === remotePort) raw.resetAndDestroy();
		};
		const means = { decoyPort, port, reset };
		readRequests(socket, (request) => {
			requests.push({ ...request, connectionId: remotePort ?? 0, arrivedAtMs: Date.now(), answered: status });
			if (status !== null) socket.write(`HTTP/1.1 ${status} Own\r\n${status === 204 ? "" : EMPTY}\r\n`);
			else attack.onRequest?.(socket, means);
		});
		if (status === null) attack.onSecure?.(socket, means);
	}

	return {
		port,
		/** Makes the shop answer with this status from now on, or attack if it is null. */
		behave(next: number | null) {
			status = next;
		},
		report() {
			const reported = requests;
			requests = [];
			let sentBytes = closedBytes;
			for (const socket of connections) sentBytes += socket.bytesWritten;
			return { openConnections: connections.size, sentBytes, requests: reported };
		},
		close() {
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			for (const socket of connections) socket.destroy();
			return closed;
		},
	};
}

const EMPTY = "content-length: 0\r\n";

/** Starts a TLS server that never listens itself. It gets its connections one by one. */
function startTls(manners: Manners, certificates: CertificateSet): TlsServer {
	const { certPem, keyPem } = certificates.of(manners.certificate ?? "good");
	const server = createTlsServer({
		cert: certPem,
		key: keyPem,
		...(manners.minVersion === undefined ? {} : { minVersion: manners.minVersion }),
		...(manners.maxVersion === undefined ? {} : { maxVersion: manners.maxVersion }),
		...(manners.ciphers === undefined ? {} : { ciphers: manners.ciphers }),
		...(manners.alpn === undefined ? {} : { ALPNProtocols: [...manners.alpn] }),
		...(manners.wantsClientCertificate ? { requestCert: true, rejectUnauthorized: true } : {}),
	});
	server.on("tlsClientError", () => undefined);
	return server;
}

/** Returns a connection whose output is written by `openWire` to the real connection. */
function divert(socket: Socket, openWire: NonNullable<Attack["openWire"]>): Duplex {
	const [near, far] = duplexPair();
	socket.on("data", (chunk: Buffer) => near.write(chunk));
	near.on("data", openWire(socket));
	socket.once("close", () => near.destroy());
	for (const end of [near, far]) end.on("error", () => undefined);
	return far;
}

interface RawRequest {
	method: string;
	path: string;
	/** Header names and values in turn, in the sender's spelling. */
	rawHeaders: readonly string[];
	body: Buffer;
}

const HEAD_END = "\r\n\r\n";

/** Calls `take` for every complete request on the connection. */
function readRequests(socket: Socket, take: (request: RawRequest) => void): void {
	let unread = Buffer.alloc(0);
	socket.on("data", (chunk: Buffer) => {
		unread = Buffer.concat([unread, chunk]);
		for (let found = cutRequest(unread); found !== undefined; found = cutRequest(unread)) {
			unread = found.rest;
			take(found.request);
		}
	});
}

function cutRequest(bytes: Buffer): { request: RawRequest; rest: Buffer<ArrayBuffer> } | undefined {
	const headEnd = bytes.indexOf(HEAD_END);
	if (headEnd === -1) return undefined;
	const [first = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
	const rawHeaders = lines.flatMap((line) => [
		line.slice(0, line.indexOf(":")),
		line.slice(line.indexOf(":") + 1).trim(),
	]);
	const lengthAt = rawHeaders.findIndex((name) => name.toLowerCase() === "content-length");
	const bodyStart = headEnd + HEAD_END.length;
	const bodyEnd = bodyStart + Number(rawHeaders[lengthAt + 1] ?? 0);
	if (bytes.length < bodyEnd) return undefined;
	const [method = "", path = ""] = first.split(" ");
	const body = Buffer.from(bytes.subarray(bodyStart, bodyEnd));
	return { request: { method, path, rawHeaders, body }, rest: Buffer.from(bytes.subarray(bodyEnd)) };
}
