// A folder of its own in which a test runs the real command: nothing of the machine's environment gets in,
// every process that was started has ended before the folder goes, and nothing is left behind.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../support/until.ts";

export type Settings = Readonly<Record<string, string>>;

export interface Ended {
	code: number | null;
	signal: NodeJS.Signals | null;
	stdout: string;
	stderr: string;
}

export interface Running {
	/** What it has said so far. */
	readonly stdout: string;
	readonly stderr: string;
	readonly isRunning: boolean;
	/** Undefined when it could not be started. */
	readonly pid: number | undefined;
	kill(signal: NodeJS.Signals): void;
	/** Resolves to the match; fails, with all that was said, when the process ends or nothing comes in time. */
	said(pattern: RegExp): Promise<RegExpExecArray>;
	ended(): Promise<Ended>;
}

export interface Home {
	folder: string;
	/** The SQLite file that the settings of this home name. */
	databasePath: string;
	/** `node src/main.ts …` until it ends. */
	run(args: readonly string[], settings?: Settings): Promise<Ended>;
	start(args: readonly string[], settings?: Settings): Running;
	/** Any other program of the repository's Node: `demo/main.ts`. */
	startScript(script: string, args: readonly string[], settings?: Settings): Running;
}

/** A loaded machine needs a second or two for a command; whatever takes this long is stuck. */
const PATIENCE_MS = 20_000;

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Half of a command's time is compiling the same sources again. Goes with node_modules, where tools keep such. */
const COMPILE_CACHE = join(ROOT, "node_modules", ".cache", "compile");

/** A test, or a suite's own hooks. */
interface Cleaning {
	after(clean: () => Promise<void>): void;
}

export function openHome(t: Cleaning): Home {
	const folder = mkdtempSync(join(tmpdir(), "ringback-command-"));
	const databasePath = join(folder, "ringback.db");
	const children: ChildProcess[] = [];
	// For a run that is broken off: what it started must not outlive it.
	const endWithUs = (): void => {
		for (const child of children) child.kill("SIGKILL");
		rmSync(folder, { recursive: true, force: true });
	};
	process.once("exit", endWithUs);
	t.after(async () => {
		await Promise.all(children.map(endNow));
		rmSync(folder, { recursive: true, force: true });
		process.off("exit", endWithUs);
	});
	const startScript: Home["startScript"] = (script, args, settings = {}) => {
		const env = {
			PATH: process.env["PATH"] ?? "",
			TMPDIR: folder,
			NODE_COMPILE_CACHE: COMPILE_CACHE,
			DATABASE_URL: `sqlite:${databasePath}`,
			...settings,
		};
		const child = spawn(process.execPath, [join(ROOT, script), ...args], { cwd: folder, env });
		children.push(child);
		return watch(child);
	};
	const start: Home["start"] = (args, settings) => startScript("src/main.ts", args, settings);
	return { folder, databasePath, start, startScript, run: (args, settings) => start(args, settings).ended() };
}

function watch(child: ChildProcess): Running {
	let stdout = "";
	let stderr = "";
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		stdout += text;
	});
	child.stderr?.setEncoding("utf8").on("data", (text: string) => {
		stderr += text;
	});
	// "close", not "exit": only then has everything that was said been heard.
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

function patience(describe: () => string): Promise<never> {
	return new Promise((_resolve, reject) => {
		setTimeout(
			() => reject(new Error(`did not end in ${PATIENCE_MS} ms; ${describe()}`)),
			PATIENCE_MS,
		).unref();
	});
}

async function endNow(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill("SIGKILL");
	await exited;
}

/** The forbidden side of every command: people get a sentence, never a stack. */
export function hasStack({ stdout, stderr }: Pick<Ended, "stdout" | "stderr">): boolean {
	return /^\s+at .+[:(]/m.test(`${stdout}\n${stderr}`) || /node:internal/.test(`${stdout}\n${stderr}`);
}
