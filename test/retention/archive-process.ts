// A service that archives and is killed on the way: in the middle of a file, or when the file is there and nothing has
// been removed yet.

import { archiveOld } from "../../src/chores/archive-old.ts";
import { openArchiveFolder } from "../../src/outside/archive-folder.ts";
import type { Archive } from "../../src/ports.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { createLog } from "../support/log.ts";
import { DATABASE_KINDS, openStore } from "../support/test-database.ts";

const [kindName, location = "", folder = "", moment = ""] = process.argv.slice(2);
const kind = DATABASE_KINDS.find((known) => known === kindName) ?? "SQLite";
const real = openArchiveFolder(folder);

function die(): void {
	process.kill(process.pid, "SIGKILL");
}

async function* dyingBehind(lines: AsyncIterable<string>): AsyncIterable<string> {
	let count = 0;
	for await (const line of lines) {
		yield line;
		if (++count === 600) die();
	}
}

const archive: Archive = {
	async store(name, lines) {
		const file = await real.store(name, moment === "writing" ? dyingBehind(lines) : lines);
		die();
		return file;
	},
};
const archiving = { archive, conversionDays: 1, auditDays: null };
const clock = createClock(START_MS + 3 * 86_400_000);
await archiveOld({ store: openStore(kind, location), clock, log: createLog(), archiving }, () => false);
