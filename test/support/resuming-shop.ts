// Provides a real TLS server that answers each request with 204 and closes the connection. The server records which
// handshakes resumed a session, and a test can spoil any connection.

import { randomBytes } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type SecureVersion, type TLSSocket } from "node:tls";
import type { Certificates } from "../../demo/certificate.ts";
import { portOf } from "./port-of.ts";

export type Handshake = "full" | "resumed";

export type ResumingShop = Awaited<ReturnType<typeof startResumingShop>>;

const ANSWER = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
const HEAD_END = "\r\n\r\n";
const TICKET_KEY_BYTES = 48;

export async function startResumingShop(certificates: Certificates, version: SecureVersion) {
	const sockets = new Set<Socket>();
	const handshakes: Handshake[] = [];
	let connections = 0;
	let requests = 0;
	const tls = createTlsServer({
		cert: certificates.certPem,
		key: certificates.keyPem,
		minVersion: version,
		maxVersion: version,
	});
	const shop = {
		/** Handshakes that were completed, in their order. */
		handshakes,
		/** If set, runs on the TCP connection instead of the handshake. */
		onConnection: undefined as ((socket: Socket) => void) | undefined,
		/** If set, runs on the TLS connection instead of the answer. */
		onSecure: undefined as ((socket: TLSSocket) => void) | undefined,
		get connections() {
			return connections;
		},
		get requests() {
			return requests;
		},
		url: (host = "127.0.0.1") => `https://${host}:${portOf(server)}/postback`,
		/** Makes all issued sessions invalid. */
		forgetSessions: () => tls.setTicketKeys(randomBytes(TICKET_KEY_BYTES)),
		/** Presents another certificate, and forgets all sessions like a new process. */
		changeCertificate({ certPem, keyPem }: Certificates) {
			tls.setSecureContext({ cert: certPem, key: keyPem, minVersion: version, maxVersion: version });
			shop.forgetSessions();
		},
		async close() {
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			for (const socket of sockets) socket.destroy();
			await closed;
		},
	};
	const server = createServer((socket) => {
		connections += 1;
		sockets.add(socket);
		// The client may close a connection at any time.
		socket.on("error", () => undefined);
		socket.once("close", () => sockets.delete(socket));
		if (shop.onConnection === undefined) tls.emit("connection", socket);
		else shop.onConnection(socket);
	});
	tls.on("tlsClientError", () => undefined);
	tls.on("secureConnection", (socket) => {
		handshakes.push(socket.isSessionReused() ? "resumed" : "full");
		socket.on("error", () => undefined);
		let read = "";
		socket.on("data", (chunk: Buffer) => {
			read += chunk.toString("latin1");
			if (!read.includes(HEAD_END)) return;
			requests += 1;
			read = "";
			if (shop.onSecure === undefined) socket.end(ANSWER);
			else shop.onSecure(socket);
		});
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return shop;
}
