// Shops that answer out of order, or close a connection just when it is used again: the next delivery gets its
// own answer, and no request is ever sent twice.

import type { Socket } from "node:net";
import { type Attack, answers, breaks, type Means } from "./attack.ts";
import { later } from "./wire.ts";

const ACCEPTED = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
const FORGED = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

function answering(name: string, onRequest: (socket: Socket, means: Means) => void): Attack {
	return { name, onRequest, expected: answers(202, "delivered") };
}

export const ORDER_ATTACKS: readonly Attack[] = [
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
