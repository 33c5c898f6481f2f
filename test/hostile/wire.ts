// How hostile shops put bytes on the wire: slowly, without end, or all at once. Everything ends with the
// connection, and nothing sends more than a stated amount.

import type { Socket } from "node:net";

/** Enough to see whether somebody goes on reading; loopback alone buffers a few MB. */
const MAX_FLOOD_BYTES = 256 * 1_024 * 1_024;
const PIECE_BYTES = 64 * 1_024;

/** Sends `first` at once and then one `drop` after the other. */
export function drip(socket: Socket, first: string, drop: string, everyMs: number): void {
	if (first !== "") socket.write(first);
	const timer = setInterval(() => socket.write(drop), everyMs);
	socket.once("close", () => clearInterval(timer));
}

/** Sends `bytes` one at a time. */
export function dripBytes(socket: Socket, bytes: string, everyMs: number): void {
	let sent = 0;
	const timer = setInterval(() => {
		if (sent < bytes.length) socket.write(bytes[sent++] ?? "");
	}, everyMs);
	socket.once("close", () => clearInterval(timer));
}

/** Sends `first`, and then `piece` over and over, as fast as it is taken. */
export function flood(socket: Socket, first: string, piece: string | Buffer): void {
	const unit = Buffer.from(piece);
	const block = Buffer.concat(new Array<Buffer>(Math.ceil(PIECE_BYTES / unit.length)).fill(unit));
	if (first !== "") socket.write(first);
	let sentBytes = 0;
	const pour = () => {
		while (!socket.destroyed && sentBytes < MAX_FLOOD_BYTES) {
			sentBytes += block.length;
			if (!socket.write(block)) return;
		}
	};
	socket.on("drain", pour);
	pour();
}

/** Runs unless the connection was over before. */
export function later(socket: Socket, delayMs: number, run: () => void): void {
	const timer = setTimeout(run, delayMs);
	socket.once("close", () => clearTimeout(timer));
}
