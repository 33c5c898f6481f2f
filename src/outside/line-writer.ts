// Lines to a file descriptor that may be a pipe. Nobody waits for them: what the reader has not taken waits here up to a
// bound, and lines beyond it are dropped and counted. A reader that is gone ends the writing, not the process.

import { write, writeSync } from "node:fs";
import { readErrorCode } from "./error-code.ts";

export interface LineWriter {
	write(line: string): void;
	droppedLines(): number;
	/** What still waits, at the end of the process. Tried once: nothing here may keep a process from ending. */
	writeRest(): void;
}

/** A pipe that cannot block is full: its reader is slow. */
const FULL: ReadonlySet<string> = new Set(["EAGAIN", "EBUSY"]);
const TRY_AGAIN_MS = 100;
const NOTHING = new Uint8Array();

export function createLineWriter(fd: number, maxWaitingBytes: number): LineWriter {
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
		write(fd, bytes, (error, written) => {
			if (error !== null) {
				if (FULL.has(readErrorCode(error))) tryAgain(bytes);
				else isGone = true;
				return;
			}
			waitingBytes -= written;
			if (written < bytes.length) writeBytes(bytes.subarray(written));
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
			try {
				writeSync(fd, rest);
			} catch {
				// Nobody is left to tell.
			}
		},
	};
}
