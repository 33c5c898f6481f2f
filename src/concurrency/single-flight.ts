// Runs background work one run at a time, and once more if a run is requested meanwhile.

export interface SingleFlight {
	readonly isRunning: boolean;
	/**
	 * Requests a run, which starts at once if none is in progress. Otherwise exactly one more run follows, however many
	 * are requested. The additional run is needed, because the run in progress may already have read the state that the
	 * request is about.
	 */
	request(): void;
	/** Resolves when no run is in progress or requested. Never rejects. */
	whenIdle(): Promise<void>;
	/**
	 * Prevents further runs, including those already requested. Resolves when the run in progress has ended.
	 * Never rejects.
	 */
	stop(): Promise<void>;
}

export interface SingleFlightOptions {
	/**
	 * Makes one run. `request` calls this function synchronously, so that the first statement of the run does not wait
	 * for the event loop.
	 */
	run(): Promise<unknown>;
	/** Handles the error of a run. It must not throw. A run that was requested meanwhile still follows. */
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
			// The flag is set before the run starts, because a run may request the next one in its first statement.
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
