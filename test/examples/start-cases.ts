// Tests how a receiver starts: with its secret or with an error message, at the documented port, and after a
// restart with the events that it had stored. Its answer must also be sent before its work, however long the
// work takes.

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
/** Sizes of the writes that fill the pipe: first pieces that Linux writes at once, then single bytes. */
const PIECES_BYTES = [4_096, 1];

export async function checkStart(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test(
		"an event that comes again after a restart is answered with 204 and not processed again",
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

	await t.test(
		"an event that a full disk let the receiver store only in part is processed when it comes again",
		async () => {
			// The event is larger than the limit for files. With 16 KiB, PHP would also need the disk to read the
			// request.
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
		},
	);

	await t.test("a receiver without a secret accepts nothing, and says so", async () => {
		if (examples.isServedByCommand) {
			// The program that serves this receiver starts even without a secret.
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

	await t.test("a receiver listens on port 3000 if no port is set", async (t) => {
		if (examples.isServedByCommand) {
			// Another program listens for this receiver, which therefore does not read PORT.
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

/**
 * Checks that the answer comes before the work. The receiver's only work is to print a line, and a full pipe
 * blocks it, like slow work in a shop.
 */
export async function checkSlowWork(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test("a receiver answers with 204 before its work is done", async (t) => {
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
	// The receiver's end of the pipe is opened separately from the test's end, because it must block when the
	// pipe is full.
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

/** Runs a read or write, and returns 0 if it would block. */
function attempt(act: () => number): number {
	try {
		return act();
	} catch (error) {
		if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
		throw error;
	}
}
