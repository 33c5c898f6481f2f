// Provides a separate folder in which a test runs the real command. The commands do not inherit the machine's
// environment. Every process ends before the folder is removed, so nothing is left behind.

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
	/** Path of the SQLite file in the settings of this folder. */
	databasePath: string;
	/** Runs `node src/ringback.js …` until it ends. */
	run(args: readonly string[], settings?: Settings): Promise<Ended>;
	/**
	 * Runs the command inside this process, for tests that are not about processes. Starting a process takes
	 * most of a second of one core. Log lines are not part of the captured output.
	 */
	runHere(args: readonly string[], settings?: Settings): Promise<Ended>;
	start(args: readonly string[], settings?: Settings): Running;
	/** Runs another program with the repository's Node, such as `demo/main.ts`. */
	startScript(script: string, args: readonly string[], settings?: Settings): Running;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The part of a test or of a suite that runs cleanup functions. */
interface Cleaning {
	after(clean: () => Promise<void>): void;
}

export function openHome(t: Cleaning): Home {
	const folder = makeFolder("command");
	const databasePath = join(folder, "ringback.db");
	const children: ChildProcess[] = [];
	// If the test run is interrupted, the processes that this file started must end, too.
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
	const defaults = {
		DATABASE_URL: `sqlite:${databasePath}`,
		// Metrics are off, because two services would use the same default port.
		RINGBACK_METRICS_ADDRESS: "off",
	};
	const startScript: Home["startScript"] = (script, args, settings = {}) => {
		const env = {
			PATH: process.env["PATH"] ?? "",
			TMPDIR: folder,
			NODE_COMPILE_CACHE: COMPILE_CACHE,
			...defaults,
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
		runHere: (args, settings) => runHere(args, { ...defaults, ...settings }),
	};
}

/** Opens a folder with a database that has the current schema and no rows. */
export async function openMigratedHome(t: Cleaning): Promise<Home> {
	const home = openHome(t);
	const { code, stderr } = await home.runHere(["migrate"]);
	if (code !== 0) throw new Error(stderr);
	return home;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

async function runHere(args: readonly string[], settings: Settings): Promise<Ended> {
	// The module is imported only here, because few tests need it.
	const { main } = await import("../../src/main.ts");
	const stdout: string[] = [];
	const stderr: string[] = [];
	const screen = { out: (line: string) => stdout.push(line), error: (line: string) => stderr.push(line) };
	const before = SIGNALS.map((signal) => process.listeners(signal));
	const code = await main(args, screen, settings);
	// `serve` never removes its signal handlers, because its process usually ends. This process continues, so the
	// handlers are removed here.
	for (const [at, signal] of SIGNALS.entries()) {
		const left = process.listeners(signal).filter((listener) => !before[at]?.includes(listener));
		for (const listener of left) process.off(signal, listener);
	}
	const text = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
	return { code, signal: null, stdout: text(stdout), stderr: text(stderr) };
}

/** Returns whether the output contains a stack trace. People must get a sentence instead. */
export function hasStack({ stdout, stderr }: Pick<Ended, "stdout" | "stderr">): boolean {
	return /^\s+at .+[:(]/m.test(`${stdout}\n${stderr}`) || /node:internal/.test(`${stdout}\n${stderr}`);
}
