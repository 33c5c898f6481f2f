import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { createTemporaryFiles } from "./temporary-files.ts";

test("a file returns what was appended, from its first byte, as often as it is read", async (t) => {
	const file = await createTemporaryFiles(join(makeFolder(t), "x-")).create();
	const parts = [new Uint8Array(100_000).fill(1), new Uint8Array(0), new Uint8Array(70_000).fill(2)];
	for (const part of parts) await file.append(part);
	const expected = Buffer.concat(parts);
	for (let time = 0; time < 2; time++) {
		const chunks = await Array.fromAsync(file.read());
		ok(Buffer.concat(chunks).equals(expected));
		ok(chunks.every((chunk) => chunk.length <= 16_384));
	}
	await file.remove();
	await rejects(file.append(new Uint8Array(1)), { code: "EBADF" });
});

test("a file has no name while it is open, so nothing can be left behind", async (t) => {
	const folder = makeFolder(t);
	const file = await createTemporaryFiles(join(folder, "x-")).create();
	await file.append(new Uint8Array(10));
	deepEqual(readdirSync(folder), []);
	await file.remove();
});

test("a process that is killed while writing leaves nothing behind", async (t) => {
	const folder = makeFolder(t);
	const script = join(makeFolder(t), "writer.mjs");
	const source = new URL("./temporary-files.ts", import.meta.url);
	writeFileSync(
		script,
		`import { createTemporaryFiles } from "${source}";
		const file = await createTemporaryFiles(${JSON.stringify(join(folder, "x-"))}).create();
		await file.append(new Uint8Array(1_000_000));
		process.send("written");
		setInterval(() => undefined, 1_000);`,
	);
	const writer = fork(pathToFileURL(script), { execArgv: [] });
	t.after(() => writer.kill("SIGKILL"));
	equal((await once(writer, "message"))[0], "written");
	writer.kill("SIGKILL");
	await once(writer, "exit");
	deepEqual(readdirSync(folder), []);
});

test("only this account may read the file", {
	skip: process.platform === "linux" ? false : "only Linux shows a process its open files in /proc",
}, async (t) => {
	const folder = makeFolder(t);
	const file = await createTemporaryFiles(join(folder, "x-")).create();
	t.after(() => file.remove());
	const ours = readdirSync("/proc/self/fd").find((fd) => nameOf(fd).startsWith(folder));
	equal(statSync(`/proc/self/fd/${ours}`).mode & 0o777, 0o600);
});

/**
 * Returns the name of the file to which a descriptor refers. The name is empty if the descriptor was closed in the
 * meantime.
 */
function nameOf(fd: string): string {
	try {
		return readlinkSync(`/proc/self/fd/${fd}`);
	} catch {
		return "";
	}
}

function makeFolder(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-temporary-"));
	t.after(() => rmSync(folder, { recursive: true }));
	return folder;
}
