// A proof is a test that can run for any length of time, as a command with options. The command shows its progress and
// prints one summary line with its counts. At the first broken promise it prints the command that replays the failure.

import { type Command, describeCommand, EXIT, parseOptions } from "../../src/cli/command.ts";
import { endInOrder } from "./end-in-order.ts";

export interface Proof {
	/** Name of the script after `npm run`. */
	name: string;
	summary: string;
	options: Readonly<Record<string, ProofOption>>;
	/**
	 * Runs the proof. Resolves to the counts of the summary line. Rejects with a BrokenPromise if a promise was
	 * broken.
	 */
	run(options: Readonly<Record<string, number | null>>, progress: Progress): Promise<string>;
}

/** An option whose value is a whole number. `preset` is the default value, or null if there is none. */
export interface ProofOption {
	value: string;
	help: string;
	preset: number | null;
	/** Smallest allowed value; 0 by default. */
	least?: number;
	/** Largest allowed value; unlimited by default. */
	most?: number;
}

/** Reports the progress in a few words. At most a few of these texts are shown in a second. */
export type Progress = (text: string) => void;

/**
 * True in `npm run test:long`, which runs each proof at the length that a change must pass. `npm test` runs
 * shorter proofs.
 */
export const isLong: boolean = process.env["RINGBACK_TEST"] === "long";

export const noProgress: Progress = () => undefined;

/** Error for a promise that did not hold, with the command that replays the failure. */
export class BrokenPromise extends Error {
	readonly replay: string;

	constructor(what: string, replay: string, cause?: unknown) {
		super(what, { cause });
		this.replay = replay;
	}
}

/** Returns the initial counts of a proof, all zero. */
export function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
	return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}

const TERMINAL_INTERVAL_MS = 200;
/** Interval of progress lines if the output is a file, which keeps every line. */
const LOG_INTERVAL_MS = 10_000;

export async function runProof(proof: Proof, args: readonly string[]): Promise<number> {
	const command = asCommand(proof);
	const parsed = parseOptions(command, args);
	if (!parsed.ok) return refuse(proof, parsed.problem);
	if (parsed.wantsHelp) {
		process.stdout.write(`${describeProof(proof)}\n`);
		return EXIT.ok;
	}
	const options: Record<string, number | null> = {};
	for (const [name, option] of Object.entries(proof.options)) {
		const text = parsed.options.text(name);
		if (text !== "" && !isWithin(text, option)) return refuse(proof, describeBounds(name, option, text));
		options[name] = text === "" ? option.preset : Number(text);
	}
	endInOrder();
	const startedMs = performance.now();
	const screen = openProgress(proof.name);
	try {
		const counts = await proof.run(options, screen.show);
		screen.clear();
		process.stdout.write(`${proof.name}: ${counts} (${seconds(startedMs)})\n`);
		return EXIT.ok;
	} catch (error) {
		screen.clear();
		process.stderr.write(`${proof.name}: BROKEN after ${seconds(startedMs)}: ${describe(error)}\n`);
		return EXIT.failed;
	}
}

function isWithin(text: string, { least = 0, most = Number.POSITIVE_INFINITY }: ProofOption): boolean {
	return /^\d{1,12}$/.test(text) && Number(text) >= least && Number(text) <= most;
}

function describeBounds(name: string, { least = 0, most }: ProofOption, text: string): string {
	const bounds = most === undefined ? `, ${least} or more` : ` from ${least} to ${most}`;
	return `--${name} must be a whole number${bounds}; "${text}" is not.`;
}

function asCommand({ name, summary, options }: Proof): Command {
	const specs = Object.entries(options).map(([option, { value, help, preset }]) => {
		const usual = preset === null ? help : `${help} (${preset} if not given)`;
		return [option, { type: "string" as const, value, help: usual }] as const;
	});
	return { name, summary, options: Object.fromEntries(specs), run: async () => EXIT.ok };
}

function describeProof(proof: Proof): string {
	return describeCommand(asCommand(proof), "npm run", "--");
}

function refuse(proof: Proof, problem: string): number {
	process.stderr.write(`${problem}\n\n${describeProof(proof)}\n`);
	return EXIT.usage;
}

function describe(error: unknown): string {
	if (!(error instanceof BrokenPromise)) {
		return error instanceof Error ? (error.stack ?? error.message) : String(error);
	}
	const cause = error.cause instanceof Error ? `\n${error.cause.stack ?? error.cause.message}` : "";
	return `${error.message}${cause}\nreplay: ${error.replay}`;
}

function openProgress(name: string): { show: Progress; clear(): void } {
	const isTerminal = process.stderr.isTTY === true;
	const intervalMs = isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS;
	let shownAtMs = performance.now() - (isTerminal ? intervalMs : 0);
	return {
		show(text) {
			const nowMs = performance.now();
			if (nowMs - shownAtMs < intervalMs) return;
			shownAtMs = nowMs;
			process.stderr.write(isTerminal ? `\r\u001b[K${name}: ${text}` : `${name}: ${text}\n`);
		},
		clear() {
			if (isTerminal) process.stderr.write("\r\u001b[K");
		},
	};
}

function seconds(sinceMs: number): string {
	return `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
}
