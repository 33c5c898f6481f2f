// This room is the `ringback` command.
// Here: what a subcommand is. Options are read and shown as the shop's commands do it: every problem is a sentence,
// with the usage behind it.

import { describeUsage, type OptionSpec, parseArguments } from "@ringback/receiver/command";
import type { Environment } from "../config.ts";

export interface Command {
	/** As typed: "programme create". */
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
