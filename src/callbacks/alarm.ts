// One timer that only ever moves closer: whoever needs to be woken earlier sets it, the rest rely on it.

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
