// Queue of requests that share a limited number of places. Clients take turns, so a client that sends very
// many requests delays only itself.
//
//   enter ─▶ waiting, by client ─▶ startNext ─▶ at work ─▶ leave
//     └─▶ no room: undefined

export interface QueueLimits {
	atOnce: number;
	atOncePerClient: number;
	/** Maximum number of waiting requests. If it is 0, a request starts at once or is refused. */
	waiting: number;
	waitingPerClient: number;
	/**
	 * A client that has no waiting request may add one until this many requests of all clients wait. If this is
	 * larger than `waiting`, a few busy clients cannot lock the others out.
	 */
	waitingForNewClients: number;
}

export type QueueClient = string | number;

export interface FairQueue {
	/**
	 * Adds a request. Returns a promise that resolves when the request has a place, or undefined if there is no
	 * room to wait.
	 */
	enter(client: QueueClient): Promise<void> | undefined;
	/** Returns whether a place is free that a waiting client may take. */
	canStart(): boolean;
	/** Gives a free place to the waiting client whose last turn was longest ago. */
	startNext(): void;
	leave(client: QueueClient): void;
}

export function createFairQueue(limits: QueueLimits): FairQueue {
	/** Waiting requests by client. The first client has waited longest for its turn. */
	const waiting = new Map<QueueClient, (() => void)[]>();
	const atWork = new Map<QueueClient, number>();
	let waitingInAll = 0;
	let atWorkInAll = 0;

	function hasPlaceFor(client: QueueClient): boolean {
		return atWorkInAll < limits.atOnce && (atWork.get(client) ?? 0) < limits.atOncePerClient;
	}

	function nextClient(): QueueClient | undefined {
		return atWorkInAll < limits.atOnce ? waiting.keys().find(hasPlaceFor) : undefined;
	}

	function hasRoomFor(client: QueueClient): boolean {
		if (waitingInAll === 0 && hasPlaceFor(client)) return true;
		const waitingOfClient = waiting.get(client)?.length ?? 0;
		const maxWaiting = waitingOfClient === 0 ? limits.waitingForNewClients : limits.waiting;
		return waitingInAll < maxWaiting && waitingOfClient < limits.waitingPerClient;
	}

	return {
		enter(client) {
			if (!hasRoomFor(client)) return undefined;
			const starts = waiting.get(client) ?? [];
			waiting.set(client, starts);
			waitingInAll++;
			return new Promise((resolve) => starts.push(resolve));
		},
		canStart: () => nextClient() !== undefined,
		startNext() {
			const client = nextClient();
			if (client === undefined) return;
			const starts = waiting.get(client) ?? [];
			const start = starts.shift();
			// The client moves to the end of the line, so that the others get their turns first.
			waiting.delete(client);
			if (starts.length > 0) waiting.set(client, starts);
			waitingInAll--;
			atWorkInAll++;
			atWork.set(client, (atWork.get(client) ?? 0) + 1);
			start?.();
		},
		leave(client) {
			atWorkInAll--;
			const left = (atWork.get(client) ?? 0) - 1;
			if (left > 0) atWork.set(client, left);
			else atWork.delete(client);
		},
	};
}
