// A command that works on the database: it opens what it works with, does one thing, says how it went in words or as
// JSON, and closes it whatever happens.

import { readConfig } from "../config.ts";
import type { Result } from "../domain/fault.ts";
import type { Workplace } from "../service/workplace.ts";
import { type Command, EXIT, JSON_OPTION, type Options, type Screen } from "./command.ts";

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

export function workplaceCommand({ work, ...command }: WorkplaceCommand): Command {
	return {
		...command,
		options: { ...command.options, json: JSON_OPTION },
		async run(options, screen, environment) {
			const read = readConfig(environment);
			if (!read.ok) return sayProblems(screen, read.problems);
			// A command speaks for itself; the log stays for what goes wrong.
			const logLevel = read.config.logLevel === "info" ? "warn" : read.config.logLevel;
			// Loaded when it is needed: what only prints a text, or is the shop's, does without the whole service.
			const { openWorkplace } = await import("../service/workplace.ts");
			const workplace = await openWorkplace({ ...read.config, logLevel });
			try {
				return sayResult(screen, await work(workplace, options, screen), options.flag("json"));
			} finally {
				await workplace.close();
			}
		},
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

export function sayProblems(screen: Screen, problems: readonly string[]): number {
	screen.error(problems.length === 1 ? "A setting is wrong:" : `${problems.length} settings are wrong:`);
	for (const problem of problems) screen.error(`  - ${problem}`);
	screen.error("`ringback guide settings` explains every setting.");
	return EXIT.usage;
}
