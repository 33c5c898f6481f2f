// Simulates staff who hold all callbacks for a while and release them. The hold is around a burst of events and its
// first retries. One of the processes runs the real use case. Whether callbacks are held is then read from the
// database.

import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeHold } from "#core/programmes/callback-hold.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { ServiceProcess } from "./service-process.ts";
import { answerOrNothing } from "./workload.ts";

export interface HoldingSite {
	random: SeededRandom;
	nowMs(): number;
	at(atMs: number, run: () => void): void;
	pickProcess(): ServiceProcess | undefined;
	/** Returns whether callbacks are held, according to the database. */
	readIsHeld(): boolean;
	trace(line: string): void;
	supervise(work: Promise<void>): void;
}

export type Holding = ReturnType<typeof createHolding>;

/**
 * Maximum length of a hold. It is long enough for retries after one minute and after five minutes to fall into the
 * hold.
 */
const MAX_HELD_MS = 20 * MINUTE_MS;
const TRY_AGAIN_MS = 10 * SECOND_MS;

export function createHolding(site: HoldingSite) {
	let heldSinceMs: number | null = null;
	let releasedAtMs = Number.NEGATIVE_INFINITY;

	async function change(to: "held" | "released"): Promise<void> {
		const process = site.pickProcess();
		const { clock, store } = process ?? {};
		if (clock !== undefined && store !== undefined) {
			const result = await answerOrNothing(() => changeHold({ clock, store }, COMMAND_LINE, to));
			site.trace(`${to} ${JSON.stringify(result)}`);
		}
		const isHeld = site.readIsHeld();
		if (!isHeld && heldSinceMs !== null) releasedAtMs = site.nowMs();
		heldSinceMs = isHeld ? (heldSinceMs ?? site.nowMs()) : null;
		if (isHeld && to === "released") site.at(site.nowMs() + TRY_AGAIN_MS, () => site.supervise(change(to)));
	}

	return {
		/** Holds callbacks from the given time on, for at most MAX_HELD_MS. */
		holdAt(atMs: number): void {
			site.at(atMs, () => site.supervise(change("held")));
			site.at(atMs + site.random.between(SECOND_MS, MAX_HELD_MS), () => site.supervise(change("released")));
		},
		heldForMs: () => (heldSinceMs === null ? 0 : site.nowMs() - heldSinceMs),
		/** Returns the time since which callbacks may be sent, or infinity during a hold. */
		releasedSinceMs: () => (heldSinceMs === null ? releasedAtMs : Number.POSITIVE_INFINITY),
	};
}
