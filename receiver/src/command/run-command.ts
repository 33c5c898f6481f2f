// Runs the commands for shops, `ringback listen` and `ringback trigger`. Both the package's own executable
// and the service's command use this file.

import { splitSecrets } from "../secrets.ts";
import { listen, listenUsage } from "./listen.ts";
import { showPlainly } from "./plain-text.ts";
import { readSecretSetting } from "./secret-setting.ts";
import { exitCode, type Surroundings } from "./surroundings.ts";
import { trigger, triggerUsage } from "./trigger.ts";
import { describeUsage, type Given, parseArguments, type Usage } from "./usage.ts";
import { readVersion } from "./version.ts";

export type { Environment, Screen } from "./surroundings.ts";
export { describeUsage, type OptionSpec, parseArguments } from "./usage.ts";

type ShopCommand = { readonly usage: Usage; run(given: Given, surroundings: Surroundings): Promise<number> };

const commands: readonly ShopCommand[] = [
	{ usage: listenUsage, run: listen },
	{ usage: triggerUsage, run: trigger },
];

/** Names and summaries of the commands, for a list in the help. */
export const shopCommands: readonly { readonly name: string; readonly summary: string }[] = commands.map(
	({ usage: { name, summary } }) => ({ name, summary }),
);

/** Runs a command until it ends or the process is asked to stop. Resolves to the exit code. */
export async function runCommand(
	args: readonly string[],
	around: Omit<Surroundings, "stopSignal">,
): Promise<number> {
	const { screen } = around;
	const [name, ...rest] = args;
	if (name === undefined || ["help", "--help", "-h"].includes(name)) {
		screen.out(describeCommands());
		return exitCode.ok;
	}
	if (name === "--version") {
		screen.out(readVersion());
		return exitCode.ok;
	}
	const command = commands.find(({ usage }) => usage.name === name);
	if (command === undefined) {
		screen.error(`There is no command "${showPlainly(name)}".\n\n${describeCommands()}`);
		return exitCode.usage;
	}
	const given = parseArguments(command.usage, rest);
	if (typeof given === "string") {
		screen.error(`${given}\n\n${describeUsage(command.usage)}`);
		return exitCode.usage;
	}
	if (given.wantsHelp) {
		screen.out(describeUsage(command.usage));
		return exitCode.ok;
	}
	const stopping = new AbortController();
	const stop = () => stopping.abort();
	process.once("SIGINT", stop).once("SIGTERM", stop);
	try {
		return await command.run(given, { ...around, stopSignal: stopping.signal });
	} catch (error) {
		screen.error(`ringback ${name} has failed, as it never should: ${describeUnforeseen(error, around)}`);
		return exitCode.failed;
	} finally {
		process.off("SIGINT", stop).off("SIGTERM", stop);
	}
}

/**
 * Returns one line about an unexpected error, without a stack trace. Secrets are removed, because the message
 * may come from outside and quote a header.
 */
function describeUnforeseen(error: unknown, { environment }: Pick<Surroundings, "environment">): string {
	let text = error instanceof Error ? `${error.name}: ${error.message}` : "an unknown error";
	for (const name of ["RINGBACK_API_KEY", "RINGBACK_SIGNING_SECRET"]) {
		for (const secret of splitSecrets(readSecretSetting(environment, name).value)) {
			text = text.replaceAll(secret, "…");
		}
	}
	return showPlainly(text);
}

function describeCommands(): string {
	const width = Math.max(...shopCommands.map(({ name }) => name.length));
	return [
		"The shop's side of Ringback.",
		"",
		"Usage: ringback COMMAND [OPTIONS]",
		"",
		...shopCommands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
		"",
		"ringback COMMAND --help shows a command's options, ringback --version the package's version.",
	].join("\n");
}
