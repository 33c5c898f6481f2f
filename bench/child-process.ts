// Runs each side of a comparison in a process of its own, so that neither warms up, fills or slows the other.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Time limit for a child process. A child that takes longer hangs. */
const CHILD_TIMEOUT_MS = 900_000;

/** Runs a script of this folder and returns the JSON line that it prints. */
export async function runChild<Answer>(script: string, args: readonly string[]): Promise<Answer> {
	const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
		stdio: ["ignore", "pipe", "inherit"],
		timeout: CHILD_TIMEOUT_MS,
	});
	endWithUs(child);
	const chunks: Buffer[] = [];
	child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
	const [code] = await once(child, "close");
	if (code !== 0) throw new Error(`${script} ended with ${code}`);
	return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

/** Ends the child when this process ends, so that an interrupted run leaves nothing behind. */
export function endWithUs(child: ChildProcess): void {
	const end = (): void => void child.kill("SIGKILL");
	process.once("exit", end);
	child.once("exit", () => process.off("exit", end));
}

export async function endChild(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const gone = once(child, "exit");
	child.kill(signal);
	await gone;
}
