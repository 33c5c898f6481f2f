// How the command of this very service is started on its machine: for lines that people paste.

import { fileURLToPath } from "node:url";
import { isExecutable } from "../shipped-files.ts";
import type { OwnCommand } from "../web/listen-command.ts";

export function findOwnCommand(): OwnCommand {
	if (isExecutable) return { folder: null, program: process.execPath };
	return { folder: fileURLToPath(new URL("../../", import.meta.url)), program: "npx --no-install ringback" };
}
