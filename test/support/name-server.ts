// A name server on a loopback port, for names whose address changes while a test looks on.

import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";

export interface NameServer {
	/** For RINGBACK_DNS_SERVERS. */
	readonly address: string;
	/** IPv4 addresses by name; a name that is not here does not exist. */
	readonly records: Map<string, readonly string[]>;
	close(): Promise<void>;
}

const HEADER_BYTES = 12;
/** Behind the question's name: its type and its class, two bytes each. */
const QUESTION_TAIL_BYTES = 4;
const TYPE_A = 1;
const IS_ANSWER = 0x8180;
const NO_SUCH_NAME = 3;

// As much of RFC 1035 as one question needs.
export async function startNameServer(): Promise<NameServer> {
	const records = new Map<string, readonly string[]>();
	const socket = createSocket("udp4");
	socket.on("message", (query: Buffer, from: RemoteInfo) => {
		socket.send(answer(query, records), from.port, from.address);
	});
	socket.bind(0, "127.0.0.1");
	await once(socket, "listening");
	return {
		address: `127.0.0.1:${socket.address().port}`,
		records,
		close: () => new Promise((resolve) => socket.close(() => resolve())),
	};
}

function answer(query: Buffer, records: ReadonlyMap<string, readonly string[]>): Buffer {
	const nameEnd = query.indexOf(0, HEADER_BYTES) + 1;
	const head = Buffer.from(query.subarray(0, nameEnd + QUESTION_TAIL_BYTES));
	const known = records.get(readName(query));
	const addresses = query.readUInt16BE(nameEnd) === TYPE_A ? (known ?? []) : [];
	head.writeUInt16BE(IS_ANSWER | (known === undefined ? NO_SUCH_NAME : 0), 2);
	head.writeUInt16BE(addresses.length, 6);
	// No additional records, also where the query brought one.
	head.writeUInt16BE(0, 10);
	return Buffer.concat([head, ...addresses.map(record)]);
}

function readName(query: Buffer): string {
	const labels: string[] = [];
	for (let at = HEADER_BYTES; query.readUInt8(at) > 0; at += query.readUInt8(at) + 1) {
		labels.push(query.toString("latin1", at + 1, at + 1 + query.readUInt8(at)));
	}
	return labels.join(".").toLowerCase();
}

/** A pointer to the question's name, type A, class IN, a TTL of 300 s, length and address. */
function record(address: string): Buffer {
	return Buffer.from([
		0xc0,
		HEADER_BYTES,
		0,
		TYPE_A,
		0,
		1,
		0,
		0,
		1,
		44,
		0,
		4,
		...address.split(".").map(Number),
	]);
}
