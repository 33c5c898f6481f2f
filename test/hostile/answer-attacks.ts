// Shops whose answers are broken, ambiguous or cut off. What counts is the status line and the headers: once
// they were read whole, nothing behind them changes the verdict.

import { type Attack, answers, breaks } from "./attack.ts";
import { later } from "./wire.ts";

/** The one word for an answer that HTTP does not allow. */
const BROKEN = /^(?:BROKEN_ANSWER|HPE_\w+|UND_ERR_\w+) \(exchange\)$/;

function saying(name: string, bytes: string, expected: Attack["expected"]): Attack {
	return { name, onRequest: (socket) => socket.write(bytes, "latin1"), expected };
}

/** Says it and closes: some answers have no other end. */
function closing(name: string, bytes: string, expected: Attack["expected"]): Attack {
	return { name, onRequest: (socket) => socket.end(bytes, "latin1"), expected };
}

export const ANSWER_ATTACKS: readonly Attack[] = [
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
