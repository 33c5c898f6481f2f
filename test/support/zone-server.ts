// Provides a real name server on a loopback port, over UDP and TCP. The caller decides each answer, so that a name may
// resolve differently each time.

import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { type Question, type Reply, readQuestion, writeReply } from "./dns-message.ts";

/** A name server whose IPv4 addresses a test can change. */
export interface NameServer {
	/** Value for RINGBACK_DNS_SERVERS. */
	readonly address: string;
	/** IPv4 addresses by name. A name that is not in the map does not exist. */
	readonly records: Map<string, readonly string[]>;
	close(): Promise<void>;
}

export type AnswerQuestion = (question: Question) => Reply;

const HOST = "127.0.0.1";
/**
 * Maximum number of tries to find a port. A free UDP port is usually free for TCP, too, so ten tries are
 * enough.
 */
const MAX_BINDS = 10;
/**
 * Size of the receive buffer. Hundreds of questions arrive at once, and a resolver repeats a dropped one only
 * after a second.
 */
const RECEIVE_BUFFER_BYTES = 1_048_576;
const LENGTH_BYTES = 2;

export async function startZoneServer(answer: AnswerQuestion) {
	const sockets = new Set<Socket>();
	const timers = new Set<NodeJS.Timeout>();
	let asked = 0;

	function take(query: Buffer, isUdp: boolean, send: (message: Buffer) => void): void {
		asked += 1;
		const reply = answer(readQuestion(query));
		if (reply.isSilent === true) return;
		const message = writeReply(query, reply, isUdp);
		if (reply.delayMs === undefined) {
			send(message);
			return;
		}
		const timer = setTimeout(() => {
			timers.delete(timer);
			send(message);
		}, reply.delayMs);
		timers.add(timer);
	}

	const tcp = createServer((socket) => {
		sockets.add(socket);
		socket.on("close", () => sockets.delete(socket));
		// The resolver closes the connection when it has its answer, which may cause an error here.
		socket.on("error", () => undefined);
		let read = Buffer.alloc(0);
		socket.on("data", (chunk: Buffer) => {
			read = Buffer.concat([read, chunk]);
			while (read.length >= LENGTH_BYTES && read.length >= LENGTH_BYTES + read.readUInt16BE(0)) {
				const end = LENGTH_BYTES + read.readUInt16BE(0);
				take(read.subarray(LENGTH_BYTES, end), false, (message) => {
					const length = Buffer.alloc(LENGTH_BYTES);
					length.writeUInt16BE(message.length);
					socket.write(Buffer.concat([length, message]));
				});
				read = read.subarray(end);
			}
		});
	});
	const udp = createSocket({ type: "udp4", recvBufferSize: RECEIVE_BUFFER_BYTES });
	udp.on("message", (query, from) => {
		take(query, true, (message) => udp.send(message, from.port, from.address));
	});
	const port = await bindBoth(tcp, udp);
	return {
		/** Value for RINGBACK_DNS_SERVERS. */
		address: `${HOST}:${port}`,
		/** Number of questions received so far. */
		get asked() {
			return asked;
		},
		async close() {
			for (const timer of timers) clearTimeout(timer);
			for (const socket of sockets) socket.destroy();
			await Promise.all([
				new Promise<void>((resolve) => tcp.close(() => resolve())),
				new Promise<void>((resolve) => udp.close(() => resolve())),
			]);
		},
	};
}

export async function startNameServer(): Promise<NameServer> {
	const records = new Map<string, readonly string[]>();
	const { address, close } = await startZoneServer(({ name, type }) => {
		const addresses = records.get(name);
		if (addresses === undefined) return { failure: "NXDOMAIN" };
		return { answers: type === "A" ? addresses.map((data) => ({ type, data })) : [] };
	});
	return { address, records, close };
}

async function bindBoth(tcp: Server, udp: UdpSocket): Promise<number> {
	for (let left = MAX_BINDS; ; left--) {
		tcp.listen(0, HOST);
		await once(tcp, "listening");
		const bound = tcp.address();
		if (bound === null || typeof bound === "string") throw new Error("the name server has no port");
		try {
			udp.bind(bound.port, HOST);
			await once(udp, "listening");
			return bound.port;
		} catch (error) {
			tcp.close();
			await once(tcp, "close");
			if (left <= 1) throw error;
		}
	}
}
