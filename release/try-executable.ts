// Starts an executable in an empty folder, as a new user does, and checks that it answers and stops.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Architecture } from "./node-package.ts";

const PAGES = ["/readyz", "/sign-in", "/docs"];
/** Time limit for a trial. An emulator is about ten times as slow as the machine. */
const LIMIT_MS = 180_000;

/** Debian's names of the emulator and the libraries for each architecture. */
const EMULATED: Readonly<Record<Architecture, { machine: string; debianName: string }>> = {
	x64: { machine: "x86_64", debianName: "amd64" },
	arm64: { machine: "aarch64", debianName: "arm64" },
};

export type Emulation = { isThere: true; words: readonly string[] } | { isThere: false; toInstall: string };

/** Returns how to run a program of another architecture with qemu-user and Debian's cross libraries. */
export function findEmulation(arch: Architecture): Emulation {
	const { machine, debianName } = EMULATED[arch];
	const [emulator, libraries] = [`qemu-${machine}`, `/usr/${machine}-linux-gnu`];
	const isThere = spawnSync(emulator, ["--version"]).status === 0 && existsSync(libraries);
	if (isThere) return { isThere, words: [emulator, "-L", libraries] };
	const packages = ["libc6", "libstdc++6", "libatomic1", "libgcc-s1"].map(
		(name) => `${name}-${debianName}-cross`,
	);
	return { isThere, toInstall: `apt-get install qemu-user ${packages.join(" ")}` };
}

/** Tries the executable. Resolves to the problems, or to an empty list. */
export async function tryExecutable(file: string, emulator: readonly string[] = []): Promise<string[]> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-try-"));
	const [program = file, ...args] = [...emulator, file, "serve", "--json"];
	const child = spawn(program, args, {
		cwd: folder,
		env: {
			PATH: process.env["PATH"],
			PORT: "0",
			RINGBACK_METRICS_ADDRESS: "off",
			LOG_LEVEL: "error",
			TMPDIR: folder,
		},
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
