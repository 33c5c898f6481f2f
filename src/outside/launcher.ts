// Notices when npm or npx, which started this process, is gone. npx puts a shell in between, and hands a signal to that
// alone: the shell ends and this process would live on, with the port and without anybody who knows of it. Killed
// outright, npx hands on nothing at all.

import { readFileSync } from "node:fs";
import type { Clock } from "../ports.ts";

/** One system call, and where there is a shell one file of a few bytes. */
const LOOK_INTERVAL_MS = 1_000;
const SHELL = /^(?:ba|da|a|k|z)?sh$|^busybox$/;
/** A shell for each script that calls another: more than three is no npm. */
const MOST_SHELLS = 3;

/** `onGone` is called once. Returns what ends the watch. */
export function watchLauncher(clock: Clock, onGone: () => void): () => void {
	const line = findLine();
	let cancel = clock.after(LOOK_INTERVAL_MS, look);

	function look(): void {
		if (isSame(line)) cancel = clock.after(LOOK_INTERVAL_MS, look);
		else onGone();
	}

	return () => cancel();
}

/** Our parent and, where that is a shell, its own: up to the first that is none. */
function findLine(): readonly number[] {
	const line = [process.ppid];
	while (line.length <= MOST_SHELLS) {
		const youngest = line.at(-1) ?? 0;
		const known = readProcess(youngest);
		if (known === null || !SHELL.test(known.name)) break;
		line.push(known.parent);
	}
	return line;
}

function isSame(line: readonly number[]): boolean {
	return line.every((pid, at) => {
		const child = line[at - 1];
		return pid === (child === undefined ? process.ppid : readProcess(child)?.parent);
	});
}

/** Null where the system does not tell: outside Linux, where shells replace themselves by the one command they run. */
function readProcess(pid: number): { name: string; parent: number } | null {
	try {
		const [, name = "", parent = ""] =
			/^\d+ \((.*)\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
		return { name, parent: Number(parent) };
	} catch {
		return null;
	}
}
