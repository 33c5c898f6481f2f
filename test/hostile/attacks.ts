// All attacks, in one table for each kind.

import type { Socket } from "node:net";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { type Attack, answers, breaks, type Means, timesOut } from "./attack.ts";
import { HANDSHAKE_ATTACKS } from "./handshake-attacks.ts";
import { drip, flood, openDrip, openGusts, runAfter, writeRecords } from "./wire.ts";

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

/** Shops that redirect, or ask to be called later. The service does neither. */
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

const OVERFLOWING = /^(?:BROKEN_ANSWER|ANSWER_TOO_LARGE|HPE_\w+|UND_ERR_\w+) \(exchange\)$/;
/** Matches the stored detail of an answer that HTTP does not allow. */
const BROKEN = /^(?:BROKEN_ANSWER|HPE_\w+|UND_ERR_\w+) \(exchange\)$/;

/** An empty SETTINGS frame, with which an HTTP/2 server begins (RFC 9113 section 6.5). */
const SETTINGS_FRAME = "\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000";

/**
 * Parses a table of attacks. Each line has the behaviour of the shop, its answer to a request, the expected
 * verdict, and "closes" if the shop closes the connection afterwards, because some answers have no other end.
 * ¶ is a line break of HTTP, and ↵ is a bare line feed. A text that begins with a digit gets "HTTP/1.1 "
 * before it.
 */
function readTable(table: string): Attack[] {
	return rowsOf(table).map(([name = "", text = "", verdict = "", closes]) => ({
		name,
		onRequest: (socket) =>
			closes === undefined ? socket.write(bytesOf(text), "latin1") : socket.end(bytesOf(text), "latin1"),
		expected: readVerdict(verdict),
	}));
}

function rowsOf(table: string): string[][] {
	return table
		.trim()
		.split("\n")
		.map((row) => row.split("|").map((cell) => cell.trim()));
}

function bytesOf(text: string): string {
	const bytes = text.replaceAll("¶", "\r\n").replaceAll("↵", "\n");
	return /^\d/.test(bytes) ? `HTTP/1.1 ${bytes}` : bytes;
}

function readVerdict(text: string): Attack["expected"] {
	const [, status, verdict] = /^(\d+) (delivered|retry|refused)$/.exec(text) ?? [];
	if (verdict === "delivered" || verdict === "retry" || verdict === "refused") {
		return answers(Number(status), verdict);
	}
	if (text === "times out") return timesOut();
	return breaks(text === "overflows" ? OVERFLOWING : BROKEN);
}

/**
 * Shops whose answers are broken, ambiguous or cut off. Only the status line and the headers count. Once they
 * were read completely, nothing after them changes the verdict.
 */
const ANSWER_ATTACKS: readonly Attack[] = [
	{
		name: "closes after the request",
		onRequest: (socket) => socket.end(),
		expected: breaks(/^CLOSED_WITHOUT_ANSWER \(exchange\)$/),
	},
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
			runAfter(socket, 300, reset);
		},
		expected: answers(200, "delivered"),
	},
	...readTable(`
		closes within its headers | 200 OK¶x-cut: | broken | closes
		closes before the body it promised | 200 OK¶content-length: 999¶¶cut | 200 delivered | closes
		sends more body than it promised | 200 OK¶content-length: 3¶¶${"x".repeat(3_000)} | 200 delivered
		promises a body of -1 | 200 OK¶content-length: -1¶¶ | broken
		promises a body of 2^64 and more | 200 OK¶content-length: 99999999999999999999¶¶ | broken
		promises two lengths | 200 OK¶content-length: 0¶content-length: 44¶¶ | broken
		promises a length and chunks | 200 OK¶content-length: 5¶transfer-encoding: chunked¶¶0¶¶ | broken
		sends a chunk of 2^63 bytes | 200 OK¶transfer-encoding: chunked¶¶8000000000000000¶abc | 200 delivered
		sends a chunk of 2^68 bytes | 200 OK¶transfer-encoding: chunked¶¶100000000000000000¶abc | 200 delivered
		sends a chunk of nonsense | 503 Busy¶transfer-encoding: chunked¶¶zz¶ | 503 retry
		has a NUL in a header | 200 OK¶x: a\u0000b¶¶ | broken
		has a header without a name | 200 OK¶: x¶¶ | broken
		has a header with a space in its name | 200 OK¶a b: c¶¶ | broken
		answers 99 | 99 Less¶¶ | broken
		answers 000 | 000 Nought¶content-length: 0¶¶ | broken
		answers 1000 | 1000 More¶content-length: 0¶¶ | broken
		answers 999 | 999 No¶content-length: 0¶¶ | 999 retry
		answers in HTTP/9.9 | HTTP/9.9 200 OK¶content-length: 0¶¶ | broken
		answers in lower case | http/1.1 200 ok¶content-length: 0¶¶ | broken
		answers in HTTP/0.9 | <html>welcome</html> | broken | closes
		answers in HTTP/2 | ${SETTINGS_FRAME} | broken
		speaks SSH | SSH-2.0-OpenSSH_9.6¶ | broken
		says 204 and sends a body | 204 No Content¶¶body | 204 delivered
		says 204 with the length of a body | 204 No Content¶content-length: 20¶¶ | 204 delivered
		switches protocols | 101 Switching Protocols¶connection: upgrade¶upgrade: websocket¶¶ | broken
		says 100 Continue, which nobody asked for | 100 Continue¶¶HTTP/1.1 204 No Content¶¶ | 204 delivered
		hides its refusal in a 100 with bare line feeds | 100 Continue↵↵HTTP/1.1 404 No¶¶HTTP/1.1 200 OK¶¶ | broken
	`),
	{
		name: "says 100 Continue in pieces, and refuses",
		onRequest(socket) {
			socket.write("HTTP/1.");
			runAfter(socket, 50, () => socket.write("1 100 Continue\r\nx: y\r"));
			runAfter(socket, 100, () => socket.write("\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTT"));
			runAfter(socket, 150, () => socket.write("P/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"));
		},
		expected: answers(410, "refused"),
	},
];

/**
 * Table with the behaviour of the shop, its first bytes, the bytes that it repeats, the interval in
 * milliseconds and the expected verdict.
 */
const DRIPS = `
	drips one header without end | 204 No Content¶x: | y | 10 | times out
	announces (103) for ever, ten times a second | | HTTP/1.1 103 Early Hints¶link: </a>¶¶ | 100 | times out
	drips a body of known length | 200 OK¶content-length: 60000¶¶ | a | 50 | 200 delivered
	drips chunks without end | 500 Oops¶transfer-encoding: chunked¶¶ | 1¶a¶ | 50 | 500 retry
	drips a body that its closing would end, and does not close | 200 OK¶connection: close¶¶ | a | 50 | 200 delivered
`;

/** Slow shops, which send nothing, single bytes, or answers without an end. */
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
	{ name: "drips its handshake", openWire: (socket) => openDrip(socket, 1, 20), expected: timesOut() },
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
		name: "answers after the deadline",
		onRequest: (socket) => runAfter(socket, 5_500, () => socket.write("HTTP/1.1 204 No Content\r\n\r\n")),
		expected: timesOut(),
	},
	{
		name: "announces (102) every second, and answers in the third",
		onRequest(socket) {
			drip(socket, "", "HTTP/1.1 102 Processing\r\n\r\n", 1_000);
			runAfter(socket, 2_500, () => socket.end("HTTP/1.1 204 No Content\r\n\r\n"));
		},
		expected: answers(204, "delivered"),
	},
	...rowsOf(DRIPS).map(([name = "", first = "", drop = "", everyMs, verdict = ""]) => ({
		name,
		onRequest: (socket: Socket) => drip(socket, bytesOf(first), pieceOf(drop), Number(everyMs)),
		expected: readVerdict(verdict),
	})),
	...readTable(`
		sends a status line and no more | 204 No Content¶ | times out
		promises a body and says no more | 404 Not Found¶content-length: 10¶¶ | 404 refused
		wants the connection kept for ever | 200 OK¶content-length: 0¶keep-alive: timeout=99999999¶¶ | 200 delivered
	`),
];

/** Unpacked size of a compressed body, 50 MB. The compressed body is small enough to be read. */
const BOMB_BYTES = 50 * 1_024 * 1_024;

const CHUNKED = "200 OK¶transfer-encoding: chunked¶¶";

/** Size of an answer. It is more than the 128 KiB that are read of an answer in all. */
const MANY_RECORDS_BYTES = 160 * 1_024;
const TINY_RECORD_BYTES = 8;
/** Time in which the shop prepares thousands of tiny records, which then arrive together. */
const GUST_MS = 500;

/**
 * Table with the behaviour of the shop, its first bytes, the bytes that it repeats endlessly and the expected
 * verdict.
 */
const FLOODS = `
	sends one header without end | 200 OK¶x: | y | overflows
	sends headers without end | 200 OK¶ | x: y¶ | overflows
	sends a reason phrase without end | 200 OK | OK | overflows
	sends empty lines without end | | ¶ | overflows
	announces (103) as fast as it can | | HTTP/1.1 103 Early Hints¶¶ | overflows
	continues (100) as fast as it can | | HTTP/1.1 100 Continue¶¶ | overflows
	speaks noise without end | | \u0001noise | overflows
	sends a body of 10 GB | 200 OK¶content-length: 10737418240¶¶ | x | 200 delivered
	sends chunks without end | ${CHUNKED} | 4¶body¶ | 200 delivered
	sends a chunk extension without end | ${CHUNKED}1; | x=y; | 200 delivered
	sends trailers without end | ${CHUNKED}0¶ | x: y¶ | 200 delivered
	sends a body that only closing would end | 404 Not Found¶¶ | x | 404 refused
	answers a million times | | HTTP/1.1 200 OK¶content-length: 0¶¶ | 200 delivered
`;

/**
 * The same kind of table, but each piece is sent as a tiny TLS record. A reader that parses everything again
 * for each record would be busy for seconds.
 */
const CRUMBS = `
	announces (103) in tiny TLS records | HTTP/1.1 103 Early Hints¶link: | x | overflows
	sends a header in tiny TLS records | 200 OK¶link: | x | overflows
	sends chunks in tiny TLS records | ${CHUNKED} | 1¶a¶ | 200 delivered
`;

/**
 * Shops that send too much. The memory and processor time that the service spends on them must be limited.
 */
const FLOOD_ATTACKS: readonly Attack[] = [
	...rowsOf(FLOODS).map(([name = "", first = "", piece = "", verdict = ""]) => ({
		name,
		onRequest: (socket: Socket) => flood(socket, bytesOf(first), pieceOf(piece)),
		expected: readVerdict(verdict),
	})),
	...rowsOf(CRUMBS).map(([name = "", first = "", piece = "", verdict = ""]) => {
		const bytes = Buffer.from(bytesOf(first).padEnd(MANY_RECORDS_BYTES, pieceOf(piece)));
		return {
			name,
			openWire: (socket: Socket) => openGusts(socket, GUST_MS),
			onRequest: (socket: Socket) => writeRecords(socket, bytes, TINY_RECORD_BYTES),
			expected: readVerdict(verdict),
		};
	}),
	bomb("gzip", gzipSync(Buffer.alloc(BOMB_BYTES), { level: 9 })),
	bomb("br", brotliCompressSync(Buffer.alloc(BOMB_BYTES), { params: { [zlib.BROTLI_PARAM_QUALITY]: 4 } })),
];

/** Returns the bytes of a text of the table, without adding a status line. */
function pieceOf(text: string): string {
	return text.replaceAll("¶", "\r\n");
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
 * Shops that answer out of order, or close a connection when it is reused. The next delivery must get its own
 * answer, and no request may ever be sent twice.
 */
const ORDER_ATTACKS: readonly Attack[] = [
	...readTable(
		`
		answers twice in one piece | ${ACCEPTED}${FORGED} | 202 delivered
		begins the next answer early | ${ACCEPTED}HTTP/1.1 2 | 202 delivered
		hides a second answer in a body too long | 202 Accepted¶content-length: 4¶¶body${FORGED} | 202 delivered
		hides a second answer behind its chunks | 202 Accepted¶transfer-encoding: chunked¶¶0¶¶${FORGED} | 202 delivered
	`.replaceAll("\r\n", "¶"),
	),
	answering("answers the next request too, a moment early", (socket) => {
		socket.write(ACCEPTED);
		runAfter(socket, 20, () => socket.write(FORGED));
	}),
	answering("announces the next answer early", (socket) => {
		socket.write(ACCEPTED);
		runAfter(socket, 20, () => socket.write(`HTTP/1.1 103 Early Hints\r\n\r\n${FORGED}`));
	}),
	answering("says it keeps the connection, and closes it", (socket) => {
		socket.write(ACCEPTED);
		runAfter(socket, 20, () => socket.end());
	}),
	answering("says it keeps the connection, and resets it", (socket, { reset }) => {
		socket.write(ACCEPTED);
		runAfter(socket, 20, reset);
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
