// The corpus: everything at once, and apart from it the few entries whose verdict depends on an answer that comes
// within a second. What a stalled machine missed is put through again; nothing is forgiven that passed.

import { BrokenPromise, type Progress } from "../support/proof.ts";
import { MAX_TRIES } from "./ask-again.ts";
import { allEntries } from "./corpus/all-entries.ts";
import type { Entry } from "./corpus/entry.ts";
import { type CorpusCounts, saveAndDeliver } from "./save-and-deliver.ts";

export async function proveCorpus(progress: Progress, replay: string): Promise<CorpusCounts> {
	const { timed = [], untimed = [] } = Object.groupBy(allEntries(), ({ isTimed }) =>
		isTimed === true ? "timed" : "untimed",
	);
	const crowd = await saveAndDeliver(untimed, progress, replay);
	return sum(crowd, await proveFew([...timed, ...crowd.missed.map(({ entry }) => entry)], progress, replay));
}

/** Those that were missed once more, a few times; a call, a dial or a verdict that nothing excuses throws at once. */
export async function proveFew(
	entries: readonly Entry[],
	progress: Progress,
	replay: string,
): Promise<CorpusCounts> {
	let few = await saveAndDeliver(entries, progress, replay);
	for (let tries = 1; few.missed.length > 0 && tries < MAX_TRIES; tries++) {
		const again = few.missed.map(({ entry }) => entry);
		few = sum(few, await saveAndDeliver(again, progress, replay));
	}
	if (few.missed.length === 0) return few;
	const reasons = few.missed.map(({ entry, reason }) => `${entry.what}: ${reason}`);
	throw new BrokenPromise(`${MAX_TRIES} times in a row: ${reasons.join("; ")}`, replay);
}

/** What was missed is what the later one missed. */
function sum(one: CorpusCounts, later: CorpusCounts): CorpusCounts {
	return {
		entries: one.entries + later.entries,
		dials: one.dials + later.dials,
		canaries: one.canaries + later.canaries,
		questions: one.questions + later.questions,
		missed: later.missed,
	};
}
