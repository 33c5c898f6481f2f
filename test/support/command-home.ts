// A folder of its own in which a test runs the real command: nothing of the machine's environment gets in,
// every process that was started has ended before the folder goes, and nothing is left behind.

import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "./compile-cache.ts";
import { loaderArguments } from "./loader-arguments.ts";
import { makeFolder } from "./run-folder.ts";
import { type Ended, endProcess, type Running, watchProcess } from "./watched-process.ts";

export type Settings = Readonly<Record<string, string>>;

export type { Ended, Running } from "./watched-process.ts";

export interface Home {
	folder: string;
	/** The SQLite file that the settings of this home name. */
	databasePath: string;
	/** `node src/ringback.js …` until it ends. */
	run(args: readonly string[], settings?: Settings): Promise<Ended>;
	/**
	 * The same in this process, for all that is not about a process: starting one takes most of a second of a
	 * processor. What it logs is not among what it says.
	 */
	runHere(args: readonly string[], settings?: Settings): Promise<Ended>;
	start(args: readonly string[], settings?: Settings): Running;
	/** Any other program of the repository's Node: `demo/main.ts`. */
	startScript(script: string, args: readonly string[], settings?: Settings): Running;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A test, or a suite's own hooks. */
interface Cleaning {
	after(clean: () => Promise<void>): void;
}

export function openHome(t: Cleaning): Home {
	const folder = makeFolder("command");
	const databasePath = join(folder, "ringback.db");
	const children: ChildProcess[] = [];
	// For a run that is broken off: what it started must not outlive it.
	const endWithUs = (): void => {
		for (const child of children) child.kill("SIGKILL");
		rmSync(folder, { recursive: true, force: true });
	};
	process.once("exit", endWithUs);
	t.after(async () => {
		await Promise.all(children.map(endProcess));
		rmSync(folder, { recursive: true, force: true });
		process.off("exit", endWithUs);
	});
	const own = {
		DATABASE_URL: `sqlite:${databasePath}`,
		// The usual address is the machine's: two tests at once would have to share it.
		RINGBACK_METRICS_ADDRESS: "off",
	};
	const startScript: Home["startScript"] = (script, args, settings = {}) => {
		const env = {
			PATH: process.env["PATH"] ?? "",
			TMPDIR: folder,
			NODE_COMPILE_CACHE: COMPILE_CACHE,
			...own,
			...settings,
		};
		const child = spawn(process.execPath, [...loaderArguments(), join(ROOT, script), ...args], {
			cwd: folder,
			env,
		});
		children.push(child);
		return watchProcess(child);
	};
	const start: Home["start"] = (args, settings) => startScript("src/ringback.js", args, settings);
	return {
		folder,
		databasePath,
		start,
		startScript,
		run: (args, settings) => start(args, settings).ended(),
		runHere: (args, settings) => runHere(args, { ...own, ...settings }),
	};
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

async function runHere(args: readonly string[], settings: Settings): Promise<Ended> {
	// Loaded by those alone who use it.
	const { main } = await import("../../src/main.ts");
	const stdout: string[] = [];
	const stderr: string[] = [];
	const screen = { out: (line: string) => stdout.push(line), error: (line: string) => stderr.push(line) };
	const before = SIGNALS.map((signal) => process.listeners(signal));
	const code = await main(args, screen, settings);
	// `serve` hears of signals until its process ends, and this one goes on.
	for (const [at, signal] of SIGNALS.entries()) {
		const left = process.listeners(signal).filter((listener) => !before[at]?.includes(listener));
		for (const listener of left) process.off(signal, listener);
	}
	const text = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
	return { code, signal: null, stdout: text(stdout), stderr: text(stderr) };
}

/** The forbidden side of every command: people get a sentence, never a stack. */
export function hasStack({ stdout, stderr }: Pick<Ended, "stdout" | "stderr">): boolean {
	return /^\s+at .+[:(]/m.test(`${stdout}\n${stderr}`) || /node:internal/.test(`${stdout}\n${stderr}`);
}
