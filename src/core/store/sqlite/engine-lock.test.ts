import { deepEqual, equal } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createEngineLock } from "./engine-lock.ts";

test("another process gets the lock once the process of an engine was killed, and learns which engines have ended", async (t) => {
	const path = openFile(t);
	const killed = await startHolder(t, path, 7);
	const lock = createEngineLock(path);
	t.after(() => lock.close());
	equal(lock.findEnded(), null);
	lock.note(8);
	killed.kill("SIGKILL");
	await once(killed, "exit");
	deepEqual(lock.findEnded(), [7], "an engine that was registered without the lock is not listed");
	lock.note(9);
	deepEqual(lock.findEnded(), [7], "its own engine runs");
});

test("two stores of one process do not share the lock, and a clean end leaves no file", (t) => {
	const path = openFile(t);
	const [first, second] = [createEngineLock(path), createEngineLock(path)];
	t.after(() => second.close());
	deepEqual(first.findEnded(), []);
	first.note(1);
	equal(second.findEnded(), null);
	equal(statSync(`${path}-engine`).mode & 0o777, 0o600);
	first.close();
	deepEqual([existsSync(`${path}-engine`), existsSync(`${path}-engine-journal`)], [false, false]);
	deepEqual(second.findEnded(), []);
});

test("every name of the database leads to the same lock", (t) => {
	const path = openFile(t);
	const link = `${path}.link`;
	symlinkSync(path, link);
	const [first, second] = [createEngineLock(path), createEngineLock(link)];
	t.after(() => first.close());
	deepEqual([first.findEnded(), second.findEnded()], [[], null]);
});

test("no engine counts as ended if the file cannot be used", (t) => {
	const path = openFile(t);
	mkdirSync(`${path}-engine`);
	const lock = createEngineLock(path);
	lock.note(1);
	equal(lock.findEnded(), null);
	const other = openFile(t);
	writeFileSync(`${other}-engine`, "not a database, and long enough to be read as one ".repeat(20));
	equal(createEngineLock(other).findEnded(), null);
});

test("only the newest sixteen engines are listed", async (t) => {
	const path = openFile(t);
	const listed = Array.from({ length: 20 }, (_, n) => n + 1);
	const killed = await startHolder(t, path, ...listed);
	killed.kill("SIGKILL");
	await once(killed, "exit");
	const lock = createEngineLock(path);
	t.after(() => lock.close());
	deepEqual(lock.findEnded(), listed.slice(-16));
});

test("engines in a copy of the file do not count as ended, because their process may still run", async (t) => {
	const path = openFile(t);
	await startHolder(t, path, 7);
	copyFileSync(`${path}-engine`, `${path}-copy`);
	renameSync(`${path}-copy`, `${path}-engine`);
	const lock = createEngineLock(path);
	t.after(() => lock.close());
	deepEqual(lock.findEnded(), []);
});

test("closing succeeds if the file cannot be removed", (t) => {
	const path = openFile(t);
	const lock = createEngineLock(path);
	deepEqual(lock.findEnded(), []);
	rmSync(`${path}-engine`);
	// A folder with something in it cannot be removed as a file, not even by root.
	mkdirSync(`${path}-engine`);
	writeFileSync(join(`${path}-engine`, "something"), "");
	lock.close();
	equal(existsSync(`${path}-engine`), true);
});

function openFile(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-lock-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const path = join(folder, "ringback.db");
	writeFileSync(path, "");
	return path;
}

/** Starts a process that holds the lock and has listed these engines. It runs until it is killed. */
async function startHolder(t: TestContext, path: string, ...engineIds: readonly number[]) {
	const module = JSON.stringify(new URL("./engine-lock.ts", import.meta.url).href);
	const program = `const { createEngineLock } = await import(${module});
		const lock = createEngineLock(${JSON.stringify(path)});
		for (const id of ${JSON.stringify(engineIds)}) lock.note(id);
		process.stdout.write("holds");
		setInterval(() => undefined, 60_000);`;
	const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
	t.after(() => child.kill("SIGKILL"));
	await once(child.stdout, "data");
	return child;
}
