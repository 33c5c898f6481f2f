// How a receiver starts: with its secret or with an error message, at the documented port, and after a restart with
// what it had stored. Its answer must also be sent before its work, however long that takes.

import { match, notEqual, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { until } from "../support/until.ts";
import { makeCallback, makeEvent, send } from "./callback.ts";
import type { ExampleFolder } from "./example-folder.ts";
import { expectLine, expectNoLine, expectStatus, sealed } from "./receiver-cases.ts";

const SECRET = "a-secret";
const DEFAULT_PORT = 3000;
/** Bytes that Linux writes to a pipe in one piece; then single bytes, until the pipe is full. */
const PIECES_BYTES = [4_096, 1];

export async function checkStart(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test(
		"an event that comes again after a restart is answered 204 and not worked on again",
		async () => {
			const event = makeEvent();
			const before = { secret: SECRET, receiver: await examples.startReceiver(SECRET), folder: examples };
			await expectStatus(before, sealed(before, { body: JSON.stringify(event) }), 204);
			await expectLine(before, event);
			before.receiver.process.kill("SIGKILL");
			await before.receiver.process.ended();

			const after = { ...before, receiver: await examples.startReceiver(SECRET) };
			await expectStatus(after, sealed(after, { body: JSON.stringify(event) }), 204);
			await expectNoLine(after, event);
		},
	);

	await t.test("what a full disk let it store by half is worked on when it comes again", async () => {
		// More than fits. With 16 KiB, PHP would need the disk to read it too.
		const event = makeEvent({ reason: "x".repeat(12_000) });
		const body = JSON.stringify(event);
		const full = await examples.startReceiver(SECRET, { hasFullDisk: true });
		const answered = await send(full.port, makeCallback({ secret: SECRET, body }));
		ok(answered === undefined || answered.status === 503, `answered ${answered?.status}`);
		full.process.kill("SIGKILL");
		await full.process.ended();

		const at = { secret: SECRET, receiver: await examples.startReceiver(SECRET), folder: examples };
		await expectStatus(at, sealed(at, { body }), 204);
		await expectLine(at, event);
	});

	await t.test("takes nothing when it has no secret, and says so", async () => {
		if (examples.isServedByCommand) {
			// The command serves the file whatever it contains.
			const receiver = await examples.startReceiver("");
			const answered = await send(receiver.port, makeCallback({ secret: "" }));
			ok(answered === undefined || answered.status >= 500, `answered ${answered?.status}`);
			match(receiver.process.stdout + receiver.process.stderr, /Set RINGBACK_SIGNING_SECRET/);
			return;
		}
		const ended = await examples.startWithoutPort("").ended();
		notEqual(ended.code, 0);
		match(ended.stderr, /^[^\n]*Set RINGBACK_SIGNING_SECRET[^\n]*\n$/);
	});

	await t.test("listens on 3000 when no port is set", async (t) => {
		if (examples.isServedByCommand) {
			// The receiver does not read PORT.
			t.skip("its port is in the command that serves it");
			return;
		}
		// A random secret, so that another program at that port could not answer 204.
		const secret = randomBytes(16).toString("hex");
		const receiver = examples.startWithoutPort(secret);
		const isOurs = async () => (await send(DEFAULT_PORT, makeCallback({ secret })))?.status === 204;
		await until(
			async () => !receiver.isRunning || (await isOurs()),
			() => `it is not there; ${receiver.stderr}`,
		);
		if (receiver.isRunning) return;
		// Another program uses the port, and the message names this port.
		match((await receiver.ended()).stderr, /address already in use/i);
	});
}

/** The receiver's only work is to print a line. If the pipe is full it blocks, as with slow work in a shop. */
export async function checkSlowWork(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test("204 goes out while the work still waits", async (t) => {
		if (examples.whyNoSlowWork !== null) {
			// A check that cannot fail would be worse than none.
			t.skip(examples.whyNoSlowWork);
			return;
		}
		const pipe = await openPipe(t, examples.pathOf("printed"));
		const receiver = await examples.startReceiver(SECRET, { stdout: pipe.writeEnd });
		const event = makeEvent();
		pipe.fill();
		const answered = await send(receiver.port, makeCallback({ secret: SECRET, body: JSON.stringify(event) }));
		ok(answered?.status === 204, `answered ${answered?.status}`);
		let printed = "";
		const isDone = () => {
			printed += pipe.empty();
			return printed.includes(`${event["event"]} ${event["conversionId"]} `);
		};
		await until(isDone, () => "the work is never done");
	});
}

async function openPipe(t: TestContext, path: string) {
	await promisify(execFile)("mkfifo", [path]);
	const ours = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
	// Opened separately from ours, because this end blocks if there is no room.
	const writeEnd = openSync(path, constants.O_WRONLY);
	t.after(() => {
		closeSync(writeEnd);
		closeSync(ours);
	});
	return {
		/** File descriptor for the output of a process. */
		writeEnd,
		fill() {
			for (const bytes of PIECES_BYTES) {
				while (attempt(() => writeSync(ours, Buffer.alloc(bytes, "."))) > 0);
			}
		},
		/** Reads everything from the pipe, which makes room again. */
		empty() {
			const buffer = Buffer.alloc(65_536);
			let text = "";
			for (;;) {
				const bytes = attempt(() => readSync(ours, buffer));
				if (bytes === 0) return text;
				text += buffer.toString("utf8", 0, bytes);
			}
		},
	};
}

/** Returns zero if the call would block. */
function attempt(act: () => number): number {
	try {
		return act();
	} catch (error) {
		if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
		throw error;
	}
}
