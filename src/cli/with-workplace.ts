// Opens what a command works with, hands it over, and closes it whatever happens.

import { readConfig } from "../config.ts";
import type { Workplace } from "../service.ts";
import { EXIT, type Screen } from "./command.ts";

export async function withWorkplace(
	screen: Screen,
	work: (workplace: Workplace) => Promise<number>,
): Promise<number> {
	const read = readConfig();
	if (!read.ok) return sayProblems(screen, read.problems);
	// A command speaks for itself; the log stays for what goes wrong.
	const level = read.config.logLevel === "info" ? "warn" : read.config.logLevel;
	// Loaded when it is needed: what only prints a text, or is the shop's, does without the whole service.
	const { openWorkplace } = await import("../service.ts");
	const workplace = await openWorkplace({ ...read.config, logLevel: level });
	try {
		return await work(workplace);
	} finally {
		await workplace.close();
	}
}

export function sayProblems(screen: Screen, problems: readonly string[]): number {
	screen.error(problems.length === 1 ? "A setting is wrong:" : `${problems.length} settings are wrong:`);
	for (const problem of problems) screen.error(`  - ${problem}`);
	screen.error("docs/operations.md explains every setting.");
	return EXIT.usage;
}
