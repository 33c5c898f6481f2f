// Time that all processes share. On PostgreSQL it is the database's time, which is read at the start and every few
// seconds. Between two readings, and while the database is unreachable, the monotonic clock continues it. That clock
// stops while the machine is suspended. If it falls behind the machine's clock, the database is asked at once, and
// nothing relies on the time before the answer. Otherwise this machine's clock is only compared with the shared time.
// On SQLite the machine's clock is the only clock.

import { SECOND_MS } from "#core/domain/time.ts";
import { judgeClockOffset } from "#core/domain/warning.ts";
import type { Clock } from "#core/ports.ts";
import type { Store } from "#core/store/store.ts";
import { startLoop } from "../watch/loop.ts";

export interface SharedClock extends Clock {
	/**
	 * Returns how far this machine's clock is ahead of the database's clock, in milliseconds (negative if it is
	 * behind), or null on SQLite.
	 */
	offsetMs(): number | null;
	stop(): Promise<void>;
}

/**
 * Interval between two readings of the database's clock. In that time clocks drift by less than a millisecond, unless
 * somebody sets them.
 */
export const ASKED_EVERY_MS = 5 * SECOND_MS;
/**
 * Delay before the next reading after a failed one. It is short, so that the clock is read soon after the
 * database is back.
 */
export const ASKED_AGAIN_AFTER_MS = SECOND_MS;

/**
 * Maximum difference between the times that this machine's two clocks measured since the last reading. A larger
 * difference means that the machine was suspended, or that its clock was set. NTP corrects the speed of both clocks
 * in the same way, so they do not drift apart otherwise. Machines count the time of a suspension in whole seconds.
 */
const MAX_DIVERGENCE_MS = SECOND_MS;

/**
 * Opens the shared clock and reads the database's time once. It rejects if the database does not answer,
 * because there is no other time to rely on.
 */
export async function openSharedClock(machine: Clock, readTime: Store["readTime"]): Promise<SharedClock> {
	if (readTime === null) return { ...machine, offsetMs: () => null, stop: async () => undefined };
	const wallZeroMs = (): number => machine.nowMs() - machine.monotonicMs();
	const measure = async () => {
		const askedAtMs = machine.monotonicMs();
		// This value is computed before the query. If the machine is suspended before the answer is read, the two clocks
		// then differ, so the answer is recognized as too old.
		const machineZeroMs = wallZeroMs();
		const serverMs = await readTime();
		// The server read its clock at some moment between the query and its answer.
		const earliestMs = serverMs - machine.monotonicMs();
		return { earliestMs, latestMs: serverMs - askedAtMs, machineZeroMs };
	};
	const first = await measure();
	/** Time of the database at which this machine's monotonic clock was zero. */
	let zeroMs = (first.earliestMs + first.latestMs) / 2;
	/** Time of this machine at which its monotonic clock was zero, as computed at the last reading. */
	let { machineZeroMs } = first;
	let hasAskedEarly = false;
	const loop = startLoop({
		clock: machine,
		everyMs: ASKED_EVERY_MS,
		againAfterMs: ASKED_AGAIN_AFTER_MS,
		firstAfterMs: ASKED_EVERY_MS,
		async run() {
			const measured = await measure();
			// The time is corrected only as far as the reading proves. A slow reading proves little and changes
			// nothing.
			zeroMs = Math.min(Math.max(zeroMs, measured.earliestMs), measured.latestMs);
			machineZeroMs = measured.machineZeroMs;
			hasAskedEarly = false;
		},
		// A database that does not answer is reported by other parts of the service.
		onFailure: () => undefined,
	});

	const nowMs = (): number => Math.floor(machine.monotonicMs() + zeroMs);
	const offsetMs = (): number => machine.nowMs() - nowMs();

	/**
	 * Returns whether this process may rely on the time. The machine's two clocks are compared now, so that a changed
	 * clock or a suspended machine is noticed before the next reading.
	 */
	function isSure(): boolean {
		if (Math.abs(wallZeroMs() - machineZeroMs) <= MAX_DIVERGENCE_MS) {
			return judgeClockOffset(offsetMs()) !== "problem";
		}
		// If this early reading fails, the loop repeats it.
		if (!hasAskedEarly) loop.runSoon();
		hasAskedEarly = true;
		return false;
	}

	return {
		...machine,
		nowMs,
		isSure,
		offsetMs,
		stop: loop.stop,
	};
}
