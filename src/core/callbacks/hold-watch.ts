// Tells an engine whether staff hold all callbacks. The watch asks the database twice a second and does not rely on
// notifications, so that every engine knows within a second.

import { SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { readIsHeld } from "../store/queries/delivery-pause.ts";
import type { Store } from "../store/store.ts";

const LOOK_EVERY_MS = SECOND_MS / 2;

export class HoldWatch {
	readonly #deps: { store: Store; clock: Clock; log: Log };
	#isHeld = false;
	#checkAtMs = Number.NEGATIVE_INFINITY;

	constructor(deps: { store: Store; clock: Clock; log: Log }) {
		this.#deps = deps;
	}

	get isHeld(): boolean {
		return this.#isHeld;
	}

	/** Monotonic time of the next query. */
	get checkAtMs(): number {
		return this.#checkAtMs;
	}

	/** Makes the next query due now. */
	lookSoon(): void {
		this.#checkAtMs = Number.NEGATIVE_INFINITY;
	}

	/** Runs the query if it is due. */
	async lookInTime(): Promise<void> {
		const { store, clock, log } = this.#deps;
		const nowMs = clock.monotonicMs();
		if (nowMs < this.#checkAtMs) return;
		const isHeld = await readIsHeld(store.db);
		if (isHeld !== this.#isHeld) log.info({}, isHeld ? "callbacks are held" : "callbacks are sent again");
		this.#isHeld = isHeld;
		this.#checkAtMs = nowMs + LOOK_EVERY_MS;
	}
}
