// The other side of pass-thread.ts: a connection of its own to the same file, one pass at a time.

import { parentPort, workerData } from "node:worker_threads";
import { createPass, type PassInput } from "./callbacks/pass.ts";
import { createRandom } from "./outside/random.ts";
import type { PassReply } from "./pass-thread.ts";
import { openSqlite } from "./store/sqlite.ts";

const store = openSqlite((workerData as { path: string }).path);
const runPass = createPass(store, createRandom());

parentPort?.on("message", async (input: PassInput) => {
	parentPort?.postMessage(await answer(input));
});

async function answer(input: PassInput): Promise<PassReply> {
	try {
		return { ok: true, output: await runPass(input) };
	} catch (error) {
		return { ok: false, error };
	}
}
