// Results of attempts wait here until the next pass stores them. Storing many of them in one transaction costs little
// more than storing one, so each result waits a moment for others.

import type { Settlement } from "../store/queries/queue.ts";

/**
 * Minimum number of results for an early pass. A pass costs as much as ten results. At a hundred deliveries a second,
 * storing each result at once took half of the processor time.
 */
const MIN_WAITING = 32;
/** Number of results that starts a pass in any case. A larger batch would hardly reduce the cost of each result. */
const MAX_WAITING = 2_048;
/**
 * Longest time that a result waits. It is short, so that the page shows the result at once, and so that a killed process
 * leaves few requests to repeat.
 */
export const MAX_WAIT_MS = 100;

export class WaitingResults {
	#settlements: Settlement[] = [];
	#storeAtCount = MIN_WAITING;
	#storeAtMs = Number.POSITIVE_INFINITY;

	get count(): number {
		return this.#settlements.length;
	}

	/** Number of waiting results that starts a pass before their deadline. */
	get storeAtCount(): number {
		return this.#storeAtCount;
	}

	/** Monotonic time by which the oldest result must be stored, or Infinity if no result waits. */
	get storeAtMs(): number {
		return this.#storeAtMs;
	}

	add(settlement: Settlement, monotonicMs: number): void {
		if (this.#settlements.length === 0) this.#storeAtMs = monotonicMs + MAX_WAIT_MS;
		this.#settlements.push(settlement);
	}

	takeAll(): Settlement[] {
		const all = this.#settlements;
		this.#settlements = [];
		this.#storeAtMs = Number.POSITIVE_INFINITY;
		return all;
	}

	/**
	 * Puts the results of a failed pass back at the front. The engine repeats that pass in any case, so they get no new
	 * deadline.
	 */
	putBack(settlements: readonly Settlement[]): void {
		this.#settlements = [...settlements, ...this.#settlements];
	}

	/**
	 * Adapts the number of results that starts a pass. If many deliveries are in progress, half of them are stored
	 * together.
	 */
	adaptTo(waitingOrInFlight: number): void {
		this.#storeAtCount = Math.min(MAX_WAITING, Math.max(MIN_WAITING, Math.ceil(waitingOrInFlight / 2)));
	}
}
