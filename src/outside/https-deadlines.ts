// Deadlines of all attempts in flight, with a single timer. All attempts get the same time, so the oldest one
// always expires first. A timer for each attempt would cost a tenth of the work of sending it.

export interface Expiring {
	readonly startedAtMs: number;
	expire(): void;
}

export interface Deadlines<Entry extends Expiring> {
	/** Attempts in flight, the oldest first. */
	readonly inFlight: ReadonlySet<Entry>;
	add(entry: Entry): void;
	remove(entry: Entry): void;
}

export function createDeadlines<Entry extends Expiring>(deadlineMs: number): Deadlines<Entry> {
	// A Set keeps its insertion order and deletes from the middle in constant time, so it serves as a queue of attempts.
	const inFlight = new Set<Entry>();
	let isArmed = false;

	function arm(delayMs: number): void {
		isArmed = true;
		// The timer is unreferenced, because every attempt has a socket or a query that keeps the process alive.
		// The sweep waits for one poll phase. If this process stalled, answers that arrived in time may still be
		// unread in their sockets, and they must count.
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
