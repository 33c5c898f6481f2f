// The sleep of a loop. It ends at its time, or earlier if somebody wakes the loop. Waking a loop that is awake has no
// effect, and loses nothing, because the loop looks for work before it sleeps again.

import type { Clock } from "../ports.ts";
import { Alarm } from "./alarm.ts";

export class Sleep {
	readonly #alarm: Alarm;
	#sleeping: { isDeep: boolean; end: () => void } | null = null;

	constructor(clock: Clock) {
		this.#alarm = new Alarm(clock, () => this.#end());
	}

	/** Resolves after `delayMs`, or when the loop is woken. */
	light(delayMs: number): Promise<void> {
		return this.#begin(delayMs, false);
	}

	/** Resolves after `delayMs`. Only `interrupt` ends it earlier. */
	deep(delayMs: number): Promise<void> {
		return this.#begin(delayMs, true);
	}

	/** Lets a light sleep end after `delayMs` at the latest. A deep sleep is not affected. */
	wakeWithin(delayMs: number): void {
		if (this.#sleeping?.isDeep === false) this.#alarm.ringWithin(delayMs);
	}

	/** Ends a light sleep at once. */
	wake(): void {
		if (this.#sleeping?.isDeep === false) this.#end();
	}

	/** Ends every sleep at once. */
	interrupt(): void {
		this.#end();
	}

	#begin(delayMs: number, isDeep: boolean): Promise<void> {
		if (this.#sleeping !== null) throw new Error("the loop sleeps already");
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#sleeping = { isDeep, end: resolve };
		this.#alarm.ringWithin(Math.max(0, delayMs));
		return promise;
	}

	#end(): void {
		this.#alarm.cancel();
		this.#sleeping?.end();
		this.#sleeping = null;
	}
}
