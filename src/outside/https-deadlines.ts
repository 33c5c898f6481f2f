// One deadline for every attempt in flight, with one timer for all of them: they get equal time, so the one
// that began first always ends first, and a timer per attempt would be a tenth of the cost of sending it.

export interface Expiring {
	readonly startedAtMs: number;
	expire(): void;
}

export interface Deadlines<Entry extends Expiring> {
	/** In the order of their start. */
	readonly inFlight: ReadonlySet<Entry>;
	add(entry: Entry): void;
	remove(entry: Entry): void;
}

export function createDeadlines<Entry extends Expiring>(deadlineMs: number): Deadlines<Entry> {
	// A Set keeps the order of insertion and removes from its middle at no cost: a queue with both.
	const inFlight = new Set<Entry>();
	let isArmed = false;

	function arm(delayMs: number): void {
		isArmed = true;
		// Unreferenced, because every attempt has a socket or a query that keeps the process alive.
		// The sweep waits for one poll phase: after a stall of this process the answers that came
		// in time still lie unread in their sockets, and they count.
		setTimeout(() => setImmediate(sweep), Math.ceil(delayMs)).unref();
	}

	function sweep(): void {
		isArmed = false;
		const nowMs = performance.now();
		for (const entry of inFlight) {
			const leftMs = entry.startedAtMs + deadlineMs - nowMs;
			if (leftMs > 0) {
				arm(leftMs);
				return;
			}
			inFlight.delete(entry);
			entry.expire();
		}
	}

	return {
		inFlight,
		add(entry) {
			inFlight.add(entry);
			if (!isArmed) arm(deadlineMs);
		},
		remove(entry) {
			inFlight.delete(entry);
		},
	};
}
