// Runs `ringback doctor` and reads its findings, for the suites about it.

import { equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Ended, type Home, hasStack, type Settings } from "../support/command-home.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { startNameServer } from "../support/zone-server.ts";

/** Secret key for the settings. With PostgreSQL there is no key file. */
export const KEY = "ab".repeat(32);
/** Password in the settings, which must never be printed. */
export const PASSWORD = "hunter2-do-not-print";

interface Findings {
	code: number | null;
	all: readonly { check: string; state: string; detail: string }[];
	/** Returns the state and the detail of one check. */
	of(check: string): string;
}

export async function examine(
	home: Home,
	settings: Settings,
	run: Home["run"] = home.runHere,
): Promise<Findings> {
	const ended = await run(["doctor", "--json"], settings);
	checkForbidden(ended);
	const lines = ended.stdout.trimEnd().split("\n");
	const all = lines.map((line) => JSON.parse(line) as Findings["all"][number]);
	return {
		code: ended.code,
		all,
		of(check) {
			const found = all.filter((finding) => finding.check === check);
			return found.map(({ state, detail }) => `${state} ${detail}`).join("\n");
		},
	};
}

export function checkForbidden(ended: Ended): void {
	equal(ended.stderr, "");
	equal(hasStack(ended), false, ended.stdout);
	equal(ended.stdout.includes(PASSWORD), false, ended.stdout);
}

export async function emptyPostgres(t: TestContext): Promise<Settings> {
	const database = await createTestDatabase("PostgreSQL");
	t.after(() => database.remove());
	return { DATABASE_URL: database.location, RINGBACK_SECRET_KEY: KEY };
}

export async function withNames(t: TestContext, ...known: readonly string[]): Promise<Settings> {
	const server = await startNameServer();
	t.after(() => server.close());
	for (const name of known) server.records.set(name, ["192.0.2.1"]);
	return { RINGBACK_DNS_SERVERS: server.address };
}
