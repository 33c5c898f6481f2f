// Parses and describes the arguments of a command. Every problem is a sentence, followed by the usage.

import { parseArgs } from "node:util";

export type OptionSpec = {
	readonly type: "string" | "boolean";
	/** Name of the option's value in the usage line. */
	readonly value?: string;
	readonly help: string;
	readonly isRequired?: boolean;
	/** True if the option may be given several times. Otherwise the last value counts. */
	readonly isRepeatable?: boolean;
};

export type Usage = {
	readonly name: string;
	readonly summary: string;
	/** The positional argument, if the command takes one. */
	readonly argument?: { readonly value: string; readonly help: string; readonly isOptional?: boolean };
	readonly options: Readonly<Record<string, OptionSpec>>;
	/** Paragraphs that the help shows below the options. */
	readonly notes: readonly string[];
};

export type Given = {
	readonly argument: string | undefined;
	readonly wantsHelp: boolean;
	text(name: string): string | undefined;
	/** Returns all values of an option that may be given several times, in their order. */
	texts(name: string): readonly string[];
	flag(name: string): boolean;
};

/** Returns the parsed arguments, or a sentence if they are wrong. */
export function parseArguments(usage: Usage, args: readonly string[]): Given | string {
	const options: Record<string, { type: "string" | "boolean"; multiple?: boolean; short?: string }> = {
		help: { type: "boolean", short: "h" },
	};
	for (const [name, { type, isRepeatable = false }] of Object.entries(usage.options)) {
		options[name] = { type, multiple: isRepeatable };
	}
	try {
		const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
		const [argument, ...rest] = positionals;
		const stray = usage.argument === undefined ? argument : rest[0];
		if (stray !== undefined) return `"${stray}" is not expected here.`;
		const texts = (name: string): string[] =>
			[values[name]].flat().filter((value) => typeof value === "string");
		const given: Given = {
			argument,
			wantsHelp: values["help"] === true,
			text: (name) => texts(name).at(-1),
			texts,
			flag: (name) => values[name] === true,
		};
		return (given.wantsHelp ? undefined : findMissing(usage, given)) ?? given;
	} catch (error) {
		return describeArgumentError(error, args, options);
	}
}

function findMissing({ argument, options }: Usage, given: Given): string | undefined {
	if (argument !== undefined && argument.isOptional !== true && given.argument === undefined) {
		return `${argument.value} is missing: ${argument.help}.`;
	}
	const missing = Object.entries(options).find(
		([name, { isRequired }]) => isRequired === true && given.text(name) === undefined,
	);
	return missing && `--${missing[0]} is missing: ${missing[1].help}.`;
}

// parseArgs throws for unknown options and missing values, but its messages are meant for programmers, so
// they are replaced.
function describeArgumentError(error: unknown, args: readonly string[], options: object): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	const nameOf = (arg: string): string => arg.replace(/^--/, "").replace(/=.*$/s, "");
	if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
		const unknown = args.find((arg) => arg.startsWith("-") && arg !== "-h" && !(nameOf(arg) in options));
		return `${unknown ?? "This"} is not an option here.`;
	}
	const incomplete = args.find((arg, at) => arg.startsWith("--") && (args[at + 1]?.startsWith("-") ?? true));
	return `${incomplete ?? "An option"} needs a value. If the value starts with a dash, write ${incomplete ?? "--option"}=VALUE.`;
}

/** Returns the usage text. `program` is the name before the command. */
export function describeUsage(
	{ name, summary, argument, options, notes }: Usage,
	program = "ringback",
): string {
	const rows = Object.entries(options).map(([option, { type, value = "TEXT", help, ...how }]) => {
		const shown = type === "boolean" ? `--${option}` : `--${option} ${value}`;
		const inLine = how.isRequired === true ? shown : `[${shown}]`;
		return { shown, help, inLine: how.isRepeatable === true ? `${inLine}...` : inLine };
	});
	if (argument !== undefined) {
		const { value, help, isOptional } = argument;
		rows.unshift({ shown: value, help, inLine: isOptional === true ? `[${value}]` : value });
	}
	const width = Math.max(...rows.map(({ shown }) => shown.length));
	return [
		[program, name, ...rows.map(({ inLine }) => inLine)].join(" "),
		"",
		summary,
		"",
		...rows.map(({ shown, help }) => `  ${shown.padEnd(width)}  ${help}`),
		...notes.flatMap((note) => ["", note]),
	].join("\n");
}
