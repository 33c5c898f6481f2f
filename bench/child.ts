// Each side of a comparison is a process of its own, so that neither warms up, fills or slows the other.

import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** No round takes this long; one that hangs must not hang for ever. */
const CHILD_TIMEOUT_MS = 300_000;

/** Runs a script of this folder and reads the JSON line it prints. */
export async function runChild<Answer>(script: string, args: readonly string[]): Promise<Answer> {
	const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
		stdio: ["ignore", "pipe", "inherit"],
		timeout: CHILD_TIMEOUT_MS,
	});
	const chunks: Buffer[] = [];
	child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
	const [code] = await once(child, "close");
	if (code !== 0) throw new Error(`${script} ended with ${code}`);
	return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

export interface BenchReceiver {
	port: string;
	caFile: string;
	folder: string;
	stop(): void;
}

/** The receiving process, and a temporary folder for everything the run needs. */
export async function startReceiver(): Promise<BenchReceiver> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-bench-"));
	const child = fork(join(import.meta.dirname, "receiver.ts"));
	const [{ port, caPem }] = (await once(child, "message")) as [{ port: number; caPem: string }];
	const caFile = join(folder, "ca.pem");
	writeFileSync(caFile, caPem);
	return {
		port: String(port),
		caFile,
		folder,
		stop() {
			child.disconnect();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
