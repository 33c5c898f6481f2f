// Every attack there is, a table for each kind.

import type { Socket } from "node:net";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { type Attack, answers, breaks, type Means, timesOut } from "./attack.ts";
import { HANDSHAKE_ATTACKS } from "./handshake-attacks.ts";
import { drip, flood, later, openDrip, openGusts, writeRecords } from "./wire.ts";

function leading(status: number, what: string, location: (means: Means) => string): Attack {
	return {
		name: `redirects (${status}) ${what}`,
		onRequest: (socket, means) =>
			socket.write(`HTTP/1.1 ${status} Go\r\nlocation: ${location(means)}\r\ncontent-length: 0\r\n\r\n`),
		expected: answers(status, "redirect"),
	};
}

function wishing(status: number, header: string, expected: Attack["expected"]): Attack {
	return {
		name: `answers ${status} with "${header}"`,
		onRequest: (socket) => socket.write(`HTTP/1.1 ${status} Wait\r\n${header}\r\ncontent-length: 0\r\n\r\n`),
		expected,
	};
}

const inwards = ({ decoyPort }: Means) => `https://127.0.0.1:${decoyPort}/inside`;
const unencrypted = ({ decoyPort }: Means) => `http://127.0.0.1:${decoyPort}/inside`;
const machineData = () => "http://169.254.169.254/latest/meta-data/";
const itself = ({ port }: Means) => `https://127.0.0.1:${port}/postback?shop=1`;

/** Shops that lead elsewhere, or ask to be called later: neither is followed. */
const STATUS_ATTACKS: readonly Attack[] = [
	leading(301, "inwards", inwards),
	leading(302, "inwards without TLS", unencrypted),
	leading(303, "to the machine's own data", machineData),
	leading(307, "inwards", inwards),
	leading(307, "to itself", itself),
	leading(308, "inwards without TLS", unencrypted),
	{
		name: "answers 201 with a location inwards",
		onRequest: (socket, means) =>
			socket.write(`HTTP/1.1 201 Made\r\nlocation: ${inwards(means)}\r\ncontent-length: 0\r\n\r\n`),
		expected: answers(201, "delivered"),
	},
	{
		name: "answers 200 with a refresh inwards",
		onRequest: (socket, means) =>
			socket.write(`HTTP/1.1 200 OK\r\nrefresh: 0; url=${inwards(means)}\r\ncontent-length: 0\r\n\r\n`),
		expected: answers(200, "delivered"),
	},
	wishing(408, "retry-after: 0", answers(408, "retry")),
	wishing(429, "retry-after: 86400", answers(429, "retry")),
	wishing(503, "retry-after: 1", answers(503, "retry")),
	wishing(401, 'www-authenticate: Basic realm="x"', answers(401, "refused")),
	wishing(407, "proxy-authenticate: Negotiate", answers(407, "refused")),
];

/** The one word for an answer that HTTP does not allow. */
const BROKEN = /^(?:BROKEN_ANSWER|HPE_\w+|UND_ERR_\w+) \(exchange\)$/;

function saying(name: string, bytes: string, expected: Attack["expected"]): Attack {
	return { name, onRequest: (socket) => socket.write(bytes, "latin1"), expected };
}

/** Says it and closes: some answers have no other end. */
function closing(name: string, bytes: string, expected: Attack["expected"]): Attack {
	return { name, onRequest: (socket) => socket.end(bytes, "latin1"), expected };
}

/**
 * Shops whose answers are broken, ambiguous or cut off. What counts is the status line and the headers: once they were
 * read whole, nothing behind them changes the verdict.
 */
const ANSWER_ATTACKS: readonly Attack[] = [
	closing("closes after the request", "", breaks(/^CLOSED_WITHOUT_ANSWER \(exchange\)$/)),
	{
		name: "resets after the request",
		onRequest: (_, { reset }) => reset(),
		expected: breaks(/^(?:CLOSED_WITHOUT_ANSWER|ECONNRESET) \(exchange\)$/),
	},
	{
		name: "answers before it has read a byte",
		onSecure: (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
		expected: answers(200, "delivered"),
	},
	{
		name: "answers 200 and resets",
		onRequest(socket, { reset }) {
			socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut");
			later(socket, 300, reset);
		},
		expected: answers(200, "delivered"),
	},
	closing("closes within its headers", "HTTP/1.1 200 OK\r\nx-cut: ", breaks(BROKEN)),
	closing(
		"closes before the body it promised",
		"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\ncut",
		answers(200, "delivered"),
	),
	saying(
		"sends more body than it promised",
		`HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n${"x".repeat(3_000)}`,
		answers(200, "delivered"),
	),
	saying("promises a body of -1", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", breaks(BROKEN)),
	saying(
		"promises a body of 2^64 and more",
		"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
		breaks(BROKEN),
	),
	saying(
		"promises two lengths",
		"HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 44\r\n\r\n",
		breaks(BROKEN),
	),
	saying(
		"promises a length and chunks",
		"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
		breaks(BROKEN),
	),
	saying(
		"sends a chunk of 2^63 bytes",
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8000000000000000\r\nabc",
		answers(200, "delivered"),
	),
	saying(
		"sends a chunk of 2^68 bytes",
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n100000000000000000\r\nabc",
		answers(200, "delivered"),
	),
	saying(
		"sends a chunk of nonsense",
		"HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
		answers(503, "retry"),
	),
	saying("has a NUL in a header", "HTTP/1.1 200 OK\r\nx: a\u0000b\r\n\r\n", breaks(BROKEN)),
	saying("has a header without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", breaks(BROKEN)),
	saying("has a header with a space in its name", "HTTP/1.1 200 OK\r\na b: c\r\n\r\n", breaks(BROKEN)),
	saying("answers 99", "HTTP/1.1 99 Less\r\n\r\n", breaks(BROKEN)),
	saying("answers 000", "HTTP/1.1 000 Nought\r\ncontent-length: 0\r\n\r\n", breaks(BROKEN)),
	saying("answers 1000", "HTTP/1.1 1000 More\r\ncontent-length: 0\r\n\r\n", breaks(BROKEN)),
	saying("answers 999", "HTTP/1.1 999 No\r\ncontent-length: 0\r\n\r\n", answers(999, "retry")),
	saying("answers in HTTP/9.9", "HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n", breaks(BROKEN)),
	saying("answers in lower case", "http/1.1 200 ok\r\ncontent-length: 0\r\n\r\n", breaks(BROKEN)),
	closing("answers in HTTP/0.9", "<html>welcome</html>", breaks(BROKEN)),
	// RFC 9113 section 6.5: an empty SETTINGS frame, with which a server of HTTP/2 begins.
	saying("answers in HTTP/2", "\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000", breaks(BROKEN)),
	saying("speaks SSH", "SSH-2.0-OpenSSH_9.6\r\n", breaks(BROKEN)),
	saying("says 204 and sends a body", `HTTP/1.1 204 No Content\r\n\r\nbody`, answers(204, "delivered")),
	saying(
		"says 204 with the length of a body",
		"HTTP/1.1 204 No Content\r\ncontent-length: 20\r\n\r\n",
		answers(204, "delivered"),
	),
	saying(
		"switches protocols",
		"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
		breaks(BROKEN),
	),
	saying(
		"says 100 Continue, which nobody asked for",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		answers(204, "delivered"),
	),
	saying(
		"hides its refusal in a 100 with bare line feeds",
		"HTTP/1.1 100 Continue\n\nHTTP/1.1 404 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		breaks(BROKEN),
	),
	{
		name: "says 100 Continue in pieces, and refuses",
		onRequest(socket) {
			socket.write("HTTP/1.");
			later(socket, 50, () => socket.write("1 100 Continue\r\nx: y\r"));
			later(socket, 100, () => socket.write("\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTT"));
			later(socket, 150, () => socket.write("P/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"));
		},
		expected: answers(410, "refused"),
	},
];

/** Shops that take their time: silence, drips, and ends that never come. */
const SLOW_ATTACKS: readonly Attack[] = [
	{ name: "answers nothing", onRequest: () => undefined, expected: timesOut() },
	{
		name: "answers nothing on a kept connection",
		isOnKept: true,
		onRequest: () => undefined,
		expected: timesOut(),
	},
	{
		name: "takes the connection and never shakes hands",
		onConnection: (socket) => socket.resume(),
		expected: timesOut(),
	},
	{
		name: "drips its handshake",
		openWire: (socket) => openDrip(socket, 1, 20),
		expected: timesOut(),
	},
	{
		name: "drips handshake and answer, and gets done with them",
		openWire: (socket) => openDrip(socket, 32, 5),
		onRequest: (socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
		expected: answers(204, "delivered"),
	},
	{
		name: "drips its headers a byte a second",
		onRequest: (socket) => openDrip(socket, 1, 1_000)(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n")),
		expected: timesOut(),
	},
	{
		name: "drips one header without end",
		onRequest: (socket) => drip(socket, "HTTP/1.1 204 No Content\r\nx: ", "y", 10),
		expected: timesOut(),
	},
	{
		name: "sends a status line and no more",
		onRequest: (socket) => socket.write("HTTP/1.1 204 No Content\r\n"),
		expected: timesOut(),
	},
	{
		name: "answers after the deadline",
		onRequest: (socket) => later(socket, 5_500, () => socket.write("HTTP/1.1 204 No Content\r\n\r\n")),
		expected: timesOut(),
	},
	{
		name: "announces (103) for ever, ten times a second",
		onRequest: (socket) => drip(socket, "", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", 100),
		expected: timesOut(),
	},
	{
		name: "announces (102) every second, and answers in the third",
		onRequest(socket) {
			drip(socket, "", "HTTP/1.1 102 Processing\r\n\r\n", 1_000);
			later(socket, 2_500, () => socket.end("HTTP/1.1 204 No Content\r\n\r\n"));
		},
		expected: answers(204, "delivered"),
	},
	{
		name: "drips a body of known length",
		onRequest: (socket) => drip(socket, "HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n", "a", 50),
		expected: answers(200, "delivered"),
	},
	{
		name: "drips chunks without end",
		onRequest: (socket) =>
			drip(socket, "HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\na\r\n", 50),
		expected: answers(500, "retry"),
	},
	{
		name: "drips a body that its closing would end, and does not close",
		onRequest: (socket) => drip(socket, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", "a", 50),
		expected: answers(200, "delivered"),
	},
	{
		name: "promises a body and says no more",
		onRequest: (socket) => socket.write("HTTP/1.1 404 Not Found\r\ncontent-length: 10\r\n\r\n"),
		expected: answers(404, "refused"),
	},
	{
		name: "wants the connection kept for ever",
		onRequest: (socket) =>
			socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nkeep-alive: timeout=99999999\r\n\r\n"),
		expected: answers(200, "delivered"),
	},
];

/** Fits into what is read of a body, and would be 50 MB if anybody unpacked it. */
const BOMB_BYTES = 50 * 1_024 * 1_024;

const OVERFLOWING = /^(?:BROKEN_ANSWER|ANSWER_TOO_LARGE|HPE_\w+|UND_ERR_\w+) \(exchange\)$/;
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/** More than the 128 KiB that are read of an answer in all. */
const MANY_RECORDS_BYTES = 160 * 1_024;
const TINY_RECORD_BYTES = 8;
/** Long enough for the shop to have thousands of tiny records ready, which then arrive together. */
const GUST_MS = 500;

function flooding(name: string, first: string, piece: string, expected: Attack["expected"]): Attack {
	return { name, onRequest: (socket) => flood(socket, first, piece), expected };
}

/** Shops that send more than anybody wants. What is taken of it is bounded, in memory and in processor time. */
const FLOOD_ATTACKS: readonly Attack[] = [
	flooding("sends one header without end", "HTTP/1.1 200 OK\r\nx: ", "y", breaks(OVERFLOWING)),
	flooding("sends headers without end", "HTTP/1.1 200 OK\r\n", "x: y\r\n", breaks(OVERFLOWING)),
	flooding("sends a reason phrase without end", "HTTP/1.1 200 ", "OK", breaks(OVERFLOWING)),
	flooding("sends empty lines without end", "", "\r\n", breaks(OVERFLOWING)),
	flooding("announces (103) as fast as it can", "", "HTTP/1.1 103 Early Hints\r\n\r\n", breaks(OVERFLOWING)),
	flooding("continues (100) as fast as it can", "", "HTTP/1.1 100 Continue\r\n\r\n", breaks(OVERFLOWING)),
	flooding("speaks noise without end", "", "\u0001noise", breaks(OVERFLOWING)),
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
	crumbling(
		"announces (103) in tiny TLS records",
		"HTTP/1.1 103 Early Hints\r\nlink: ",
		"x",
		breaks(OVERFLOWING),
	),
	crumbling("sends a header in tiny TLS records", "HTTP/1.1 200 OK\r\nlink: ", "x", breaks(OVERFLOWING)),
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

const ACCEPTED = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
const FORGED = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

function answering(name: string, onRequest: (socket: Socket, means: Means) => void): Attack {
	return { name, onRequest, expected: answers(202, "delivered") };
}

/**
 * Shops that answer out of order, or close a connection just when it is used again: the next delivery gets its own
 * answer, and no request is ever sent twice.
 */
const ORDER_ATTACKS: readonly Attack[] = [
	answering("answers twice in one piece", (socket) => socket.write(ACCEPTED + FORGED)),
	answering("answers the next request too, a moment early", (socket) => {
		socket.write(ACCEPTED);
		later(socket, 20, () => socket.write(FORGED));
	}),
	answering("begins the next answer early", (socket) => socket.write(`${ACCEPTED}HTTP/1.1 2`)),
	answering("announces the next answer early", (socket) => {
		socket.write(ACCEPTED);
		later(socket, 20, () => socket.write(`HTTP/1.1 103 Early Hints\r\n\r\n${FORGED}`));
	}),
	answering("hides a second answer in a body too long", (socket) => {
		socket.write(`HTTP/1.1 202 Accepted\r\ncontent-length: 4\r\n\r\nbody${FORGED}`);
	}),
	answering("hides a second answer behind its chunks", (socket) => {
		socket.write(`HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${FORGED}`);
	}),
	answering("says it keeps the connection, and closes it", (socket) => {
		socket.write(ACCEPTED);
		later(socket, 20, () => socket.end());
	}),
	answering("says it keeps the connection, and resets it", (socket, { reset }) => {
		socket.write(ACCEPTED);
		later(socket, 20, reset);
	}),
	{
		name: "closes a kept connection just when it is used again",
		isOnKept: true,
		onRequest: (socket) => socket.end(),
		expected: breaks(/^CLOSED_WITHOUT_ANSWER \(exchange\)$/),
	},
	{
		name: "resets a kept connection just when it is used again",
		isOnKept: true,
		onRequest: (_, { reset }) => reset(),
		expected: breaks(/^(?:CLOSED_WITHOUT_ANSWER|ECONNRESET) \(exchange\)$/),
	},
	{
		name: "answers twice on a kept connection",
		isOnKept: true,
		onRequest: (socket) => socket.write(ACCEPTED + FORGED),
		expected: answers(202, "delivered"),
	},
];

export const ATTACKS: readonly Attack[] = [
	...SLOW_ATTACKS,
	...HANDSHAKE_ATTACKS,
	...ANSWER_ATTACKS,
	...FLOOD_ATTACKS,
	...STATUS_ATTACKS,
	...ORDER_ATTACKS,
];
