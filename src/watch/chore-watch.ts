// Shares what each process knows of its chores through the table `chores`, a few times a minute, and says in the log when
// one has not been done for its time. Apart from the chores themselves: whatever fails here stops none of them.

import { isDeepStrictEqual } from "node:util";
import { type ChoreName, type ChoreRecord, choreTimeMs, isLate, mergeRecords } from "../domain/chore.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { forgetChores, listChoreRecords, saveChoreRecords } from "../store/queries/chores.ts";
import type { Store } from "../store/store.ts";
import type { ChoreBook } from "./chore-book.ts";

export const WATCH_INTERVAL_MS = 20 * SECOND_MS;
/** The look itself may take a while on a busy database. */
const LONGEST_PAUSE_MS = 3 * WATCH_INTERVAL_MS;

export interface ChoreWatch {
	stop(): Promise<void>;
}

export interface ChoreWatchDeps {
	store: Store;
	clock: Clock;
	log: Log;
	book: ChoreBook;
}

export function watchChores(deps: ChoreWatchDeps): ChoreWatch {
	const { clock, log, book } = deps;
	const late = new Set<ChoreName>();
	let isStopping = false;
	let looking: Promise<void> = Promise.resolve();
	let lookedAtMs = clock.nowMs();
	// Not at once: after a long pause the first runs come first, and nobody needs to hear of what they make good.
	let cancel = clock.after(WATCH_INTERVAL_MS, look);

	function look(): void {
		const pausedMs = clock.nowMs() - lookedAtMs;
		lookedAtMs = clock.nowMs();
		looking = share(deps)
			.catch((error: unknown) => log.warn({ err: error }, "the records of chores could not be shared"))
			.then(() => {
				// Also when they could not be shared: what is known grows old, and that is told. But not when this process
				// itself stood still, as on a machine that slept.
				if (pausedMs < LONGEST_PAUSE_MS) tellLate(log, book.known, late, clock.nowMs());
				if (!isStopping) cancel = clock.after(WATCH_INTERVAL_MS, look);
			});
	}

	return {
		async stop() {
			isStopping = true;
			cancel();
			await looking;
		},
	};
}

async function share({ store, log, book }: ChoreWatchDeps): Promise<void> {
	for (const { name, error } of await book.lookAtBacklogs()) {
		log.warn({ err: error, chore: name }, "what waits for a chore could not be read");
	}
	await forgetChores(store.db, book.takeLeftOut());
	const stored = new Map((await listChoreRecords(store.db)).map((record) => [record.name, record]));
	const changed: ChoreRecord[] = [];
	for (const { record } of book.reports) {
		const before = stored.get(record.name);
		const merged = before === undefined ? record : mergeRecords(before, record);
		if (!isDeepStrictEqual(before, merged)) changed.push(merged);
		stored.set(record.name, merged);
	}
	book.learn([...stored.values()]);
	await saveChoreRecords(store.db, changed);
}

/** Once when it begins and once when it is over. */
function tellLate(log: Log, known: readonly ChoreRecord[], late: Set<ChoreName>, nowMs: number): void {
	for (const record of known) {
		const { name, lastSuccessMs, failures, error } = record;
		if (isLate(record, nowMs)) {
			if (late.has(name)) continue;
			late.add(name);
			const lastSuccess = lastSuccessMs === null ? null : isoTime(lastSuccessMs);
			const afterSeconds = choreTimeMs(name) / SECOND_MS;
			log.error({ chore: name, lastSuccess, failures, error, afterSeconds }, "a chore is not getting done");
		} else if (late.delete(name)) {
			log.info({ chore: name }, "the chore is getting done again");
		}
	}
}
