// `ringback listen` and `ringback trigger`: the commands of the package that a shop installs, as the service's own. The
// same words, options and exit codes.

import { runCommand, shopCommands } from "@ringback/receiver/command";
import { shopEnvironment } from "../config.ts";
import type { DelegatedCommand } from "./command.ts";

export const SHOP_COMMANDS: readonly DelegatedCommand[] = shopCommands.map(({ name, summary }) => ({
	name,
	summary,
	delegate: (args, screen) =>
		runCommand([name, ...args], {
			environment: shopEnvironment(),
			screen,
			isTerminal: process.stdout.isTTY === true,
		}),
}));
