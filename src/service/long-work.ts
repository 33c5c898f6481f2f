// What a command that takes minutes says while it works, and what it leaves behind when it is broken off: nothing.

import { rmSync } from "node:fs";
import type { Clock } from "../ports.ts";

export interface Telling {
	/** How often at most. */
	everyMs: number;
	/** `total` is null where nobody knows. */
	tell(stage: string, done: number, total: number | null): void;
}

export interface Teller {
	/** Told at once: what begins now. */
	begin(stage: string): void;
	/** Told now and then. */
	goOn(done: number, total: number | null): void;
}

export function createTeller(clock: Pick<Clock, "nowMs">, { everyMs, tell }: Telling): Teller {
	let stage = "";
	let toldAtMs = 0;
	return {
		begin(next) {
			stage = next;
			toldAtMs = clock.nowMs();
			tell(stage, 0, null);
		},
		goOn(done, total) {
			if (clock.nowMs() - toldAtMs < everyMs) return;
			toldAtMs = clock.nowMs();
			tell(stage, done, total);
		},
	};
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs `work`; the files it names are gone when it fails, and when the process is asked to stop. */
export async function withPartialFiles<Value>(
	work: (partial: (path: string) => string) => Promise<Value>,
): Promise<Value> {
	const paths = new Set<string>();
	const remove = (): void => {
		for (const path of paths) for (const suffix of FILE_SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
	};
	// At once, and not when the statement that is at work has come to its end: the signal then does what it always does.
	const onSignal = (signal: NodeJS.Signals): void => {
		remove();
		for (const name of SIGNALS) process.off(name, onSignal);
		process.kill(process.pid, signal);
	};
	for (const name of SIGNALS) process.on(name, onSignal);
	try {
		return await work((path) => {
			paths.add(path);
			return path;
		});
	} finally {
		for (const name of SIGNALS) process.off(name, onSignal);
		remove();
	}
}

/** What SQLite puts beside a file that it works on. */
const FILE_SUFFIXES = ["", "-journal", "-wal", "-shm"];
