// The time that all processes share. On PostgreSQL it is the database's: asked for at the start and every few seconds,
// and carried on by the monotonic clock in between, also while the database is away. This machine's own clock is only
// compared with it. On SQLite the machine's clock is the only one.

import { SECOND_MS } from "../domain/time.ts";
import { judgeClockOffset } from "../domain/warning.ts";
import type { Clock } from "../ports.ts";
import type { Store } from "../store/store.ts";
import { startLoop } from "../watch/loop.ts";

export interface SharedClock extends Clock {
	/** How far this machine's clock is ahead of the database's now, below zero when behind; null on SQLite. */
	offsetMs(): number | null;
	stop(): Promise<void>;
}

/** Clocks drift by less than a millisecond in that time, unless somebody sets them. */
export const ASKED_EVERY_MS = 5 * SECOND_MS;
/** After a question without an answer, so that a database that is back is asked at once. */
export const ASKED_AGAIN_AFTER_MS = SECOND_MS;

/** Has asked once when it resolves; rejects when the database gives no answer, because then there is no time to go by. */
export async function openSharedClock(machine: Clock, readTime: Store["readTime"]): Promise<SharedClock> {
	if (readTime === null) return { ...machine, offsetMs: () => null, stop: async () => undefined };
	const measure = async () => {
		const askedAtMs = machine.monotonicMs();
		const serverMs = await readTime();
		// The server read its clock at some moment between the question and the answer.
		return { earliestMs: serverMs - machine.monotonicMs(), latestMs: serverMs - askedAtMs };
	};
	const first = await measure();
	/** The database's time at the zero of the monotonic clock. */
	let zeroMs = (first.earliestMs + first.latestMs) / 2;
	const loop = startLoop({
		clock: machine,
		everyMs: ASKED_EVERY_MS,
		againAfterMs: ASKED_AGAIN_AFTER_MS,
		firstAfterMs: ASKED_EVERY_MS,
		async run() {
			const { earliestMs, latestMs } = await measure();
			// Moved no further than the answer proves: one that was long on its way proves little, and changes nothing.
			zeroMs = Math.min(Math.max(zeroMs, earliestMs), latestMs);
		},
		// Everybody else says that the database does not answer.
		onFailure: () => undefined,
	});

	const nowMs = (): number => Math.floor(machine.monotonicMs() + zeroMs);
	const offsetMs = (): number => machine.nowMs() - nowMs();

	return {
		...machine,
		nowMs,
		// By the clocks as they are now: one that was set, or a machine that slept, is noticed before the next question.
		isSure: () => judgeClockOffset(offsetMs()) !== "problem",
		offsetMs,
		stop: loop.stop,
	};
}
