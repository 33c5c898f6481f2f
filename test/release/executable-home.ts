// Folders in which a test runs the executable. One kind is an empty folder. The other is a folder that the
// executable sees as the whole file system, with nothing but the system's C library. Every process has ended
// before the folder is removed.

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { type Ended, endProcess, type Running, watchProcess } from "../support/watched-process.ts";

export type Settings = Readonly<Record<string, string>>;

export interface ExecutableHome {
	/** Path of the folder as the test sees it. */
	folder: string;
	start(args: readonly string[], settings?: Settings): Running;
	run(args: readonly string[], settings?: Settings): Promise<Ended>;
	/** Writes a file and returns its path as the executable sees it. */
	write(name: string, text: string): string;
}

export function openEmptyFolder(t: TestContext, executable: string): ExecutableHome {
	const folder = mkdtempSync(join(tmpdir(), "ringback-empty-"));
	return openHome(t, folder, { command: [executable], cwd: folder, pathOf: (name) => join(folder, name) });
}

/** Returns how this machine can show a folder as the whole file system, or null if it cannot. */
export function findWayToConfine(): readonly string[] | null {
	if (process.getuid?.() === 0) return ["chroot"];
	const asRoot = ["unshare", "--user", "--map-root-user"];
	const [command = "", ...args] = asRoot;
	return spawnSync(command, [...args, "chroot", "/", "true"]).status === 0 ? [...asRoot, "chroot"] : null;
}

export function openBareMachine(
	t: TestContext,
	executable: string,
	confine: readonly string[],
): ExecutableHome {
	const folder = mkdtempSync(join(tmpdir(), "ringback-bare-"));
	putLibraries(executable, folder);
	putExecutable(executable, join(folder, "ringback"));
	mkdirSync(join(folder, "tmp"));
	return openHome(t, folder, {
		command: [...confine, folder, "/ringback"],
		cwd: "/",
		pathOf: (name) => `/${name}`,
	});
}

export function putLibraries(executable: string, root: string): void {
	for (const file of listLibraries(executable)) {
		mkdirSync(join(root, dirname(file)), { recursive: true });
		copyFileSync(file, join(root, file));
	}
}

/** Returns the libraries and the loader that the executable needs. */
function listLibraries(executable: string): string[] {
	const listed = execFileSync("ldd", [executable], { encoding: "utf8" });
	return [...listed.matchAll(/(\/\S+) \(0x[0-9a-f]+\)$/gm)].map(([, path = ""]) => path);
}

/**
 * Puts the executable at the path. The file is linked if both paths are on one disk, because it has 160 MB.
 */
export function putExecutable(from: string, to: string): void {
	try {
		linkSync(from, to);
	} catch {
		copyFileSync(from, to);
		chmodSync(to, 0o755);
	}
}

interface Way {
	command: readonly string[];
	cwd: string;
	pathOf(name: string): string;
}

function openHome(t: TestContext, folder: string, { command, cwd, pathOf }: Way): ExecutableHome {
	const children: ChildProcess[] = [];
	t.after(async () => {
		await Promise.all(children.map(endProcess));
		rmSync(folder, { recursive: true, force: true });
	});
	const start: ExecutableHome["start"] = (args, settings = {}) => {
		const [program = "", ...before] = command;
		// Only the search path of the confining programs is passed on, so that neither Node nor npm is found.
		const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", RINGBACK_METRICS_ADDRESS: "off", ...settings };
		const child = spawn(program, [...before, ...args], { cwd, env });
		children.push(child);
		return watchProcess(child);
	};
	return {
		folder,
		start,
		run: (args, settings) => start(args, settings).ended(),
		write(name, text) {
			writeFileSync(join(folder, name), text);
			return pathOf(name);
		},
	};
}
