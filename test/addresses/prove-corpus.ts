// The corpus: everything at once, and apart from it the few entries whose verdict depends on an answer that comes
// within a second. What a stalled machine missed is put through again; nothing is forgiven that passed.

import { BrokenPromise, type Progress } from "../support/proof.ts";
import { allEntries } from "./corpus/all-entries.ts";
import type { Entry } from "./corpus/entry.ts";
import { type CorpusCounts, saveAndDeliver } from "./save-and-deliver.ts";

/** A defect fails each time, a stalled machine hardly three times in a row. */
const MAX_TRIES = 3;

export async function proveCorpus(progress: Progress, replay: string): Promise<CorpusCounts> {
	const { timed = [], untimed = [] } = Object.groupBy(allEntries(), ({ isTimed }) =>
		isTimed === true ? "timed" : "untimed",
	);
	const crowd = await saveAndDeliver(untimed, progress, replay);
	return sum(crowd, await proveFew([...timed, ...crowd.missed], progress, replay));
}

async function proveFew(
	entries: readonly Entry[],
	progress: Progress,
	replay: string,
): Promise<CorpusCounts> {
	for (let left = MAX_TRIES - 1; ; left--) {
		try {
			const few = await saveAndDeliver(entries, progress, replay);
			if (few.missed.length === 0) return few;
			throw new BrokenPromise(`no answer for ${few.missed.map(({ what }) => what).join(", ")}`, replay);
		} catch (error) {
			if (left <= 0) throw error;
		}
	}
}

function sum(one: CorpusCounts, other: CorpusCounts): CorpusCounts {
	return {
		entries: one.entries + other.entries,
		dials: one.dials + other.dials,
		canaries: one.canaries + other.canaries,
		questions: one.questions + other.questions,
		missed: other.missed,
	};
}
