// A Redis for one round: its own folder and port on 127.0.0.1, gone at the end. Every write goes to the append-only
// file, which reaches the disk once a second: as BullMQ's documentation asks, and less than our databases promise.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "../test/support/postgres.ts";
import { endChild, endWithUs } from "./child-process.ts";

const START_TIMEOUT_MS = 30_000;

/** Undefined where it is not installed. */
export function findRedis(): string | undefined {
	const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin"];
	return folders.map((folder) => join(folder, "redis-server")).find((file) => existsSync(file));
}

export async function withRedis<Answer>(
	program: string,
	folder: string,
	work: (url: string) => Promise<Answer>,
): Promise<Answer> {
	// A password, because any user of the machine can reach the port. By way of the input, where nobody sees it.
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
		// Nobody reads on, and a full pipe must not hold it up.
		child.stdout.resume();
		return await work(`redis://:${password}@127.0.0.1:${port}`);
	} finally {
		await endChild(child);
	}
}
