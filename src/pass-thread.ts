// Runs the engine's passes over a SQLite file on a thread of their own, so that storing results never holds up
// the requests in flight. The file's one writer at a time is still whoever holds the store's line: the thread
// works while this side holds it.

import { Worker } from "node:worker_threads";
import type { PassInput, PassOutput, RunPass } from "./callbacks/pass.ts";
import type { Settlement } from "./store/queue.ts";
import type { SqliteStore } from "./store/sqlite.ts";

export interface PassThread {
	runPass: RunPass;
	close(): Promise<void>;
}

/** What comes back; an error crosses as a value, because only its message would survive. */
export type PassReply = { ok: true; output: PassOutput } | { ok: false; error: unknown };

export async function startPassThread(path: string, store: SqliteStore): Promise<PassThread> {
	let thread = await startThread(path);
	let isClosed = false;

	async function ask(input: PassInput): Promise<PassOutput> {
		// A thread that died is replaced: its transaction was rolled back with it.
		thread = thread.hasExited() ? await startThread(path) : thread;
		const reply = await thread.ask(input);
		if (reply.ok) return reply.output;
		throw reply.error;
	}

	return {
		runPass: (input) =>
			store.exclusive(() => ask({ ...input, settlements: input.settlements.map(withoutBody) })),
		async close() {
			if (isClosed) return;
			isClosed = true;
			await thread.close();
		},
	};
}

interface Thread {
	ask(input: PassInput): Promise<PassReply>;
	hasExited(): boolean;
	close(): Promise<void>;
}

async function startThread(path: string): Promise<Thread> {
	const worker = new Worker(new URL("./pass-thread-entry.ts", import.meta.url), { workerData: { path } });
	let hasExited = false;
	let answer: ((reply: PassReply) => void) | undefined;
	let failure: unknown = new Error("the pass thread has ended");
	worker.on("message", (reply: PassReply) => answer?.(reply));
	worker.on("error", (error) => {
		failure = error;
	});
	worker.on("exit", () => {
		hasExited = true;
		answer?.({ ok: false, error: failure });
	});
	return {
		ask: (input) =>
			new Promise((resolve) => {
				if (hasExited) return resolve({ ok: false, error: failure });
				answer = resolve;
				worker.postMessage(input);
			}),
		hasExited: () => hasExited,
		async close() {
			await worker.terminate();
		},
	};
}

/** The event's body came with the claim; it need not travel back. */
function withoutBody(settlement: Settlement): Settlement {
	const { id, programmeId, claim, run, counted, seq } = settlement.delivery;
	return { ...settlement, delivery: { id, programmeId, claim, run, counted, seq } };
}
