// Whether staff hold all callbacks, as this engine knows it. It looks twice a second, whatever it may have missed, so that
// every engine knows within a second.

import { SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { readIsHeld } from "../store/queries/delivery-pause.ts";
import type { Store } from "../store/store.ts";

const LOOK_EVERY_MS = SECOND_MS / 2;

export class HoldWatch {
	isHeld = false;
	readonly #deps: { store: Store; clock: Clock; log: Log };
	#lookAtMs = Number.NEGATIVE_INFINITY;

	constructor(deps: { store: Store; clock: Clock; log: Log }) {
		this.#deps = deps;
	}

	get nextLookInMs(): number {
		return this.#lookAtMs - this.#deps.clock.monotonicMs();
	}

	async lookInTime(): Promise<void> {
		const { store, clock, log } = this.#deps;
		if (this.nextLookInMs > 0) return;
		const lookAtMs = clock.monotonicMs() + LOOK_EVERY_MS;
		const isHeld = await readIsHeld(store.db);
		if (isHeld !== this.isHeld) log.info({}, isHeld ? "callbacks are held" : "callbacks are sent again");
		this.isHeld = isHeld;
		this.#lookAtMs = lookAtMs;
	}
}
