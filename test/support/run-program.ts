// Programs that the tests start: what they say is heard, and none outlives its test.

import { equal } from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { endProcess, watchProcess } from "./watched-process.ts";

export type Settings = Readonly<Record<string, string>>;

export interface RunningProgram {
	/** All it has said so far, on either stream. */
	readonly output: string;
	/** Resolves to the match; fails, with all that was said, when the program ends or nothing comes. */
	said(pattern: RegExp): Promise<RegExpExecArray>;
	send(signal: NodeJS.Signals): void;
	/** Resolves to its exit code when it has ended by itself. */
	ended(): Promise<number | null>;
	stop(): Promise<void>;
}

/** A first build or an install on a loaded machine; whatever takes this long is stuck. */
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
	// One that cannot be started ends at once, and whoever waits for its words is told.
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

/** Until it ends; fails, with all it said, unless it ends well. */
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

/** Of the program: the machine's, without what `npm test` and the developer's own tools put there. */
export function programEnvironment(
	surroundings: NodeJS.ProcessEnv = process.env,
	settings: Settings = {},
): NodeJS.ProcessEnv {
	const own = Object.entries(surroundings).filter(
		([name]) => !OF_THE_OUTER_RUN.some((each) => each.test(name)),
	);
	return { ...Object.fromEntries(own), NO_COLOR: "1", ...settings };
}

const OF_THE_OUTER_RUN: readonly RegExp[] = [
	/^RINGBACK_/,
	// A shop's Node must not run as a test or with a developer's options, but must trust whom the machine trusts.
	/^NODE_(?!(?:EXTRA_CA_CERTS|USE_SYSTEM_CA|USE_ENV_PROXY|TLS_REJECT_UNAUTHORIZED)$)/,
	// An npm inside would take this repository for its own; the settings, where its registry is and how to reach it, stay.
	/^(?:INIT_CWD$|npm_(?!config_))/i,
	/^npm_config_(?:local_prefix|workspaces?|include_workspace_root)$/i,
];
