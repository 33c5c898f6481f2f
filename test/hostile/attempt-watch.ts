// Waits for attempts to be stored: one look at the database for everybody who waits.

import { setTimeout as wait } from "node:timers/promises";
import type { ShopProgramme } from "../support/shop-programme.ts";
import type { HostileSetup } from "./hostile-setup.ts";

export interface AttemptWatch {
	/** Until the programme has one attempt more than it had before `act`. */
	untilOneMore(programme: ShopProgramme, act: () => Promise<unknown>): Promise<void>;
	stop(): void;
}

const LOOK_EVERY_MS = 25;
/** An attempt takes five seconds at most; the rest is for a busy machine to store it. */
const STORED_WITHIN_MS = 30_000;

export function watchAttempts(setup: HostileSetup): AttemptWatch {
	let counts: ReadonlyMap<number, number> = new Map();
	let isStopped = false;
	const look = async () => {
		while (!isStopped) {
			counts = await setup.countAttempts();
			await wait(LOOK_EVERY_MS);
		}
	};
	const looking = look();
	// Heard by whoever waits; it may fail while nobody does.
	looking.catch(() => undefined);
	return {
		async untilOneMore({ id, programId }, act) {
			const before = (await setup.countAttempts()).get(id) ?? 0;
			const startedMs = performance.now();
			await act();
			while ((counts.get(id) ?? 0) <= before) {
				if (performance.now() - startedMs > STORED_WITHIN_MS) {
					throw new Error(`no attempt of ${programId} was stored within ${STORED_WITHIN_MS} ms`);
				}
				await Promise.race([wait(LOOK_EVERY_MS), looking]);
			}
		},
		stop() {
			isStopped = true;
		},
	};
}
