// Starts an executable as a newcomer does, in an empty folder, and looks whether it answers and stops.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PAGES = ["/readyz", "/sign-in", "/docs"];
const LIMIT_MS = 60_000;

/** Resolves to what is wrong; empty when nothing is. */
export async function tryExecutable(file: string): Promise<string[]> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-try-"));
	const child = spawn(file, ["serve", "--json"], {
		cwd: folder,
		env: { PORT: "0", RINGBACK_METRICS_ADDRESS: "off", LOG_LEVEL: "error", TMPDIR: folder },
		stdio: ["ignore", "pipe", "inherit"],
		timeout: LIMIT_MS,
	});
	try {
		const url = await heardUrl(child);
		const problems: string[] = [];
		for (const path of PAGES) {
			const { status } = await fetch(url + path);
			if (status !== 200) problems.push(`${path} answers ${status}.`);
		}
		child.kill("SIGTERM");
		const [code] = child.exitCode === null ? await once(child, "exit") : [child.exitCode];
		return code === 0 ? problems : [...problems, `Told to stop, it ends with ${code}.`];
	} finally {
		child.kill("SIGKILL");
		rmSync(folder, { recursive: true, force: true });
	}
}

async function heardUrl(child: ChildProcess): Promise<string> {
	if (child.stdout === null) throw new Error("it has no standard output");
	for await (const line of createInterface(child.stdout)) {
		const said: unknown = JSON.parse(line);
		if (typeof said === "object" && said !== null && "url" in said) return String(said.url);
	}
	throw new Error("It ended before it listened.");
}
