// Counts the callbacks that a server of the demo has received, and waits for them.

export interface Arrivals {
	add(): void;
	/** Resolves when this many callbacks have arrived in all. */
	waitFor(count: number): Promise<void>;
}

/** Generous time limit for the slowest laptop. A working demo never waits that long. */
const ARRIVAL_TIMEOUT_MS = 20_000;

export function createArrivals(what: string): Arrivals {
	let arrived = 0;
	let onArrival = (): void => undefined;
	return {
		add() {
			arrived++;
			onArrival();
		},
		waitFor(count) {
			return new Promise((resolve, reject) => {
				const timer = setTimeout(
					() => reject(new Error(`only ${arrived} of ${count} ${what} arrived`)),
					ARRIVAL_TIMEOUT_MS,
				);
				// The timer does not keep the process alive, because the demo's servers already do.
				timer.unref();
				onArrival = () => {
					if (arrived < count) return;
					clearTimeout(timer);
					resolve();
				};
				onArrival();
			});
		},
	};
}
