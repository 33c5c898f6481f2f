// Starts a Redis server for one round with its own folder and port on 127.0.0.1, and removes it at the end.
// Every write is appended to a file, which is synced once a second, as BullMQ's documentation recommends. Our
// own databases promise more, because they sync every commit.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "../test/support/postgres.ts";
import { endChild, endWithUs } from "./child-process.ts";

const START_TIMEOUT_MS = 30_000;

/** Returns the path of the Redis server, or undefined if it is not installed. */
export function findRedis(): string | undefined {
	const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin"];
	return folders.map((folder) => join(folder, "redis-server")).find((file) => existsSync(file));
}

export async function withRedis<Answer>(
	program: string,
	folder: string,
	work: (url: string) => Promise<Answer>,
): Promise<Answer> {
	// Redis gets a password, because any user of the machine can reach the port. The password is passed on
	// standard input, where other users cannot see it.
	const password = randomBytes(16).toString("hex");
	const port = await freePort();
	const settings = [
		"bind 127.0.0.1",
		`port ${port}`,
		`dir ${mkdtempSync(join(folder, "redis-"))}`,
		`requirepass ${password}`,
		'save ""',
		"appendonly yes",
		"appendfsync everysec",
		"maxmemory-policy noeviction",
	];
	const child = spawn(program, ["-"], { stdio: ["pipe", "pipe", "inherit"] });
	endWithUs(child);
	try {
		child.stdin.end(`${settings.join("\n")}\n`);
		const signal = AbortSignal.timeout(START_TIMEOUT_MS);
		for await (const line of createInterface({ input: child.stdout, signal })) {
			if (line.includes("Ready to accept connections")) break;
		}
		if (child.exitCode !== null) throw new Error(`Redis ended with ${child.exitCode} before it listened`);
		// The output is discarded, because a full pipe would block the server.
		child.stdout.resume();
		return await work(`redis://:${password}@127.0.0.1:${port}`);
	} finally {
		await endChild(child);
	}
}
