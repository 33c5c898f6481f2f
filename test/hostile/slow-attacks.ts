// Shops that take their time: silence, drips, and ends that never come.

import { type Attack, answers, timesOut } from "./attack.ts";
import { drip, later, openDrip } from "./wire.ts";

export const SLOW_ATTACKS: readonly Attack[] = [
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
