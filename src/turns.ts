// Shops' signed reports go ahead of everything else that a process is asked: pages, forms and signed reads take turns
// behind them.
//
//   wait, by name ─▶ a turn: few at once, one more a round of the event loop, none while a report is at work ─▶ end
//       └─▶ no place: told so a second later, and nothing was done
//
// A name is a person, a block of addresses or a programme. Names take turns, too, so that one that floods waits
// for itself.

import { SECOND_MS } from "./domain/time.ts";
import type { Clock } from "./ports.ts";

interface LaneLimits {
	atOnce: number;
	atOnceOfName: number;
	/** Those beyond it would wait longer than a person does. */
	waiting: number;
	waitingOfName: number;
}

const LANES = {
	/** A page takes a few milliseconds of the processor; on PostgreSQL it also waits, and so several may be at work. */
	pages: { atOnce: 8, atOnceOfName: 2, waiting: 512, waitingOfName: 64 },
	/** Forms of people who are not signed in: scrypt takes a core for 150 ms, and 32 MB. The last of so many waits for 5 s. */
	passwords: { atOnce: 1, atOnceOfName: 1, waiting: 32, waitingOfName: 16 },
	/** Forms that wait for name servers or a mail server, for seconds at times: they keep no page waiting. */
	outside: { atOnce: 16, atOnceOfName: 2, waiting: 64, waitingOfName: 8 },
} as const satisfies Record<string, LaneLimits>;

/** A name's first has a place also where a few others fill the lane: up to so many times as many. */
const FOR_FIRST = 2;

/** Where reports never end, a turn begins so often all the same: some tenth of the processor's time. */
export const MAX_BEHIND_MS = 30;

export interface Turns {
	/** For a report: no turn begins until it is done. */
	goAhead<Answer>(report: () => Promise<Answer>): Promise<Answer>;
	/** In the middle of a turn that takes long: reports that came meanwhile are done first. */
	giveWay(): Promise<void>;
	/** Resolves to what ends the turn; to undefined, a second later, when too many wait already. */
	wait(lane: keyof typeof LANES, name: string): Promise<(() => void) | undefined>;
}

export function createTurns(
	clock: Pick<Clock, "after" | "yieldLoop">,
	stopSignal: AbortSignal | undefined,
): Turns {
	const lanes = {
		pages: createLane(LANES.pages),
		passwords: createLane(LANES.passwords),
		outside: createLane(LANES.outside),
	};
	const answerLate = createLateAnswer(clock, stopSignal);
	let reports = 0;
	/** Resolves when the last report is done. */
	let quiet: PromiseWithResolvers<void> | null = null;
	let isBeginning = false;
	/** One after the other goes on, too. */
	let given: Promise<void> = Promise.resolve();

	function untilNoReport(): Promise<void> {
		if (reports === 0) return Promise.resolve();
		quiet ??= Promise.withResolvers();
		const longEnough = Promise.withResolvers<void>();
		const cancel = clock.after(MAX_BEHIND_MS, longEnough.resolve);
		return Promise.race([quiet.promise, longEnough.promise]).finally(cancel);
	}

	/** One at a time, and after each the event loop goes round: a report that came meanwhile is read first. */
	async function beginTurns(): Promise<void> {
		if (isBeginning) return;
		isBeginning = true;
		while (Object.values(lanes).some((lane) => lane.hasNext())) {
			for (const lane of Object.values(lanes)) {
				if (!lane.hasNext()) continue;
				await untilNoReport();
				lane.beginNext();
				await clock.yieldLoop();
			}
		}
		isBeginning = false;
	}

	return {
		async goAhead(report) {
			reports++;
			try {
				return await report();
			} finally {
				if (--reports === 0) {
					quiet?.resolve();
					quiet = null;
				}
			}
		},
		giveWay() {
			given = given.then(() => clock.yieldLoop()).then(untilNoReport);
			return given;
		},
		async wait(laneName, name) {
			const lane = lanes[laneName];
			const turn = lane.enter(name);
			if (turn === undefined) {
				await answerLate();
				return undefined;
			}
			void beginTurns();
			await turn;
			return () => {
				lane.end(name);
				void beginTurns();
			};
		},
	};
}

function createLane({ atOnce, atOnceOfName, waiting: maxWaiting, waitingOfName }: LaneLimits) {
	/** The name whose turn was the longest ago stands first. */
	const waiting = new Map<string, (() => void)[]>();
	const working = new Map<string, number>();
	let [waitingInAll, workingInAll] = [0, 0];
	const workingOf = (name: string): number => working.get(name) ?? 0;

	function nextName(): string | undefined {
		if (workingInAll >= atOnce) return undefined;
		return waiting.keys().find((name) => workingOf(name) < atOnceOfName);
	}

	return {
		/** Undefined when there is no place. */
		enter(name: string): Promise<void> | undefined {
			const ofName = waiting.get(name) ?? [];
			const places = ofName.length === 0 ? FOR_FIRST * maxWaiting : maxWaiting;
			if (waitingInAll >= places || ofName.length >= waitingOfName) return undefined;
			waitingInAll++;
			waiting.set(name, ofName);
			return new Promise((resolve) => ofName.push(resolve));
		},
		hasNext: () => nextName() !== undefined,
		beginNext(): void {
			const name = nextName();
			if (name === undefined) return;
			const ofName = waiting.get(name) ?? [];
			const begin = ofName.shift();
			waiting.delete(name);
			if (ofName.length > 0) waiting.set(name, ofName);
			waitingInAll--;
			workingInAll++;
			working.set(name, workingOf(name) + 1);
			begin?.();
		},
		end(name: string): void {
			workingInAll--;
			if (workingOf(name) > 1) working.set(name, workingOf(name) - 1);
			else working.delete(name);
		},
	};
}

/** A customer never sees the pixel, so that one of theirs may be late too. */
export const LATE_MS = SECOND_MS;
/** Each holds a connection and some kilobytes; beyond it answers come at once. Half of the connections there may be. */
export const MAX_LATE = 1_000;

/**
 * Whoever floods with one call after the other is slowed down to one call a second and connection, and the process has
 * its time for others.
 */
export function createLateAnswer(
	clock: Pick<Clock, "after">,
	stopSignal: AbortSignal | undefined,
): () => Promise<void> {
	const waiting = new Set<() => void>();
	// A service that stops does not wait for them.
	const answerAll = (): void => {
		for (const answer of waiting) answer();
	};
	stopSignal?.addEventListener("abort", answerAll, { once: true });
	return () => {
		if (waiting.size >= MAX_LATE || stopSignal?.aborted === true) return Promise.resolve();
		return new Promise((resolve) => {
			const answer = (): void => {
				cancel();
				waiting.delete(answer);
				resolve();
			};
			const cancel = clock.after(LATE_MS, answer);
			waiting.add(answer);
		});
	};
}
