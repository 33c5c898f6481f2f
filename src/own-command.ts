// How the command of this very program is started on its machine: for lines that people paste.

import { fileURLToPath } from "node:url";
import { isExecutable } from "./shipped-files.ts";

export interface OwnCommand {
	/** Where it must be started; null where that does not matter. */
	folder: string | null;
	/** The words that its subcommand follows. */
	program: readonly string[];
}

export function findOwnCommand(): OwnCommand {
	if (isExecutable) return { folder: null, program: [process.execPath] };
	return {
		folder: fileURLToPath(new URL("../", import.meta.url)),
		program: ["npx", "--no-install", "ringback"],
	};
}
