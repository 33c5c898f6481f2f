// The answer goes out before the work, however long that takes. All the work of an example is a line that it prints:
// into a pipe that is full it waits, as it would for a slow shop, until somebody reads.

import { ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { until } from "../support/until.ts";
import { makeCallback, makeEvent, send } from "./callback.ts";
import type { ExampleFolder } from "./example-folder.ts";

interface Pipe {
	/** What a process is given to print into. */
	readonly writeEnd: number;
	fill(): void;
	/** Everything that was in it, which makes room again. */
	empty(): string;
}

const SECRET = "a-secret";
/** What Linux writes to a pipe as one piece; then byte by byte, until none goes in. */
const PIECES_BYTES = [4_096, 1];
const run = promisify(execFile);

export async function checkSlowWork(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test("204 goes out while the work still waits", async (t) => {
		if (examples.whyNoSlowWork !== null) {
			// A check that could not fail would be worse than none.
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

async function openPipe(t: TestContext, path: string): Promise<Pipe> {
	await run("mkfifo", [path]);
	const ours = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
	// Opened apart from ours: this one waits when there is no room.
	const writeEnd = openSync(path, constants.O_WRONLY);
	t.after(() => {
		closeSync(writeEnd);
		closeSync(ours);
	});
	return {
		writeEnd,
		fill() {
			for (const bytes of PIECES_BYTES) {
				while (attempt(() => writeSync(ours, Buffer.alloc(bytes, "."))) > 0);
			}
		},
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

/** Zero where it would have to wait. */
function attempt(act: () => number): number {
	try {
		return act();
	} catch (error) {
		if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
		throw error;
	}
}
