// A receiver that loses no event. It stores each event in the shop's table before it answers, and then handles the
// events, one of a conversion at a time. Work that fails is tried again with growing pauses, also after a restart,
// until it succeeds.

import type { PostbackEvent } from "../event.ts";
import type { StoreEvent } from "../event-store.ts";
import { isObject } from "../json.ts";
import { letProcessEnd } from "../let-process-end.ts";
import { demand, demandWhole, longestMs } from "../option-checks.ts";
import { createReceiver, type Receiver } from "../receiver.ts";
import type { ReceiverOptions } from "../receiver-options.ts";
import { reportError } from "../report.ts";
import { type ClaimSettings, createClaims } from "./claims.ts";
import { createEventWork, type FailingEvent } from "./event-work.ts";

export type { ClaimResult } from "./claims.ts";
export type { FailingEvent } from "./event-work.ts";
export { outranks } from "./rank.ts";

/**
 * Options of a durable receiver. `claim` and `release` let several processes use one table. Without them two processes
 * may work on the same event, for example during a deployment.
 */
export type DurableReceiverOptions = Omit<ReceiverOptions, "store" | "onEvent"> &
	ClaimSettings & {
		/**
		 * Inserts the event into the shop's table as open, in one atomic step. Returns `stored`, or `seen` if the
		 * table has an event with this conversionId and name. If it throws, 503 is answered and the service sends the
		 * event again.
		 */
		readonly insert: StoreEvent;
		/** Returns up to `limit` open events, the oldest first. */
		readonly listOpen: (limit: number) => readonly PostbackEvent[] | Promise<readonly PostbackEvent[]>;
		/** Marks the event as done in the table. It is called after `onEvent` has succeeded. */
		readonly markDone: (event: PostbackEvent) => unknown;
		/**
		 * The shop's work. If it throws, it is called again later. It is never called for two events of one conversion
		 * at a time, with `claim` and `release` in all processes together. It may be called twice for one event if the
		 * process ends or stands still before `markDone`, so it must be safe to repeat.
		 */
		readonly onEvent: (event: PostbackEvent) => unknown;
		/** Maximum number of conversions that are worked on at a time. Default: 4. */
		readonly maxConcurrent?: number | undefined;
		/**
		 * Time in milliseconds between two reads of the table, which find events that another process has left open.
		 * Default: 30,000.
		 */
		readonly sweepEveryMs?: number | undefined;
	};

export type DurableReceiver = Receiver & {
	/** State of the work, for a health page or an alert. */
	readonly status: () => WorkStatus;
	/** Handles all open events now, also those that wait after a failure. Resolves when each has been tried. */
	readonly sweep: () => Promise<void>;
	/** Starts no further work and waits for the work that is running. Open events stay in the table. */
	readonly close: () => Promise<void>;
};

export type WorkStatus = {
	/** Number of events that are being handled or wait for their turn. */
	readonly waiting: number;
	/** Events whose work has failed and is tried again. */
	readonly failing: readonly FailingEvent[];
};

const defaultMaxConcurrent = 4;
const defaultSweepEveryMs = 30_000;

/**
 * Creates a durable receiver, which can be given to every adapter. Throws if an option is wrong. It starts at
 * once to handle the events that are open in the table.
 */
export function createDurableReceiver(options: DurableReceiverOptions): DurableReceiver {
	demand(
		isObject(options),
		"createDurableReceiver needs its options: { secret, insert, listOpen, markDone, onEvent }.",
	);
	const { insert, listOpen, markDone, onEvent, claim, release, ...rest } = options;
	const { maxConcurrent = defaultMaxConcurrent, sweepEveryMs = defaultSweepEveryMs, ...others } = rest;
	for (const [name, value] of Object.entries({ insert, listOpen, markDone, onEvent })) {
		demand(typeof value === "function", `${name} must be a function.`);
	}
	const claims = [typeof claim, typeof release].join();
	const isPair = claims === "function,function" || claims === "undefined,undefined";
	demand(isPair, "claim and release must both be functions, or both be left out.");
	demandWhole("maxConcurrent", maxConcurrent, Number.MAX_SAFE_INTEGER);
	demandWhole("sweepEveryMs", sweepEveryMs, longestMs);
	const now = () => Number((options.now ?? Date.now)());
	const work = createEventWork({
		listOpen,
		markDone,
		onEvent,
		claims: createClaims({ claim, release }),
		onError: (error, event) => reportError({ onError: options.onError ?? logFailure }, error, event),
		maxConcurrent,
		now,
	});
	const receiver = createReceiver({ ...others, store: insert, onEvent: work.handle });

	let isClosed = false;
	let timer: ReturnType<typeof setTimeout> | undefined;
	/** Handles the open events of the table, now and at regular times. Never rejects. */
	async function keepSweeping(sentBeforeMs: number): Promise<void> {
		await work.sweep(sentBeforeMs);
		if (isClosed) return;
		// Newer events are left out, because another process may still be handling them.
		timer = setTimeout(() => void keepSweeping(now() - sweepEveryMs), sweepEveryMs);
		letProcessEnd(timer);
	}
	// The first sweep includes all events, because the process that worked on them may be gone.
	void keepSweeping(Number.POSITIVE_INFINITY);

	return {
		...receiver,
		status: () => ({ waiting: work.countWaiting(), failing: work.listFailing() }),
		async sweep() {
			await work.retryNow();
			await work.sweep(Number.POSITIVE_INFINITY);
			await work.idle();
		},
		async close() {
			isClosed = true;
			clearTimeout(timer);
			work.stop();
			await Promise.all([receiver.settled(), work.idle()]);
		},
	};
}

function logFailure(error: unknown, event?: PostbackEvent): void {
	if (event === undefined) console.error("Open callbacks could not be read, and are read again soon:", error);
	else console.error(`Callback ${event.event} of ${event.conversionId} is tried again later:`, error);
}
