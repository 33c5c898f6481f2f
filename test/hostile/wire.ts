// Functions with which hostile shops write bytes slowly, endlessly, or all at once. All of them stop when the
// connection closes. A flood also has a maximum size.

import type { Socket } from "node:net";

/**
 * Maximum size of a flood. It is enough to see whether the client continues to read, because loopback alone
 * buffers a few MB.
 */
const MAX_FLOOD_BYTES = 256 * 1_024 * 1_024;
const PIECE_BYTES = 64 * 1_024;

/** Sends `first` at once, and then `drop` repeatedly at an interval. */
export function drip(socket: Socket, first: string, drop: string, everyMs: number): void {
	if (first !== "") socket.write(first);
	const timer = setInterval(() => socket.write(drop), everyMs);
	socket.once("close", () => clearInterval(timer));
}

/** Returns a function that sends its input in pieces of `pieceBytes`, one after the other. */
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

/**
 * Returns a function that collects its input and sends it every `everyMs`, so that small pieces arrive
 * together.
 */
export function openGusts(socket: Socket, everyMs: number): (bytes: Buffer) => void {
	return (bytes) => {
		if (socket.writableCorked === 0) {
			socket.cork();
			runAfter(socket, everyMs, () => socket.uncork());
		}
		socket.write(bytes);
	};
}

/** Writes each piece in its own TLS record. Several pieces written at once would be put into one record. */
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

/** Runs the function after the delay, unless the connection has closed. */
export function runAfter(socket: Socket, delayMs: number, run: () => void): void {
	const cancel = () => clearTimeout(timer);
	const timer = setTimeout(() => {
		// The listener is removed, because otherwise every call would leave one on the socket.
		socket.off("close", cancel);
		run();
	}, delayMs);
	socket.once("close", cancel);
}
