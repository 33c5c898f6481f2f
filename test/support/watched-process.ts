// Watches a process that a test has started: its output so far, whether it still runs, and how it ended.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { PATIENCE_MS } from "./patience.ts";
import { until } from "./until.ts";

export interface Ended {
	code: number | null;
	signal: NodeJS.Signals | null;
	stdout: string;
	stderr: string;
}

export interface Running {
	/** Output so far. */
	readonly stdout: string;
	readonly stderr: string;
	readonly isRunning: boolean;
	/** Process id, or undefined if the process could not be started. */
	readonly pid: number | undefined;
	kill(signal: NodeJS.Signals): void;
	/**
	 * Waits until the output matches, and resolves to the match. Fails with all output if the process ends or
	 * the text does not come in time.
	 */
	said(pattern: RegExp): Promise<RegExpExecArray>;
	ended(): Promise<Ended>;
}

export function watchProcess(child: ChildProcess): Running {
	let stdout = "";
	let stderr = "";
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		stdout += text;
	});
	child.stderr?.setEncoding("utf8").on("data", (text: string) => {
		stderr += text;
	});
	// The event "close" is used instead of "exit", because only then has all output been read.
	const closed = once(child, "close").then(([code, signal]) => ({ code, signal }));
	const isRunning = () => child.exitCode === null && child.signalCode === null;
	const describe = () => `said so far:\n${stdout}\n--- on standard error:\n${stderr}`;
	return {
		get stdout() {
			return stdout;
		},
		get stderr() {
			return stderr;
		},
		get isRunning() {
			return isRunning();
		},
		pid: child.pid,
		kill: (signal) => child.kill(signal),
		async said(pattern) {
			const find = () => pattern.exec(stdout) ?? pattern.exec(stderr);
			await until(() => find() !== null || !isRunning(), describe);
			const found = find();
			if (found === null) throw new Error(`it ended and never said ${pattern}; it ${describe()}`);
			return found;
		},
		async ended() {
			const end = await Promise.race([closed, patience(describe)]);
			return { ...end, stdout, stderr };
		},
	};
}

export async function endProcess(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill("SIGKILL");
	await exited;
}

function patience(describe: () => string): Promise<never> {
	return new Promise((_resolve, reject) => {
		setTimeout(
			() => reject(new Error(`did not end in ${PATIENCE_MS} ms; ${describe()}`)),
			PATIENCE_MS,
		).unref();
	});
}
