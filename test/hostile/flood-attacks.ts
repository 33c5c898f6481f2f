// Shops that send more than anybody wants. What is taken of it is bounded, in memory and in processor time.

import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { type Attack, answers, breaks } from "./attack.ts";
import { flood, openGusts, writeRecords } from "./wire.ts";

/** Fits into what is read of a body, and would be 50 MB if anybody unpacked it. */
const BOMB_BYTES = 50 * 1_024 * 1_024;

const BROKEN = /^(?:BROKEN_ANSWER|ANSWER_TOO_LARGE|HPE_\w+|UND_ERR_\w+) \(exchange\)$/;
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/** More than the 128 KiB that are read of an answer in all. */
const MANY_RECORDS_BYTES = 160 * 1_024;
const TINY_RECORD_BYTES = 8;
/** Long enough for the shop to have thousands of tiny records ready, which then arrive together. */
const GUST_MS = 500;

function flooding(name: string, first: string, piece: string, expected: Attack["expected"]): Attack {
	return { name, onRequest: (socket) => flood(socket, first, piece), expected };
}

export const FLOOD_ATTACKS: readonly Attack[] = [
	flooding("sends one header without end", "HTTP/1.1 200 OK\r\nx: ", "y", breaks(BROKEN)),
	flooding("sends headers without end", "HTTP/1.1 200 OK\r\n", "x: y\r\n", breaks(BROKEN)),
	flooding("sends a reason phrase without end", "HTTP/1.1 200 ", "OK", breaks(BROKEN)),
	flooding("sends empty lines without end", "", "\r\n", breaks(BROKEN)),
	flooding("announces (103) as fast as it can", "", "HTTP/1.1 103 Early Hints\r\n\r\n", breaks(BROKEN)),
	flooding("continues (100) as fast as it can", "", "HTTP/1.1 100 Continue\r\n\r\n", breaks(BROKEN)),
	flooding("speaks noise without end", "", "\u0001noise", breaks(BROKEN)),
	flooding(
		"sends a body of 10 GB",
		"HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n",
		"x",
		answers(200, "delivered"),
	),
	flooding("sends chunks without end", CHUNKED, "4\r\nbody\r\n", answers(200, "delivered")),
	flooding("sends a chunk extension without end", `${CHUNKED}1;`, "x=y;", answers(200, "delivered")),
	flooding("sends trailers without end", `${CHUNKED}0\r\n`, "x: y\r\n", answers(200, "delivered")),
	flooding(
		"sends a body that only closing would end",
		"HTTP/1.1 404 Not Found\r\n\r\n",
		"x",
		answers(404, "refused"),
	),
	flooding(
		"answers a million times",
		"",
		"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
		answers(200, "delivered"),
	),
	crumbling("announces (103) in tiny TLS records", "HTTP/1.1 103 Early Hints\r\nlink: ", "x", breaks(BROKEN)),
	crumbling("sends a header in tiny TLS records", "HTTP/1.1 200 OK\r\nlink: ", "x", breaks(BROKEN)),
	crumbling("sends chunks in tiny TLS records", CHUNKED, "1\r\na\r\n", answers(200, "delivered")),
	bomb("gzip", gzipSync(Buffer.alloc(BOMB_BYTES), { level: 9 })),
	bomb("br", brotliCompressSync(Buffer.alloc(BOMB_BYTES), { params: { [zlib.BROTLI_PARAM_QUALITY]: 4 } })),
];

/** Whoever looks at everything again with each piece is kept busy for seconds. */
function crumbling(name: string, first: string, piece: string, expected: Attack["expected"]): Attack {
	const bytes = Buffer.from(first.padEnd(MANY_RECORDS_BYTES, piece));
	return {
		name,
		openWire: (socket) => openGusts(socket, GUST_MS),
		onRequest: (socket) => writeRecords(socket, bytes, TINY_RECORD_BYTES),
		expected,
	};
}

function bomb(encoding: string, body: Buffer): Attack {
	const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${body.length}\r\n\r\n`;
	return {
		name: `sends a bomb of ${encoding}`,
		onRequest(socket) {
			socket.write(head);
			socket.write(body);
		},
		expected: answers(200, "delivered"),
	};
}
