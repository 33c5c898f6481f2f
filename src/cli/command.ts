// Definition of a subcommand of `ringback`. Options are parsed and described as in the command for shops:
// every problem is a sentence, followed by the usage.

import { describeUsage, type OptionSpec, parseArguments } from "@ringback/receiver/command";
import type { Result } from "#core/domain/fault.ts";
import { type Config, type Environment, readConfig } from "../config.ts";
import type { Workplace } from "../service/workplace.ts";

export interface Command {
	/** Name as typed, for example "user create". */
	name: string;
	summary: string;
	argument?: { value: string; help: string; isOptional?: boolean };
	options: Readonly<Record<string, OptionSpec>>;
	notes?: readonly string[];
	/** Runs the command and resolves to its exit code. By default it reads the settings of the process. */
	run(options: Options, screen: Screen, environment?: Environment): Promise<number>;
}

export interface Screen {
	out(line: string): void;
	error(line: string): void;
}

/** Options from the command line. An option that was not given is an empty text. */
export interface Options {
	argument: string;
	text(name: string): string;
	flag(name: string): boolean;
}

/** Exit codes. 1 means that something failed, and 2 means wrong usage, as is usual in shells. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** Ends a command before it has done anything. The message says what the person must do. */
export class CommandError extends Error {
	readonly exit: number;

	constructor(message: string, exit: number = EXIT.usage) {
		super(message);
		this.exit = exit;
	}
}

export const JSON_OPTION: OptionSpec = {
	type: "boolean",
	help: "print JSON, one object per line, for scripts",
};

export type ParsedOptions =
	| { ok: true; options: Options; wantsHelp: boolean }
	| { ok: false; problem: string };

export function parseOptions(command: Command, args: readonly string[]): ParsedOptions {
	const given = parseArguments({ notes: [], ...command }, args);
	if (typeof given === "string") return { ok: false, problem: given };
	const { wantsHelp, argument = "", text, flag } = given;
	return { ok: true, wantsHelp, options: { argument, text: (name) => text(name) ?? "", flag } };
}

/**
 * Returns the command's help. `program` is the text before the name of the command, and `separator` is the
 * `--` that npm requires before options.
 */
export function describeCommand(command: Command, program = "ringback", separator?: string): string {
	const name = separator === undefined ? command.name : `${command.name} ${separator}`;
	return describeUsage({ notes: [], ...command, name }, program);
}

/** Runs a command that needs valid settings. If they are not valid, prints the problems. */
export function withSettings(
	run: (options: Options, screen: Screen, config: Config) => Promise<number>,
): Command["run"] {
	return async (options, screen, environment) => {
		const read = readConfig(environment);
		return read.ok ? run(options, screen, read.config) : sayProblems(screen, read.problems);
	};
}

function sayProblems(screen: Screen, problems: readonly string[]): number {
	screen.error(problems.length === 1 ? "A setting is wrong:" : `${problems.length} settings are wrong:`);
	for (const problem of problems) screen.error(`  - ${problem}`);
	screen.error("`ringback guide settings` explains every setting.");
	return EXIT.usage;
}

/** Returns the settings with a log that contains only failures, because a command prints its own messages. */
export function quietly(config: Config): Config {
	return config.logLevel === "info" ? { ...config, logLevel: "warn" } : config;
}

interface WorkplaceCommand extends Omit<Command, "run"> {
	work(workplace: Workplace, options: Options, screen: Screen): Promise<Result<Answer>>;
}

/** Result of a command in two forms, one for scripts and one for people. */
export interface Answer {
	json: object;
	text: string;
	/**
	 * True if a person must still do something. The exit code is then not 0, so that a script does not
	 * continue.
	 */
	isIncomplete?: boolean;
}

/**
 * Creates a command that performs one operation on an existing database and reports the result in words or as JSON.
 */
export function workplaceCommand({ work, ...command }: WorkplaceCommand): Command {
	return {
		...command,
		options: { ...command.options, json: JSON_OPTION },
		run: withSettings(async (options, screen, config) => {
			// The import is made here, because commands that only print a text must not load the whole service.
			const { openWorkplace } = await import("../service/workplace.ts");
			const workplace = await openWorkplace(quietly(config), { mustExist: true });
			try {
				return sayResult(screen, await work(workplace, options, screen), options.flag("json"));
			} finally {
				await workplace.close();
			}
		}),
	};
}

function sayResult(screen: Screen, result: Result<Answer>, asJson: boolean): number {
	if (result.ok) {
		screen.out(asJson ? JSON.stringify(result.value.json) : result.value.text);
		return result.value.isIncomplete === true ? EXIT.failed : EXIT.ok;
	}
	const { code, detail, field } = result.fault;
	if (asJson) screen.out(JSON.stringify({ error: code, detail, field: field ?? null }));
	else screen.error(detail);
	return EXIT.failed;
}

export interface Finding {
	check: string;
	state: "ok" | "warning" | "problem";
	detail: string;
}

const finding =
	(state: Finding["state"]) =>
	(check: string, detail: string): Finding => ({ check, state, detail });
export const ok = finding("ok");
export const warning = finding("warning");
export const problem = finding("problem");

/** Prints the findings and returns the exit code, which is not 0 if a finding is a problem. */
export function sayFindings(screen: Screen, findings: readonly Finding[], asJson: boolean): number {
	for (const one of findings) {
		const sign = { ok: "ok     ", warning: "WARNING", problem: "PROBLEM" }[one.state];
		screen.out(asJson ? JSON.stringify(one) : `${sign}  ${one.check.padEnd(12)} ${one.detail}`);
	}
	return findings.some(({ state }) => state === "problem") ? EXIT.failed : EXIT.ok;
}
