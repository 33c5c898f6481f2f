// Runs a piece of background work one at a time, and once more if it is requested while it runs.

export interface SingleFlight {
	/** True while a run is in progress. */
	readonly isRunning: boolean;
	/**
	 * Starts a run. If one is in progress, exactly one more follows it, however often it is requested, because the run in
	 * progress may already have read the state that the request is about.
	 */
	request(): void;
	/** Resolves when no run is in progress and none is requested. Never rejects. */
	whenIdle(): Promise<void>;
	/** Prevents further runs, also requested ones. Resolves when the run in progress has ended. Never rejects. */
	stop(): Promise<void>;
}

export interface SingleFlightOptions {
	/** Starts within the call of `request`, so that its first statement needs no round of the event loop. */
	run(): Promise<unknown>;
	/** Handles the error of a run. It must not throw. A run that was requested meanwhile follows all the same. */
	onError(error: unknown): void;
}

export function createSingleFlight({ run, onError }: SingleFlightOptions): SingleFlight {
	let isRunning = false;
	let isRequested = false;
	let isStopped = false;
	let runs: Promise<void> = Promise.resolve();

	async function runWhileRequested(): Promise<void> {
		while (isRequested && !isStopped) {
			isRequested = false;
			try {
				await run();
			} catch (error) {
				onError(error);
			}
		}
		isRunning = false;
	}

	async function whenIdle(): Promise<void> {
		while (isRunning) await runs;
	}

	return {
		get isRunning() {
			return isRunning;
		},
		request() {
			if (isStopped) return;
			isRequested = true;
			if (isRunning) return;
			// Set before the run starts, because a run may request the next one in its first statement.
			isRunning = true;
			runs = runWhileRequested();
		},
		whenIdle,
		stop() {
			isStopped = true;
			return whenIdle();
		},
	};
}
