// Writes lines to a file descriptor that may be a pipe, without ever blocking the caller. Lines that the
// reader has not yet read are buffered up to a limit. Further lines are dropped and counted. If the reader is
// gone, writing ends, but the process continues.

import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { readErrorCode } from "./error-code.ts";

export interface LineWriter {
	write(line: string): void;
	droppedLines(): number;
	/**
	 * Writes the buffered lines when the process ends. It gives up after a limited time, so that it cannot
	 * prevent the exit.
	 */
	writeRest(): void;
}

/** Error codes of a non-blocking pipe that is full because its reader is slow. */
const FULL: ReadonlySet<string> = new Set(["EAGAIN", "EBUSY"]);
/** Delay before a write is tried again. A pipe holds 64 KB, so a fast reader gets up to 6 MB a second. */
const TRY_AGAIN_MS = 10;
const NOTHING = new Uint8Array();
/** Time at exit after which writing ends if the reader makes no progress. */
const LAST_TRY_MS = 1_000;
/** Time at exit after which writing ends, even if a slow reader is still reading. */
const LAST_TRIES_MS = 10_000;
/** Pause between two writes at exit. A pipe accepts 64 KB at a time, and a reader drains it in a moment. */
const LAST_PAUSE_MS = 5;

export function createLineWriter(given: number, maxWaitingBytes: number): LineWriter {
	const { fd, isUnblocked } = openUnblocked(given);
	let waiting: string[] = [];
	/** Size of the buffered lines, including those that are being written. */
	let waitingBytes = 0;
	let isWriting = false;
	/** Bytes that did not fit into the pipe, and that the next try writes. */
	let refused: Uint8Array = NOTHING;
	let isGone = false;
	let dropped = 0;

	function writeWaiting(): void {
		const bytes = Buffer.from(waiting.join(""));
		waiting = [];
		isWriting = bytes.length > 0;
		if (isWriting) writeBytes(bytes);
	}

	function writeBytes(bytes: Uint8Array): void {
		if (isUnblocked) writeAtOnce(bytes);
		else writeMeanwhile(bytes);
	}

	/**
	 * Writes synchronously to a non-blocking pipe, so that at exit it is known for every byte whether it was written.
	 */
	function writeAtOnce(bytes: Uint8Array): void {
		let rest = bytes;
		try {
			while (rest.length > 0) {
				const written = writeSync(fd, rest);
				waitingBytes -= written;
				rest = rest.subarray(written);
			}
		} catch (error) {
			if (FULL.has(readErrorCode(error))) tryAgain(rest);
			else isGone = true;
			return;
		}
		writeWaiting();
	}

	function writeMeanwhile(bytes: Uint8Array): void {
		write(fd, bytes, (error, written) => {
			if (error !== null) {
				if (FULL.has(readErrorCode(error))) tryAgain(bytes);
				else isGone = true;
				return;
			}
			waitingBytes -= written;
			if (written < bytes.length) writeMeanwhile(bytes.subarray(written));
			else writeWaiting();
		});
	}

	function tryAgain(bytes: Uint8Array): void {
		refused = bytes;
		setTimeout(() => {
			refused = NOTHING;
			writeBytes(bytes);
		}, TRY_AGAIN_MS).unref();
	}

	return {
		write(line) {
			if (isGone) return;
			const bytes = Buffer.byteLength(line);
			if (waitingBytes + bytes > maxWaitingBytes) {
				dropped++;
				return;
			}
			waiting.push(line);
			waitingBytes += bytes;
			if (!isWriting) writeWaiting();
		},
		droppedLines: () => dropped,
		writeRest() {
			const rest = Buffer.concat([refused, Buffer.from(waiting.join(""))]);
			if (isGone || rest.length === 0) return;
			writeLast(fd, rest);
		},
	};
}

/**
 * Opens the same pipe again in non-blocking mode. With a blocking write, a reader that hangs would keep the
 * process from ending. Linux allows this through /proc. On other systems, and for a pipe of another account,
 * the original descriptor is used. A file is not opened again, because the new descriptor would have a
 * position of its own.
 */
function openUnblocked(fd: number): { fd: number; isUnblocked: boolean } {
	try {
		if (!fstatSync(fd).isFIFO()) return { fd, isUnblocked: false };
		const opened = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
		return { fd: opened, isUnblocked: true };
	} catch {
		return { fd, isUnblocked: false };
	}
}

/** Writes synchronously at exit, when asynchronous writes no longer complete. */
function writeLast(fd: number, bytes: Uint8Array): void {
	const sleeper = new Int32Array(new SharedArrayBuffer(4));
	const sinceMs = performance.now();
	let takenAtMs = sinceMs;
	let rest = bytes;
	while (rest.length > 0) {
		const nowMs = performance.now();
		if (nowMs - takenAtMs > LAST_TRY_MS || nowMs - sinceMs > LAST_TRIES_MS) return;
		try {
			rest = rest.subarray(writeSync(fd, rest));
			takenAtMs = performance.now();
		} catch (error) {
			// The reader is gone, so the remaining bytes cannot be written.
			if (!FULL.has(readErrorCode(error))) return;
			Atomics.wait(sleeper, 0, 0, LAST_PAUSE_MS);
		}
	}
}
