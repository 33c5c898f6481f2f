// Lines to a file descriptor that may be a pipe. Nobody waits for them: what the reader has not taken waits here up to a
// bound, and lines beyond it are dropped and counted. A reader that is gone ends the writing, not the process.

import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { readErrorCode } from "./error-code.ts";

export interface LineWriter {
	write(line: string): void;
	droppedLines(): number;
	/** What still waits, at the end of the process. For no longer than below: nothing here may keep it from ending. */
	writeRest(): void;
}

/** A pipe that cannot block is full: its reader is slow. */
const FULL: ReadonlySet<string> = new Set(["EAGAIN", "EBUSY"]);
/** A pipe holds 64 KB: at that, 6 MB a second come through while the reader is quick. */
const TRY_AGAIN_MS = 10;
const NOTHING = new Uint8Array();
/** For a reader that is slow and not gone: so long without taking anything, and so long in all. */
const LAST_TRY_MS = 1_000;
const LAST_TRIES_MS = 10_000;
/** Between two writes then: a pipe takes 64 KB at a time, and a reader empties it in a moment. */
const LAST_PAUSE_MS = 5;

export function createLineWriter(given: number, maxWaitingBytes: number): LineWriter {
	const { fd, isUnblocked } = openUnblocked(given);
	let waiting: string[] = [];
	/** With what is under way. */
	let waitingBytes = 0;
	let isWriting = false;
	/** What found the pipe full, until it is tried again. */
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

	/** Where no write waits. A process that ends then knows of every byte whether it was written. */
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
 * The same pipe by another number, which says that it is full instead of waiting: a write that waits for a reader that
 * hangs keeps the process from ending. Linux has such a name for a pipe; elsewhere, and where it is somebody else's, it
 * stays as it is. Of a file it would be another place to write at.
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

/** The end of a process: there are no callbacks any more. */
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
			// Nobody is left to tell.
			if (!FULL.has(readErrorCode(error))) return;
			Atomics.wait(sleeper, 0, 0, LAST_PAUSE_MS);
		}
	}
}
