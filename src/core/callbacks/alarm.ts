// An alarm is one timer for several callers. It rings once, at the earliest time that any of them asked for.

import type { Clock } from "../ports.ts";

export class Alarm {
	readonly #clock: Clock;
	readonly #ring: () => void;
	#set: { atMs: number; cancel: () => void } | null = null;

	constructor(clock: Clock, ring: () => void) {
		this.#clock = clock;
		this.#ring = ring;
	}

	get isSet(): boolean {
		return this.#set !== null;
	}

	/** Sets the alarm to ring after `delayMs`. An earlier time that is already set stays. */
	ringWithin(delayMs: number): void {
		const atMs = this.#clock.monotonicMs() + delayMs;
		if (this.#set !== null && this.#set.atMs <= atMs) return;
		this.#set?.cancel();
		const cancel = this.#clock.after(delayMs, () => {
			this.#set = null;
			this.#ring();
		});
		this.#set = { atMs, cancel };
	}

	cancel(): void {
		this.#set?.cancel();
		this.#set = null;
	}
}
