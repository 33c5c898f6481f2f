// Few pixel calls at a time may work with the database, and after each whoever else has come in gets on first:
// whatever a flood brings, a shop's signed request finds at most so many of them ahead of it.

import type { Clock } from "../ports.ts";

export interface PixelTurns {
	/** Undefined when too many wait already: nothing was done. */
	take<Answer>(work: () => Promise<Answer>): Promise<Answer> | undefined;
}

/** One that works and one that is ready after it: PostgreSQL has time to wait for, SQLite takes one after the other. */
export const MAX_AT_ONCE = 2;
/** Two seconds of a Black Friday's calls, and three times what one block of addresses may send at once. */
export const MAX_WAITING = 1_000;

export function createPixelTurns(clock: Pick<Clock, "yieldLoop">): PixelTurns {
	let working = 0;
	/** Whoever came first goes first. */
	const waiting: (() => void)[] = [];

	async function workInTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
		if (working >= MAX_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
		else working++;
		try {
			return await work();
		} finally {
			// A file database answers without ever going back to the event loop: without this nobody else would be read.
			await clock.yieldLoop();
			// The turn goes over to the next; it is given back only when nobody waits.
			const next = waiting.shift();
			if (next === undefined) working--;
			else next();
		}
	}

	return {
		take: (work) => (waiting.length >= MAX_WAITING ? undefined : workInTurn(work)),
	};
}
