// Tests the log in a separate process: the fields of a line, that writing never blocks, and that no line is lost at
// exit.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
	closeSync,
	constants,
	createReadStream,
	mkdtempSync,
	openSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { createClock } from "../../test/support/clock.ts";
import { createLog as createKeptLog } from "../../test/support/log.ts";
import { PATIENCE_MS } from "../../test/support/patience.ts";
import { foldRepeats } from "./log.ts";

const LOG = new URL("log.ts", import.meta.url).href;
const WRITER = new URL("line-writer.ts", import.meta.url).href;
const BEGIN = `import { createLog } from ${JSON.stringify(LOG)};
	const { log, access, droppedLines } = createLog("warn", { instance: "0a1b2c3d", role: "web", version: "1.2.3" });`;

function start(script: string) {
	return spawn(process.execPath, ["--input-type=module", "-e", `${BEGIN}\n${script}`], {
		stdio: ["pipe", "pipe", "pipe"],
	});
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
	let text = "";
	for await (const part of stream) text += String(part);
	return text;
}

test("a repeated error is logged once with its stack, then once a second with a count, and in full when it returns", async () => {
	const clock = createClock();
	const kept = createKeptLog();
	const log = foldRepeats(kept, clock.after);
	const fail = (order: number, text = `no space for "order ${order}"`) =>
		log.error({ err: Object.assign(new Error(text), { code: "53100" }), order }, "a signed call failed");
	for (let second = 0; second < 3; second++) {
		for (let order = 1; order <= 1_000; order++) fail(order);
		await clock.moveBy(1_000);
	}
	const told = () => kept.lines.splice(0).map(({ fields }) => fields as Record<string, unknown>);
	const lines = told();
	deepEqual(
		lines.map(({ times, order }) => [times, order]),
		[
			[undefined, 1],
			[999, 1_000],
			[1_000, 1_000],
			[1_000, 1_000],
		],
	);
	ok(lines[0]?.["err"] instanceof Error, "the first has its stack");
	deepEqual(lines[1]?.["err"], { type: "Error", message: 'no space for "order 1000"', code: "53100" });
	await clock.moveBy(1_000);
	fail(7);
	fail(8, "another trouble");
	log.error({ order: 9 }, "a signed call failed");
	log.error({ order: 9 }, "a signed call failed");
	deepEqual(
		told().map(({ times, order }) => [times, order]),
		[7, 8, 9, 9].map((order) => [undefined, order]),
		"each in full: after a second without it, for another reason, and without an error",
	);
	const failHere = (property: string) => new TypeError(`Cannot read (reading '${property}')`);
	const failThere = (property: string) => new TypeError(`Cannot read (reading '${property}')`);
	for (const err of [failHere("basket"), failThere("secret"), failHere("basket"), failThere("secret")]) {
		// This stack looks like that of a library error, which has the same first frame for every caller.
		err.stack = String(err.stack).replace("\n", "\n    at parse (/app/node_modules/pg/parser.js:1:1)\n");
		log.error({ err }, "a page failed");
	}
	equal(told().length, 2, "what fails in another place is another trouble, with its own stack");
});

test("every line names its process, the access log has no level, and a crash loses no line", async () => {
	const child = start(`const ends = () => process.listenerCount("exit");
		const endsBefore = ends();
		createLog("warn", { instance: "1b2c3d4e", role: "web", version: "1.2.3" });
		log.info({}, "too low"); access.info({ more: ends() - endsBefore }, "request");
		log.error({ err: new Error("broken") }, "last words"); throw new Error("the end");`);
	const [text] = await Promise.all([textOf(child.stderr), once(child, "close")]);
	equal(child.exitCode, 1);
	const lines = text
		.split("\n")
		.filter((line) => line.startsWith("{"))
		.map((line) => JSON.parse(line) as Record<string, unknown>);
	// The lines are sorted, because the last one is written at exit while the line before it may still be in flight.
	deepEqual(lines.map(({ msg }) => msg).toSorted(), ["last words", "request"]);
	// A second log of the same process uses the same writer.
	deepEqual(
		lines.flatMap(({ more }) => more ?? []),
		[0],
	);
	for (const { instance, role, version, time } of lines) {
		deepEqual([instance, role, version], ["0a1b2c3d", "web", "1.2.3"]);
		match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
	}
});

test("on a terminal the same lines are written for people", async () => {
	const child =
		start(`const seen = createLog("info", { instance: "0a1b2c3d", role: "web", version: "1.2.3" }, true);
		seen.log.warn({ path: "/x" }, "take care");`);
	const [text] = await Promise.all([textOf(child.stderr), once(child, "close")]);
	match(text, /^\d\d:\d\d:\d\dZ warning: take care {2}path=\/x\n$/);
});

test("a reader that does not read cannot block the process; lines wait, and beyond a limit they are dropped and counted", {
	timeout: PATIENCE_MS,
}, async (t) => {
	const child = start(`for (let count = 0; count < 200; count++) {
			for (let line = 0; line < 1_000; line++) log.error({ line, filler: "x".repeat(100) }, "a line");
			await new Promise((resolve) => setImmediate(resolve));
		}
		process.stdout.write(String(droppedLines()), () => process.kill(process.pid, "SIGKILL"));`);
	t.after(() => child.kill("SIGKILL"));
	const closed = once(child, "close");
	const dropped = Number(await textOf(child.stdout));
	ok(dropped > 50_000 && dropped < 200_000, `${dropped} of 200,000`);
	child.stderr.resume();
	await closed;
});

test("a pipe whose reader hangs does not keep the process from ending", {
	timeout: PATIENCE_MS,
}, async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-log-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const script = join(folder, "script.mjs");
	const lines = `import { createLineWriter } from ${JSON.stringify(WRITER)};
		const writer = createLineWriter(2, 4_000_000);
		process.on("exit", () => writer.writeRest());
		for (let line = 0; line < 10_000; line++) writer.write("x".repeat(200) + "\\n");
		setTimeout(() => { writer.write("the last line"); process.exit(0); }, 50);`;
	writeFileSync(script, lines);
	// The test uses a shell, because Node connects two processes by a socket and not by a pipe.
	const shell = spawn(
		"sh",
		["-c", `{ "$0" "$1"; echo "ended $?" >&3; } 2>&1 >/dev/null | sleep 600`, process.execPath, script],
		{ stdio: ["ignore", "ignore", "ignore", "pipe"], detached: true },
	);
	t.after(() => process.kill(-(shell.pid ?? 0), "SIGKILL"));
	const told = shell.stdio[3];
	ok(told instanceof Readable);
	const [text] = await once(told, "data");
	equal(String(text), "ended 0\n");
});

test("a pipe with a slow reader gets all lines, including the last", {
	timeout: PATIENCE_MS,
	skip: process.platform === "linux" ? false : "only Linux has a name for a pipe that is open",
}, async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-log-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const pipe = join(folder, "pipe");
	execFileSync("mkfifo", [pipe]);
	// The pipe is opened for reading and writing, because opening it for one of them would wait for the other
	// end.
	const writing = openSync(pipe, constants.O_RDWR);
	// Each line is larger than the pipe, so the process ends while it writes the first one.
	const script = `import { createLineWriter } from ${JSON.stringify(WRITER)};
		const writer = createLineWriter(2, 4_000_000);
		process.on("exit", () => writer.writeRest());
		for (const line of ["a", "b", "c"]) writer.write(line.repeat(300_000) + "\\n");
		process.exit(0);`;
	const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
		stdio: ["ignore", "ignore", writing],
	});
	t.after(() => child.kill("SIGKILL"));
	const reading = createReadStream(pipe, { highWaterMark: 8_192 });
	await once(reading, "open");
	closeSync(writing);
	const lines = (await textOf(reading)).split("\n");
	deepEqual(
		lines.map((line) => [line.length, line.at(0), line.at(-1)]),
		[
			[300_000, "a", "a"],
			[300_000, "b", "b"],
			[300_000, "c", "c"],
			[0, undefined, undefined],
		],
	);
});

for (const how of ["by itself", "at once"]) {
	test(`a reader that is gone does not keep the process from ending ${how}`, {
		timeout: PATIENCE_MS,
	}, async (t) => {
		const end = how === "at once" ? "process.exit(0)" : "process.stdin.destroy()";
		const child = start(`process.stdin.once("data", () => {
				for (const line of ["one", "another"]) log.error({ line }, "to nobody");
				${end};
			});`);
		t.after(() => child.kill("SIGKILL"));
		const closed = once(child, "close");
		child.stderr.destroy();
		child.stdin.write("go");
		child.stdout.resume();
		deepEqual(await closed, [0, null]);
	});
}
