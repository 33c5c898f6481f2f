// `ringback licences`: the licences of everything that is in the executable, for whoever has nothing but that file.

import { isExecutable, readShippedFile } from "../shipped-files.ts";
import { type Command, EXIT } from "./command.ts";

export const licencesCommand: Command = {
	name: "licences",
	summary: "Prints the licences of Ringback and of every part it is made of.",
	options: {},
	async run(_options, screen) {
		screen.out(
			isExecutable ? readShippedFile("LICENSES.txt").trimEnd() : readShippedFile("LICENSE").trimEnd(),
		);
		if (!isExecutable)
			screen.out("\nThe packages it uses have their own licences beside them, in node_modules/.");
		return EXIT.ok;
	},
};
