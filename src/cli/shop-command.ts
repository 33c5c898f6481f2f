// A command of the shop's package as one of the service's own: the same words, options and exit codes.

import { runCommand, shopCommands } from "@ringback/receiver/command";
import { shopEnvironment } from "../config.ts";
import type { DelegatedCommand } from "./command.ts";

export function delegateTo(name: string): DelegatedCommand {
	const found = shopCommands.find((command) => command.name === name);
	if (found === undefined) throw new Error(`the receiver package has no command ${name}`);
	return {
		...found,
		delegate: (args, screen) =>
			runCommand([name, ...args], {
				environment: shopEnvironment(),
				screen,
				isTerminal: process.stdout.isTTY === true,
			}),
	};
}
