// How fast new requests are let out. A request is fresh for a moment after it was sent; only so many may be
// fresh at once. Fast shops are then served over few, busy connections, and slow ones still get all the
// requests in flight that the caps allow, a little later: a request that is not answered soon stops counting.
// Measured: 512 connections cost a request a third more processor time than 64 do.

const MAX_FRESH = 64;
export const FRESH_MS = 20;

export interface Flight {
	sentAtMs: number;
	isFresh: boolean;
}

export class Pace {
	/** In the order they were sent; those that have ended stay until they come to the front. */
	#flights: Flight[] = [];
	#front = 0;
	#fresh = 0;

	hasRoom(nowMs: number): boolean {
		if (this.#fresh < MAX_FRESH) return true;
		this.#age(nowMs);
		return this.#fresh < MAX_FRESH;
	}

	start(nowMs: number): Flight {
		const flight = { sentAtMs: nowMs, isFresh: true };
		this.#flights.push(flight);
		this.#fresh++;
		return flight;
	}

	end(flight: Flight): void {
		if (!flight.isFresh) return;
		flight.isFresh = false;
		this.#fresh--;
	}

	#age(nowMs: number): void {
		for (;;) {
			const flight = this.#flights[this.#front];
			if (flight === undefined || (flight.isFresh && nowMs - flight.sentAtMs < FRESH_MS)) break;
			this.end(flight);
			this.#front++;
		}
		// Cut off what has been passed, but not for every single one.
		if (this.#front * 2 > this.#flights.length) {
			this.#flights = this.#flights.slice(this.#front);
			this.#front = 0;
		}
	}
}
