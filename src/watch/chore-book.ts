// What a process knows of its chores: written down as they run, read by the metrics. In memory and nothing else, so that
// keeping it cannot make a chore fail; watch/chore-watch shares it with the other processes.

import type { ChoreName, ChoreRecord, ChoreReport } from "../domain/chore.ts";
import type { Clock } from "../ports.ts";

/** Finds out since when the oldest has waited that the chore should have done; null when none has. */
export type BacklogLook = () => Promise<number | null>;

export interface ChoreBook {
	/** A chore that begins. `look` is made by the watch, now and then. */
	open(name: ChoreName, look?: BacklogLook): ChoreNotes;
	/** By the settings this process does not do it; nor, as far as it knows, does anybody. */
	leaveOut(name: ChoreName): void;
	readonly reports: readonly ChoreReport[];
	/** Once: another process may be set to do what this one is not. */
	takeLeftOut(): readonly ChoreName[];
	/** All looks, one after the other. Resolves to the chores whose look failed. */
	lookAtBacklogs(): Promise<readonly { name: ChoreName; error: unknown }[]>;
	/** As all processes together knew it when the watch last asked; empty before. */
	readonly known: readonly ChoreRecord[];
	learn(records: readonly ChoreRecord[]): void;
}

/** What a running chore tells of itself. */
export interface ChoreNotes {
	begun(): void;
	/** Between two batches. */
	working(): void;
	succeeded(): void;
	failed(error: unknown): void;
}

/** Longer ones are cut: it is one line on a page. */
const MAX_ERROR_LENGTH = 200;

interface Entry extends ChoreReport {
	look: BacklogLook | undefined;
}

export function createChoreBook(clock: Pick<Clock, "nowMs">): ChoreBook {
	const entries = new Map<ChoreName, Entry>();
	const leftOut = new Set<ChoreName>();
	let learnt: readonly ChoreRecord[] = [];

	function open(name: ChoreName, look?: BacklogLook): ChoreNotes {
		const entry: Entry = {
			record: {
				name,
				sinceMs: clock.nowMs(),
				lastSuccessMs: null,
				workingAtMs: null,
				lastFailureMs: null,
				failures: 0,
				error: null,
			},
			failuresTotal: 0,
			lastRunMs: null,
			waitingSinceMs: undefined,
			look,
		};
		entries.set(name, entry);
		let begunAtMs = entry.record.sinceMs;
		const note = (change: Partial<ChoreRecord>): void => {
			entry.record = { ...entry.record, ...change };
		};
		return {
			begun: () => {
				begunAtMs = clock.nowMs();
			},
			working: () => note({ workingAtMs: clock.nowMs() }),
			succeeded() {
				entry.lastRunMs = clock.nowMs() - begunAtMs;
				note({ lastSuccessMs: clock.nowMs(), failures: 0 });
			},
			failed(error) {
				entry.lastRunMs = clock.nowMs() - begunAtMs;
				entry.failuresTotal++;
				note({ lastFailureMs: clock.nowMs(), failures: entry.record.failures + 1, error: oneLine(error) });
			},
		};
	}

	return {
		open,
		leaveOut: (name) => void leftOut.add(name),
		get reports() {
			return [...entries.values()];
		},
		takeLeftOut() {
			const names = [...leftOut];
			leftOut.clear();
			return names;
		},
		async lookAtBacklogs() {
			const failed: { name: ChoreName; error: unknown }[] = [];
			for (const [name, entry] of entries) {
				try {
					if (entry.look !== undefined) entry.waitingSinceMs = await entry.look();
				} catch (error) {
					failed.push({ name, error });
				}
			}
			return failed;
		},
		get known() {
			return learnt;
		},
		learn(records) {
			learnt = records;
		},
	};
}

function oneLine(error: unknown): string {
	const [line = ""] = (error instanceof Error ? error.message : String(error)).trim().split("\n");
	const text = line === "" ? "an error without a message" : line.slice(0, MAX_ERROR_LENGTH);
	return /[.!?]$/.test(text) ? text : `${text}.`;
}
