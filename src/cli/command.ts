// What a subcommand is, and how its options are read: every problem is a sentence, with the usage behind it.

import { parseArgs } from "node:util";
import type { Fault } from "../domain/fault.ts";

export interface OptionSpec {
	type: "string" | "boolean";
	/** What to put for the value in the usage line. */
	value?: string;
	help: string;
	isRequired?: boolean;
}

export interface Command {
	/** As typed: "programme create". */
	name: string;
	summary: string;
	options: Readonly<Record<string, OptionSpec>>;
	run(options: Options, screen: Screen): Promise<number>;
}

/** Reads its arguments itself: the shop's commands are those of the package that a shop installs. */
export interface DelegatedCommand {
	name: string;
	summary: string;
	delegate(args: readonly string[], screen: Screen): Promise<number>;
}

export interface Screen {
	out(line: string): void;
	error(line: string): void;
}

/** Wrong usage: 2, as shells expect; something failed: 1. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

export const JSON_OPTION: OptionSpec = {
	type: "boolean",
	help: "print JSON, one object a line, for scripts",
};

export class Options {
	readonly #values: Readonly<Record<string, string | boolean | undefined>>;

	constructor(values: Readonly<Record<string, string | boolean | undefined>>) {
		this.#values = values;
	}

	text(name: string): string {
		const value = this.#values[name];
		return typeof value === "string" ? value : "";
	}

	flag(name: string): boolean {
		return this.#values[name] === true;
	}
}

export type ParsedOptions =
	| { ok: true; options: Options; wantsHelp: boolean }
	| { ok: false; problem: string };

export function parseOptions(command: Command, args: readonly string[]): ParsedOptions {
	const specs: Record<string, { type: "string" | "boolean"; short?: string }> = {
		help: { type: "boolean", short: "h" },
	};
	for (const [name, { type }] of Object.entries(command.options)) specs[name] = { type };
	try {
		const { values, positionals } = parseArgs({
			args: [...args],
			allowPositionals: true,
			options: specs,
		});
		const wantsHelp = values["help"] === true;
		if (positionals.length > 0) return { ok: false, problem: `"${positionals[0]}" is not expected here.` };
		const filled: Record<string, string | boolean | undefined> = {};
		for (const [name, spec] of Object.entries(command.options)) {
			const value = values[name];
			filled[name] = typeof value === "string" || typeof value === "boolean" ? value : undefined;
			if (spec.isRequired === true && filled[name] === undefined && !wantsHelp) {
				return { ok: false, problem: `--${name} is missing: ${spec.help}.` };
			}
		}
		return { ok: true, options: new Options(filled), wantsHelp };
	} catch (error) {
		return { ok: false, problem: describeArgumentError(error, args, specs) };
	}
}

/** parseArgs throws for unknown options and missing values; its own words speak of positionals we do not take. */
function describeArgumentError(
	error: unknown,
	args: readonly string[],
	specs: Readonly<Record<string, object>>,
): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	const nameOf = (arg: string): string => arg.replace(/^--/, "").replace(/=.*$/s, "");
	if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
		const unknown = args.find((arg) => arg.startsWith("-") && arg !== "-h" && !(nameOf(arg) in specs));
		return `${unknown ?? "This"} is not an option here.`;
	}
	const incomplete = args.find((arg, at) => arg.startsWith("--") && (args[at + 1]?.startsWith("-") ?? true));
	return `${incomplete ?? "An option"} needs a value. If the value starts with a dash, write ${incomplete ?? "--option"}=VALUE.`;
}

/** `program` is what the command is typed behind, `separator` what npm needs before options. */
export function describeCommand(command: Command, program = "ringback", separator?: string): string {
	const entries = Object.entries(command.options);
	const usage = entries.map(([name, spec]) => {
		const shown = spec.type === "boolean" ? `--${name}` : `--${name} ${spec.value ?? "TEXT"}`;
		return spec.isRequired === true ? shown : `[${shown}]`;
	});
	const width = Math.max(0, ...entries.map(([name, spec]) => name.length + (spec.value?.length ?? 0)));
	const lines = entries.map(([name, spec]) => {
		const shown = spec.type === "boolean" ? name : `${name} ${spec.value ?? "TEXT"}`;
		return `  --${shown.padEnd(width + 3)}${spec.help}`;
	});
	const words = [program, command.name, ...(separator === undefined ? [] : [separator]), ...usage];
	return [words.join(" "), "", command.summary, "", ...lines].join("\n").trimEnd();
}

/** Prints a refusal the way this call was asked to, and gives the exit code. */
export function sayFault(screen: Screen, fault: Fault, asJson: boolean): number {
	if (asJson)
		screen.out(JSON.stringify({ error: fault.code, detail: fault.detail, field: fault.field ?? null }));
	else screen.error(fault.detail);
	return EXIT.failed;
}
