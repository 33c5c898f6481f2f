// Functions with which hostile shops write bytes: slowly, endlessly, or all at once. Everything ends with the
// connection, and nothing sends more than a stated amount.

import type { Socket } from "node:net";

/** Enough to see whether the client continues to read; loopback alone buffers a few MB. */
const MAX_FLOOD_BYTES = 256 * 1_024 * 1_024;
const PIECE_BYTES = 64 * 1_024;

/** Sends `first` at once and then one `drop` after the other. */
export function drip(socket: Socket, first: string, drop: string, everyMs: number): void {
	if (first !== "") socket.write(first);
	const timer = setInterval(() => socket.write(drop), everyMs);
	socket.once("close", () => clearInterval(timer));
}

/** Sends its input in pieces of `pieceBytes`, one after the other. */
export function openDrip(socket: Socket, pieceBytes: number, everyMs: number): (bytes: Buffer) => void {
	let unsent = Buffer.alloc(0);
	const timer = setInterval(() => {
		if (unsent.length > 0) socket.write(unsent.subarray(0, pieceBytes));
		unsent = unsent.subarray(pieceBytes);
	}, everyMs);
	socket.once("close", () => clearInterval(timer));
	return (bytes) => {
		unsent = Buffer.concat([unsent, bytes]);
	};
}

/** Sends the input of each `everyMs` at once, so that small pieces arrive together. */
export function openGusts(socket: Socket, everyMs: number): (bytes: Buffer) => void {
	return (bytes) => {
		if (socket.writableCorked === 0) {
			socket.cork();
			later(socket, everyMs, () => socket.uncork());
		}
		socket.write(bytes);
	};
}

/** Writes each piece in its own TLS record. Several at once would be put into one record. */
export function writeRecords(socket: Socket, bytes: Buffer, recordBytes: number): void {
	if (bytes.length === 0 || socket.destroyed) return;
	socket.write(bytes.subarray(0, recordBytes), () =>
		writeRecords(socket, bytes.subarray(recordBytes), recordBytes),
	);
}

/** Sends `first`, and then `piece` repeatedly, as fast as it is read. */
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

/** Runs the function unless the connection has closed. */
export function later(socket: Socket, delayMs: number, run: () => void): void {
	const cancel = () => clearTimeout(timer);
	const timer = setTimeout(() => {
		// Without this, every call would leave a listener on the socket.
		socket.off("close", cancel);
		run();
	}, delayMs);
	socket.once("close", cancel);
}
