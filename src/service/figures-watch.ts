// Reads once a minute how much there is, so that the metrics need not ask the database when they are read.

import { MINUTE_MS } from "../domain/time.ts";
import type { Clock, DiskSpace, Log } from "../ports.ts";
import { type Figures, readFigures } from "../store/queries/figures.ts";
import type { Store } from "../store/store.ts";

export interface FiguresWatch {
	/** As last read; null before the first time. */
	readonly figures: (Figures & { disk: DiskSpace | null }) | null;
	stop(): Promise<void>;
}

export const FIGURES_INTERVAL_MS = MINUTE_MS;

export function watchFigures({
	store,
	clock,
	log,
	readDisk,
}: {
	store: Store;
	clock: Clock;
	log: Log;
	/** Of the database's file; null where it is on a server. */
	readDisk: () => Promise<DiskSpace | null>;
}): FiguresWatch {
	let figures: FiguresWatch["figures"] = null;
	let isStopping = false;
	let looking: Promise<void> = Promise.resolve();
	let cancel = clock.after(0, start);

	function start(): void {
		looking = look();
	}

	async function look(): Promise<void> {
		try {
			figures = { ...(await readFigures(store, clock.nowMs())), disk: await readDisk() };
		} catch (error) {
			log.warn({ err: error }, "the figures for the metrics could not be read");
		}
		if (!isStopping) cancel = clock.after(FIGURES_INTERVAL_MS, start);
	}

	return {
		get figures() {
			return figures;
		},
		async stop() {
			isStopping = true;
			cancel();
			await looking;
		},
	};
}
