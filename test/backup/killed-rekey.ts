// Runs `ringback rekey` and kills its own process, as a power cut does, inside or right after a transaction.
// The arguments are the step and "inside" or "after".

import { isReplacing, readSealingKey } from "#core/store/queries/sealing-key.ts";
import type { Db, Store } from "#core/store/store.ts";
import { readConfig } from "../../src/config.ts";
import { rekey } from "../../src/service/rekey.ts";
import { openWorkplace } from "../../src/service/workplace.ts";

export type KilledStep = "announce" | "replace" | "reseal" | "finish" | "settle";

const [wanted, when] = process.argv.slice(2);
const read = readConfig();
if (!read.ok) throw new Error(read.problems.join("\n"));
const workplace = await openWorkplace({ ...read.config, logLevel: "silent" });
const { store } = workplace;
let count = 0;

/** Returns the step that a transaction did, by what it changed. */
function stepOf(before: Awaited<ReturnType<typeof readSealingKey>>, after: typeof before): KilledStep {
	if (count === 1) return "announce";
	if (before.present_id !== after.present_id) return "replace";
	if (before.resealed_at_ms !== after.resealed_at_ms) return "finish";
	return isReplacing(after) ? "reseal" : "settle";
}

const transact: Store["transact"] = async (work, options) => {
	let step: KilledStep = "announce";
	const value = await store.transact(async (trx: Db) => {
		count++;
		const before = await readSealingKey(trx);
		const result = await work(trx);
		step = stepOf(before, await readSealingKey(trx));
		if (step === wanted && when === "inside") process.kill(process.pid, "SIGKILL");
		return result;
	}, options);
	if (step === wanted && when === "after") process.kill(process.pid, "SIGKILL");
	return value;
};
const killed = { ...workplace, store: Object.assign(Object.create(store), { transact }) as Store };
const done = await rekey(killed, { endClicks: false, tell: () => undefined });
await workplace.close();
console.error(`it was not killed: ${JSON.stringify(done)}`);
