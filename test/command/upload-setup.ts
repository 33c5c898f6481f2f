// `ringback serve` as a process, people who are signed in over real sockets, and the memory that their uploads cost.

import { equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { openSqlite } from "#core/store/sqlite/store.ts";
import { Browser, createTestSite, PASSWORD, START_MS } from "#core/web/test-site.test-support.ts";
import { realClock } from "../../src/outside/clock.ts";
import { type Home, openHome, type Running } from "../support/command-home.ts";
import { raiseReceiverIds } from "../support/receiver-ids.ts";

/** Key with which createTestSite encrypts secrets. */
const SECRET_KEY = "07".repeat(32);
/**
 * Node option that makes password hashing cheap. The people were created with cheap hashes, so the service
 * needs it too.
 */
const QUICK_PASSWORDS = `--import=${new URL("../support/quick-passwords.ts", import.meta.url)}`;

export interface UploadSetup {
	home: Home;
	running: Running;
	url: string;
	/** Path of the page with the upload form. */
	path: string;
	owners: readonly Browser[];
	staff: Browser;
}

export async function openUploadSetup(t: TestContext, ownerCount: number): Promise<UploadSetup> {
	const home = openHome(t);
	const { programmeId, emails, staffEmail } = await prepare(home.databasePath, ownerCount);
	const running = home.start(["serve"], {
		PORT: "0",
		RINGBACK_SECRET_KEY: SECRET_KEY,
		LOG_LEVEL: "warn",
		NODE_OPTIONS: QUICK_PASSWORDS,
	});
	const [, url = ""] = await running.said(/(http:\/\/127\.0\.0\.1:\d+)/);
	const path = `/programmes/${programmeId}/conversions/bulk`;
	const signIn = async (email: string) => {
		const browser = new Browser((target, init) => fetch(`${url}${target}`, { ...init, redirect: "manual" }));
		await browser.open("/sign-in");
		equal((await browser.submit("/sign-in", { email, password: PASSWORD })).status, 303);
		match((await browser.open(path)).text, /Upload a file/);
		return browser;
	};
	const owners: Browser[] = [];
	for (const email of emails) owners.push(await signIn(email));
	return { home, running, url, path, owners, staff: await signIn(staffEmail) };
}

async function prepare(databasePath: string, ownerCount: number) {
	const store = openSqlite(databasePath, realClock);
	await store.migrate(START_MS);
	await raiseReceiverIds(store);
	const site = createTestSite(store);
	const programme = await site.addProgramme();
	const emails: string[] = [];
	while (emails.length < ownerCount) emails.push((await site.addOwner(programme)).email);
	const staffEmail = (await site.addStaff()).email;
	await store.close();
	return { programmeId: programme.public_id, emails, staffEmail };
}

/** Returns the maximum growth of a process's memory in MiB while `work` runs. */
export async function watchGrowth<Done>(
	running: Running,
	act: () => Promise<Done>,
): Promise<{ growthMib: number; done: Done }> {
	const beforeMib = residentMib(running);
	let mostMib = beforeMib;
	const timer = setInterval(() => {
		mostMib = Math.max(mostMib, residentMib(running));
	}, 20);
	try {
		const done = await act();
		return { done, growthMib: mostMib - beforeMib };
	} finally {
		clearInterval(timer);
	}
}

function residentMib({ pid }: Running): number {
	if (process.platform === "linux") {
		const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
		return Math.round(Number(kib) / 1_024);
	}
	return Math.round(
		Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1_024,
	);
}
