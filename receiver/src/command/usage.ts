// How a command's arguments are read and shown: every problem is a sentence, with the usage behind it.

import { parseArgs } from "node:util";

export type OptionSpec = {
	readonly type: "string" | "boolean";
	/** What to put for the value in the usage line. */
	readonly value?: string;
	readonly help: string;
	readonly isRequired?: boolean;
};

export type Usage = {
	readonly name: string;
	readonly summary: string;
	/** The one word besides the options, where there is one. */
	readonly argument?: { readonly value: string; readonly help: string };
	readonly options: Readonly<Record<string, OptionSpec>>;
	/** Paragraphs below the options. */
	readonly notes: readonly string[];
};

export type Given = {
	readonly argument: string | undefined;
	readonly wantsHelp: boolean;
	text(name: string): string | undefined;
	flag(name: string): boolean;
};

export type ParsedArguments =
	| { readonly ok: true; readonly given: Given }
	| { readonly ok: false; readonly problem: string };

export function parseArguments(usage: Usage, args: readonly string[]): ParsedArguments {
	const options: Record<string, { type: "string" | "boolean"; short?: string }> = {
		help: { type: "boolean", short: "h" },
	};
	for (const [name, { type }] of Object.entries(usage.options)) options[name] = { type };
	try {
		const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
		const wantsHelp = values["help"] === true;
		const [argument, ...rest] = positionals;
		const stray = usage.argument === undefined ? argument : rest[0];
		if (stray !== undefined) return { ok: false, problem: `"${stray}" is not expected here.` };
		const missing = wantsHelp ? undefined : findMissing(usage, argument, values);
		if (missing !== undefined) return { ok: false, problem: missing };
		const text = (name: string) => {
			const value = values[name];
			return typeof value === "string" ? value : undefined;
		};
		return { ok: true, given: { argument, wantsHelp, text, flag: (name) => values[name] === true } };
	} catch (error) {
		return { ok: false, problem: describeArgumentError(error, args, options) };
	}
}

function findMissing(
	usage: Usage,
	argument: string | undefined,
	values: Readonly<Record<string, unknown>>,
): string | undefined {
	if (usage.argument !== undefined && argument === undefined) {
		return `${usage.argument.value} is missing: ${usage.argument.help}.`;
	}
	for (const [name, { isRequired, help }] of Object.entries(usage.options)) {
		if (isRequired === true && values[name] === undefined) return `--${name} is missing: ${help}.`;
	}
	return undefined;
}

// parseArgs throws for unknown options and missing values; its own words are for programmers.
function describeArgumentError(
	error: unknown,
	args: readonly string[],
	options: Readonly<Record<string, object>>,
): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	const nameOf = (arg: string): string => arg.replace(/^--/, "").replace(/=.*$/s, "");
	if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
		const unknown = args.find((arg) => arg.startsWith("-") && arg !== "-h" && !(nameOf(arg) in options));
		return `${unknown ?? "This"} is not an option here.`;
	}
	const incomplete = args.find((arg, at) => arg.startsWith("--") && (args[at + 1]?.startsWith("-") ?? true));
	return `${incomplete ?? "An option"} needs a value. If the value starts with a dash, write ${incomplete ?? "--option"}=VALUE.`;
}

/** `program` is what the command is typed behind. */
export function describeUsage(
	{ name, summary, argument, options, notes }: Usage,
	program = "ringback",
): string {
	const entries = Object.entries(options);
	const words = entries.map(([option, spec]) => {
		const shown = spec.type === "boolean" ? `--${option}` : `--${option} ${spec.value ?? "TEXT"}`;
		return spec.isRequired === true ? shown : `[${shown}]`;
	});
	const rows = entries.map(([option, spec]) => [
		spec.type === "boolean" ? `--${option}` : `--${option} ${spec.value ?? "TEXT"}`,
		spec.help,
	]);
	if (argument !== undefined) rows.unshift([argument.value, argument.help]);
	const width = Math.max(...rows.map(([shown]) => shown?.length ?? 0));
	return [
		[program, name, ...(argument === undefined ? [] : [argument.value]), ...words].join(" "),
		"",
		summary,
		"",
		...rows.map(([shown, help]) => `  ${shown?.padEnd(width)}  ${help}`),
		...notes.flatMap((note) => ["", note]),
	].join("\n");
}
