// This room is the `ringback` command.
// Here: what a subcommand is. Options are read and shown as the shop's commands do it: every problem is a sentence,
// with the usage behind it.

import { describeUsage, type OptionSpec, parseArguments } from "@ringback/receiver/command";
import { type Config, type Environment, readConfig } from "../config.ts";
import type { Result } from "../domain/fault.ts";
import type { Workplace } from "../service/workplace.ts";

export interface Command {
	/** As typed: "user create". */
	name: string;
	summary: string;
	/** The one word besides the options, where there is one. */
	argument?: { value: string; help: string; isOptional?: boolean };
	options: Readonly<Record<string, OptionSpec>>;
	/** Paragraphs below the options. */
	notes?: readonly string[];
	/** With the settings of the process, unless others are given. */
	run(options: Options, screen: Screen, environment?: Environment): Promise<number>;
}

export interface Screen {
	out(line: string): void;
	error(line: string): void;
}

/** What was given; an option that was not is empty. */
export interface Options {
	/** The word besides the options. */
	argument: string;
	text(name: string): string;
	flag(name: string): boolean;
}

/** Wrong usage: 2, as shells expect; something failed: 1. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** Ends a command: its message says what to do, and nothing was done. */
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

/** `program` is what the command is typed behind, `separator` what npm needs before options. */
export function describeCommand(command: Command, program = "ringback", separator?: string): string {
	const name = separator === undefined ? command.name : `${command.name} ${separator}`;
	return describeUsage({ notes: [], ...command, name }, program);
}

/** For commands that the settings must be right for. */
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

/** A command speaks for itself; the log stays for what goes wrong. */
export function quietly(config: Config): Config {
	return config.logLevel === "info" ? { ...config, logLevel: "warn" } : config;
}

interface WorkplaceCommand extends Omit<Command, "run"> {
	work(workplace: Workplace, options: Options, screen: Screen): Promise<Result<Answer>>;
}

/** The same twice: for a script, and for people. */
export interface Answer {
	json: object;
	text: string;
	/** Something is left for a person to do: a script must not go on as if all were done. */
	isIncomplete?: boolean;
}

/** A command that works on the database: it does one thing, and says how it went in words or as JSON. */
export function workplaceCommand({ work, ...command }: WorkplaceCommand): Command {
	return {
		...command,
		options: { ...command.options, json: JSON_OPTION },
		run: withSettings(async (options, screen, config) => {
			// Loaded when it is needed: what only prints a text, or is the shop's, does without the whole service.
			const { openWorkplace } = await import("../service/workplace.ts");
			const workplace = await openWorkplace(quietly(config));
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

/** What `ringback doctor` and `ringback verify` have found: one sentence a check. */
export interface Finding {
	/** What was looked at, in a word. */
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

/** Fails when one of them is a problem. */
export function sayFindings(screen: Screen, findings: readonly Finding[], asJson: boolean): number {
	for (const one of findings) {
		const sign = { ok: "ok     ", warning: "WARNING", problem: "PROBLEM" }[one.state];
		screen.out(asJson ? JSON.stringify(one) : `${sign}  ${one.check.padEnd(12)} ${one.detail}`);
	}
	return findings.some(({ state }) => state === "problem") ? EXIT.failed : EXIT.ok;
}
