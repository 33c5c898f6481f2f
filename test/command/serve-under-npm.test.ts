// Tests `npx ringback serve` and `npm start` as people and service managers run and end them, with the real
// npm in the checkout. The service stops cleanly and leaves no process behind.

import { deepEqual, equal, match } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { makeFolder } from "../support/run-folder.ts";
import { until } from "../support/until.ts";
import { watchProcess } from "../support/watched-process.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface UnderNpm {
	/** Signals npm and all processes below it, as terminals and service managers do. */
	signal(signal: NodeJS.Signals): void;
	/** Resolves when npm and all processes below it have ended. */
	checkEnded(): Promise<void>;
}

const NPX = "npx --offline --no-install ringback serve";
const NPM = "npm start";
const CASES = [
	[NPX, "SIGTERM"],
	[NPM, "SIGTERM"],
	[NPM, "SIGINT"],
] as const;

describe("a service that npm started", { concurrency: 2 }, () => {
	for (const [line, signal] of CASES) {
		test(`${line}: stops cleanly when ${signal} is sent to its process group`, async (t) => {
			const under = await start(t, line);
			under.signal(signal);
			await under.checkEnded();
		});
	}
});

async function start(t: TestContext, line: string): Promise<UnderNpm> {
	const [command = "", ...args] = line.split(" ");
	const folder = makeFolder("npm");
	const databasePath = join(folder, "ringback.db");
	const child = spawn(command, args, {
		cwd: ROOT,
		env: {
			PATH: process.env["PATH"],
			HOME: folder,
			TMPDIR: folder,
			npm_config_cache: join(folder, "cache"),
			npm_config_update_notifier: "false",
			NODE_COMPILE_CACHE: COMPILE_CACHE,
			DATABASE_URL: `sqlite:${databasePath}`,
			RINGBACK_METRICS_ADDRESS: "off",
			PORT: "0",
		},
		stdio: ["ignore", "pipe", "pipe"],
		// The command gets its own process group, as from a service manager or a terminal.
		detached: true,
	});
	const running = watchProcess(child);
	t.after(() => {
		endGroup(child);
		rmSync(folder, { recursive: true, force: true });
	});
	await running.said(/^Ringback listens on (\S+)$/m);
	return {
		signal: (signal) => process.kill(-(child.pid ?? 0), signal),
		async checkEnded() {
			// This resolves when the last process of the group has closed its output.
			const { stdout, stderr } = await running.ended();
			match(stdout, /^Stopped\.$/m, stderr);
			equal(existsSync(`${databasePath}-wal`), false, "the database was closed");
			using database = new DatabaseSync(databasePath, { readOnly: true });
			deepEqual(database.prepare("select * from engines").all(), []);
			await until(() => isGroupGone(child));
		},
	};
}

function isGroupGone({ pid = 0 }: ChildProcess): boolean {
	try {
		process.kill(-pid, 0);
		return false;
	} catch {
		return true;
	}
}

/** Ends the process group after a failed test. After a successful test it has already ended. */
function endGroup(child: ChildProcess): void {
	if (!isGroupGone(child)) process.kill(-(child.pid ?? 0), "SIGKILL");
}
