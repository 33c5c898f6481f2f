// Callbacks that are held on purpose: a worker that starts says whether it holds them or lets them go, and every process
// knows since when they are held and how many wait.

import type { Config } from "../config.ts";
import type { DeliveryPause } from "../domain/delivery-pause.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import { findPauseWarnings } from "../domain/warning.ts";
import type { Clock, Log } from "../ports.ts";
import { beginPause, endPause, readPause } from "../store/queries/delivery-pause.ts";
import type { Store } from "../store/store.ts";
import { isDatabaseUnavailable } from "../store/unavailable.ts";

export interface PauseWatch {
	/** As last seen; null while callbacks go out. */
	readonly pause: DeliveryPause | null;
	stop(): Promise<void>;
}

/** One look at a table of one row; while they are held, the queue is counted. */
export const PAUSE_LOOK_INTERVAL_MS = 15 * SECOND_MS;

/** To be called before anything is sent or told. Has looked once when it resolves. */
export async function watchPause(deps: {
	store: Store;
	clock: Clock;
	log: Log;
	config: Pick<Config, "delivery" | "role">;
}): Promise<PauseWatch> {
	const { store, clock, log } = deps;
	let pause: DeliveryPause | null = null;
	let isStopping = false;
	let cancel = (): void => undefined;

	async function look(): Promise<void> {
		try {
			pause = await readPause(store.db, clock.nowMs());
		} catch {
			// A database that does not answer is noticed by everybody else.
		}
		if (isStopping) return;
		cancel = clock.after(PAUSE_LOOK_INTERVAL_MS, () => {
			looking = look();
		});
	}

	await holdOrLetGo(deps);
	let looking = look();
	await looking;
	for (const { kind, title, text } of findPauseWarnings(pause)) log.warn({ kind }, `${title}. ${text}`);
	return {
		get pause() {
			return pause;
		},
		async stop() {
			isStopping = true;
			cancel();
			await looking;
		},
	};
}

/** A process of role web sends nothing either way, so it has no say. */
async function holdOrLetGo({ store, clock, log, config }: Parameters<typeof watchPause>[0]): Promise<void> {
	if (config.role === "web") return;
	try {
		if (config.delivery === "paused") {
			await beginPause(store.db, clock.nowMs());
			return;
		}
		const sinceMs = await endPause(store, clock.nowMs());
		if (sinceMs !== null) log.info({ pausedSince: isoTime(sinceMs) }, "callbacks are sent again");
	} catch (error) {
		// A database that takes nothing just now must not keep callbacks from going out.
		if (!isDatabaseUnavailable(error)) throw error;
		log.error({ err: error }, "whether callbacks are paused could not be written down");
	}
}
