// A sender that survives an outage of the shop and of the service. The shop writes its calls into a table of
// its own, in the transaction of the order, and the outbox sends the calls about one sale in their order.
// Sending a call twice does no harm, because the service records nothing twice.

import { type Backoff, pauseAfter } from "../backoff.ts";
import type { Client } from "../client/create-client.ts";
import { refuseUnsent } from "../client/failure.ts";
import { isObject } from "../json.ts";
import { demand, demandWhole, longestMs } from "../option-checks.ts";
import { superviseCall } from "../report.ts";
import { type OutboxEntry, type OutboxProblem, type OutboxProgress, saleOf } from "./outbox-entry.ts";
import { ruleOnRefusal } from "./refusal-ruling.ts";

export type { OutboxCall, OutboxEntry, OutboxProblem, OutboxProgress } from "./outbox-entry.ts";

export type OutboxOptions = {
	readonly client: Pick<Client, "record" | "approve" | "reject" | "reverse" | "refund" | "conversions">;
	/**
	 * Returns up to `limit` open entries whose id is larger than `afterId`, in the order of their ids. Entries
	 * that are not due yet must be among them, because they hold back later calls about the same sale. If
	 * several processes share the table, only one of them may return entries at a time.
	 */
	readonly load: (afterId: number, limit: number) => readonly OutboxEntry[] | Promise<readonly OutboxEntry[]>;
	/** Writes the progress of an entry to its row. */
	readonly save: (entry: OutboxEntry, progress: OutboxProgress) => unknown;
	/**
	 * Called for each problem. Nothing waits for it. Default: a line on `console.error`.
	 */
	readonly onProblem?: ((problem: OutboxProblem) => unknown) | undefined;
	/**
	 * Time in milliseconds between two reads of the table, which find entries that are due again and entries of
	 * other processes. Default: 5,000.
	 */
	readonly checkEveryMs?: number | undefined;
	/** The shop's clock. Default: `Date.now`. */
	readonly now?: (() => number) | undefined;
};

export type Outbox = {
	/** Starts the outbox, which sends the due calls now and at regular times. */
	start(): void;
	/**
	 * Reads the table now instead of at the next regular time, unless the outbox is paused by an outage. Call it
	 * after a transaction that wrote an entry has been committed.
	 */
	wake(): void;
	/**
	 * Attempts every entry that is due, once. Resolves when that is done. A shop that is started by a timer calls
	 * it instead of `start`, and so do tests.
	 */
	drain(): Promise<DrainResult>;
	/**
	 * Stops sending, and ends a call that is being made. Entries whose result is not known stay open and are sent
	 * again after the next start.
	 */
	stop(): Promise<void>;
};

export type DrainResult = {
	/** Number of calls that the service has processed, or that had nothing left to do. */
	readonly done: number;
	/** Number of calls that the service has refused. */
	readonly refused: number;
	/** Number of attempts that failed and are repeated. */
	readonly failed: number;
	/** True if the outbox ended early, because the service cannot be used at the moment. */
	readonly isPaused: boolean;
};

const defaultCheckEveryMs = 5_000;
/** Number of entries in one call of `load`. */
const pageSize = 100;
/** Pauses between the attempts of one entry. */
const entryBackoff: Backoff = { firstMs: 5_000, longestMs: 300_000 };
/** Pauses of the whole outbox, while the service cannot be used. */
const outageBackoff: Backoff = { firstMs: 1_000, longestMs: 60_000 };
/**
 * Number of failed entries in a row after which the service counts as unavailable. A single entry that always
 * fails must not hold back all others.
 */
const failuresOfOutage = 3;
/** Number of times that a call is repeated because its sale is not known yet, which takes about five minutes. */
const earlyRepeats = 6;

/** Creates an outbox. Throws if an option is wrong. Nothing is sent before `start` or `drain` is called. */
export function createOutbox(options: OutboxOptions): Outbox {
	const settings = readOptions(options);
	const { now, checkEveryMs } = settings;
	let isStarted = false;
	let isWoken = false;
	let stopping = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;
	/**
	 * The pass over the table that is in progress. Two passes at once would send calls about one sale in the
	 * wrong order.
	 */
	let pass: Promise<DrainResult> | undefined;
	/** Number of passes over the table in a row that ended early. */
	let outages = 0;
	/** Time before which the timer starts no pass. */
	let pausedUntilMs = 0;

	function drain(): Promise<DrainResult> {
		pass ??= makePass(settings, stopping.signal).finally(() => {
			pass = undefined;
		});
		return pass;
	}

	function scheduleIn(delayMs: number): void {
		clearTimeout(timer);
		if (!isStarted) return;
		const pausedMs = pausedUntilMs - now();
		timer = setTimeout(() => void work(), Math.max(0, delayMs, pausedMs));
	}

	/**
	 * Makes a pass over the open entries and schedules the next pass. Never rejects, because a pass reports its
	 * own errors.
	 */
	async function work(): Promise<void> {
		isWoken = false;
		const { isPaused } = await drain();
		outages = isPaused ? outages + 1 : 0;
		pausedUntilMs = isPaused ? now() + pauseAfter(outageBackoff, outages, Math.random()) : 0;
		scheduleIn(isWoken ? 0 : checkEveryMs);
	}

	return {
		start() {
			if (isStarted) return;
			isStarted = true;
			scheduleIn(0);
		},
		wake() {
			// The pass that is in progress may already be past the new entry, so another pass follows.
			isWoken = true;
			if (pass === undefined) scheduleIn(0);
		},
		drain,
		async stop() {
			isStarted = false;
			clearTimeout(timer);
			stopping.abort();
			await pass;
			stopping = new AbortController();
		},
	};
}

type Settings = Required<{ readonly [Name in keyof OutboxOptions]: NonNullable<OutboxOptions[Name]> }>;

function readOptions(options: OutboxOptions): Settings {
	demand(isObject(options), "createOutbox needs its options: { client, load, save }.");
	const { client, load, save, onProblem = logProblem, checkEveryMs = defaultCheckEveryMs } = options;
	const { now = Date.now } = options;
	demand(
		isObject(client) && typeof client.record === "function",
		"client must be what createClient returns.",
	);
	demand(typeof load === "function", "load must be a function that returns the open entries.");
	demand(typeof save === "function", "save must be a function that writes an entry's progress.");
	demand(typeof onProblem === "function", "onProblem must be a function.");
	demand(typeof now === "function", "now must be a function that gives milliseconds.");
	demandWhole("checkEveryMs", checkEveryMs, longestMs);
	return { client, load, save, onProblem, checkEveryMs, now };
}

/** Walks through all open entries and attempts those that are due. Never rejects. */
async function makePass(settings: Settings, signal: AbortSignal): Promise<DrainResult> {
	const counts = { done: 0, refused: 0, failed: 0 };
	/** Sales with an earlier entry that is still open. Their later entries must wait for it. */
	const held = new Set<string>();
	/** Sales whose report is still open. */
	const unreported = new Set<string>();
	let failuresInRow = 0;
	const hold = (entry: OutboxEntry): void => {
		held.add(saleOf(entry));
		if (isReport(entry)) unreported.add(saleOf(entry));
	};
	try {
		for (let afterId = 0; ; ) {
			const entries = await settings.load(afterId, pageSize);
			for (const entry of entries) {
				afterId = entry.id;
				// The report of a sale waits for no decision about it, because the decision may be waiting for the report.
				if ((isReport(entry) ? unreported : held).has(saleOf(entry))) continue;
				if (entry.dueAtMs > settings.now()) {
					hold(entry);
					continue;
				}
				const attempt = await attemptEntry(settings, entry, signal);
				if (attempt === "stopped") return { ...counts, isPaused: false };
				if (attempt === "done" || attempt === "refused") {
					counts[attempt]++;
					failuresInRow = 0;
					continue;
				}
				counts.failed++;
				hold(entry);
				failuresInRow = attempt === "early" ? 0 : failuresInRow + 1;
				if (attempt === "misconfigured" || failuresInRow >= failuresOfOutage) {
					return { ...counts, isPaused: true };
				}
			}
			if (entries.length < pageSize) return { ...counts, isPaused: false };
		}
	} catch (error) {
		report(settings, { kind: "storage", error });
		return { ...counts, isPaused: true };
	}
}

function isReport({ call }: OutboxEntry): boolean {
	return call?.call === "record";
}

type Attempt = "done" | "refused" | "early" | "failed" | "misconfigured" | "stopped";

/** Makes the call of an entry and saves the result. Rejects if `save` does. */
async function attemptEntry(settings: Settings, entry: OutboxEntry, signal: AbortSignal): Promise<Attempt> {
	const result = await send(settings.client, entry, signal);
	if (result.ok) {
		const { outcome, conversion, credit } = result;
		const credited = credit === undefined ? {} : { credit };
		await settings.save(entry, { state: "done", outcome, conversion, ...credited });
		return "done";
	}
	if (result.kind === "aborted") return "stopped";
	const { detail } = result;
	let isEarly = false;
	if (result.kind === "refused" && !result.retryable) {
		const { code } = result;
		const ruling = await ruleOnRefusal(settings.client, entry.call, result, signal);
		if (signal.aborted) return "stopped";
		isEarly = ruling === "early" && entry.attempts < earlyRepeats;
		if (ruling === "settled") {
			await settings.save(entry, { state: "settled", code, detail });
			return "done";
		}
		if (!isEarly) {
			await settings.save(entry, { state: "refused", code, detail });
			report(settings, { kind: "refused", entry, code, detail });
			return "refused";
		}
	}
	const attempts = entry.attempts + 1;
	const dueAtMs = settings.now() + pauseAfter(entryBackoff, attempts, Math.random());
	await settings.save(entry, { state: "open", attempts, dueAtMs, detail });
	if (result.kind === "misconfigured") {
		report(settings, { kind: "misconfigured", entry, code: result.code, detail });
		return "misconfigured";
	}
	report(settings, { kind: "delayed", entry, attempts, detail, failure: result });
	return isEarly ? "early" : "failed";
}

async function send(client: Settings["client"], { call: stored }: OutboxEntry, signal: AbortSignal) {
	// Each branch removes the field `call`, because the service refuses fields that it does not know.
	switch (stored?.call) {
		case "record": {
			const { call: _, ...sale } = stored;
			return client.record(sale, { signal });
		}
		case "approve": {
			const { call: _, ...approval } = stored;
			return client.approve(approval, { signal });
		}
		case "reject": {
			const { call: _, ...rejection } = stored;
			const rejected = await client.reject(rejection, { signal });
			// The sale was approved in the meantime, so it can only be reversed.
			const isTooLate = !rejected.ok && rejected.code === "move_not_allowed";
			return isTooLate ? client.reverse(rejection, { signal }) : rejected;
		}
		case "reverse": {
			const { call: _, ...reversal } = stored;
			return client.reverse(reversal, { signal });
		}
		case "refund": {
			const { call: _, ...refund } = stored;
			return client.refund(refund, { signal });
		}
		default:
			// The row is damaged, or a later version of the shop has written it.
			return refuseUnsent("invalid_field", "call", "must be record, approve, reject, reverse or refund.");
	}
}

function report({ onProblem }: Settings, problem: OutboxProblem): void {
	void superviseCall(
		() => onProblem(problem),
		(error) => console.error("onProblem itself failed:", error),
	);
}

function logProblem(problem: OutboxProblem): void {
	if (problem.kind === "storage") {
		console.error("Outbox: load or save failed:", problem.error);
		return;
	}
	const { id, call } = problem.entry;
	console.error(
		`Outbox entry ${id} (${call?.call} of order ${call?.orderId}), ${problem.kind}: ${problem.detail}`,
	);
}
