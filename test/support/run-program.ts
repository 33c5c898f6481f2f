// Starts programs for tests. Their output is captured, and no program outlives its test.

import { equal } from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { endProcess, watchProcess } from "./watched-process.ts";

export type Settings = Readonly<Record<string, string>>;

export interface RunningProgram {
	/** All output so far, from both streams. */
	readonly output: string;
	/**
	 * Waits until the output matches, and resolves to the match. Fails with all output if the program ends or
	 * the text does not come.
	 */
	said(pattern: RegExp): Promise<RegExpExecArray>;
	send(signal: NodeJS.Signals): void;
	/** Resolves to the exit code when the program has ended by itself. */
	ended(): Promise<number | null>;
	stop(): Promise<void>;
}

/** Time limit for a first build or an installation on a busy machine. A program that takes longer hangs. */
const PATIENCE_MS = 300_000;
const LONGEST_OUTPUT_BYTES = 16 * 1024 * 1024;

export function startProgram(
	command: string,
	args: readonly string[],
	folder: string,
	settings: Settings = {},
): RunningProgram {
	const child = spawn(command, args, {
		cwd: folder,
		env: programEnvironment(process.env, settings),
		stdio: ["ignore", "pipe", "pipe"],
	});
	// If a program cannot be started, "close" is also emitted and notifies waiting callers, so the error itself needs no
	// handling.
	child.on("error", () => undefined);
	const running = watchProcess(child);
	return {
		get output() {
			return running.stdout + running.stderr;
		},
		said: running.said,
		send(signal) {
			equal(child.kill(signal), true);
		},
		ended: async () => (await running.ended()).code,
		stop: () => endProcess(child),
	};
}

/** Runs the program until it ends. Fails with all output if the exit code is not 0. */
export async function runProgram(
	command: string,
	args: readonly string[],
	folder: string,
	settings: Settings = {},
): Promise<string> {
	const options = {
		cwd: folder,
		env: programEnvironment(process.env, settings),
		timeout: PATIENCE_MS,
		maxBuffer: LONGEST_OUTPUT_BYTES,
	};
	try {
		const { stdout, stderr } = await promisify(execFile)(command, args, options);
		return stdout + stderr;
	} catch (error) {
		const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
		throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
	}
}

/**
 * Returns the environment for a program. It is the machine's environment, without the variables of `npm test`
 * and of the developer's tools.
 */
export function programEnvironment(
	surroundings: NodeJS.ProcessEnv = process.env,
	settings: Settings = {},
): NodeJS.ProcessEnv {
	const inherited = Object.entries(surroundings).filter(
		([name]) => !OF_THE_OUTER_RUN.some((each) => each.test(name)),
	);
	return { ...Object.fromEntries(inherited), NO_COLOR: "1", ...settings };
}

const OF_THE_OUTER_RUN: readonly RegExp[] = [
	/^RINGBACK_/,
	// A shop's Node must not run as a test or with a developer's options, but it must trust the machine's
	// certificates.
	/^NODE_(?!(?:EXTRA_CA_CERTS|USE_SYSTEM_CA|USE_ENV_PROXY|TLS_REJECT_UNAUTHORIZED)$)/,
	// These variables would make npm inside the test believe that it runs in this repository. Settings about the
	// registry are not removed.
	/^(?:INIT_CWD$|npm_(?!config_))/i,
	/^npm_config_(?:local_prefix|workspaces?|include_workspace_root)$/i,
];
