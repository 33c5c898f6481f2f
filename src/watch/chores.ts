// The work nobody asks for: the approval window, expiry of parked conversions, what a removed URL leaves pending, jobs of
// many lines, early notices, mail, retention. Each chore runs by itself, never twice at once, and
// its failure is logged, written into the book and tried again. None runs while nobody is sure of the time.

import { tellEarly } from "../callbacks/failure-notices.ts";
import type { ConversionsDeps } from "../conversions/deps.ts";
import { approveDue, expireParked } from "../conversions/end-windows.ts";
import { CHORES, type ChoreName } from "../domain/chore.ts";
import type { Status } from "../domain/conversion.ts";
import { SERIOUS_AFTER_MS } from "../domain/notice.ts";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import { type JobWorkDeps, workOffJobs } from "../jobs/work.ts";
import { type TellDeps, tellChanges, tellNotices } from "../mail/tell.ts";
import type { Clock, Log } from "../ports.ts";
import {
	findOldestCancellation,
	findOldestPastRetention,
	findOldestUnmailed,
	findOldestUntold,
	findOldestWatched,
} from "../store/queries/backlogs.ts";
import { pruneCallbackHours } from "../store/queries/callback-hours.ts";
import { cancelAllRemoved } from "../store/queries/cancellations.ts";
import { findOldestEndedWindow } from "../store/queries/conversions.ts";
import { findOldestWaitingJob, pruneJobs } from "../store/queries/jobs.ts";
import { pruneUses } from "../store/queries/limit-counts.ts";
import { pruneMails } from "../store/queries/mail-queue.ts";
import {
	giveBackSpace,
	pruneDeliveries,
	pruneExpired,
	pruneInboundCalls,
	pruneLocalAnswers,
	pruneNonces,
	pruneNotices,
} from "../store/queries/prune.ts";
import { pruneSignIn } from "../store/queries/sign-in.ts";
import type { BacklogLook, ChoreBook } from "./chore-book.ts";

/** Kept at work by `startChore`; looks by itself now and then. */
export interface Chore {
	/** Now, or right after the run that is under way. */
	runSoon(): void;
	/** Lets the run under way come to an end, which it does at its next batch. */
	stop(): Promise<void>;
}

type Work = (isStopping: () => boolean) => Promise<unknown>;

/** What every chore runs with. */
export interface ChoreDeps {
	clock: Clock;
	log: Log;
	book: ChoreBook;
}

export interface ChoresDeps extends ChoreDeps, ConversionsDeps, TellDeps {
	retentionDays: number;
	/**
	 * Callbacks are held on purpose: no shop has a chance to answer, so nobody is told that callbacks fail. What there is
	 * to tell waits, too.
	 */
	isDeliveryPaused: boolean;
}

export interface Chores {
	/** A notice was written: mail it now if its time has come. */
	mailNow(): void;
	stop(): Promise<void>;
}

/** Longer than the next one on the same topic has to wait. What still waits to be sent is kept as long as it is good for. */
const MAILS_KEPT_MS = 7 * DAY_MS;

/** How often a chore looks whether it may run again, while nobody is sure of the time. */
const SURE_LOOK_MS = 5 * SECOND_MS;

/** The chores of a process that delivers callbacks. */
export function startChores(deps: ChoresDeps): Chores {
	const { store, clock } = deps;
	const endedSince = (status: Status) => () => findOldestEndedWindow(store, status, clock.nowMs());
	const mail = startMailing(deps);
	const chores = [
		startChore(deps, "approvals", (isStopping) => approveDue(deps, isStopping), endedSince("RECORDED")),
		startChore(deps, "expiries", (isStopping) => expireParked(deps, isStopping), endedSince("PARKED")),
		startChore(
			deps,
			"cancellations",
			(isStopping) => cancelAllRemoved(store, clock, isStopping),
			() => findOldestCancellation(store.db, clock.nowMs()),
		),
		startChore(deps, "nonces", () => pruneNonces(store, clock.nowMs())),
		startChore(deps, "limits", () => pruneUses(store.db, clock.nowMs())),
		startChore(deps, "sessions", () => pruneSignIn(store.db, clock.nowMs())),
		startChore(deps, "old_mails", () => pruneMails(store.db, clock.nowMs() - MAILS_KEPT_MS)),
		startChore(
			deps,
			"retention",
			(isStopping) => removeOld(deps, isStopping),
			() => findOldestPastRetention(store.db, deps.retentionDays * DAY_MS, clock.nowMs()),
		),
	];
	const early = startTellingEarly(deps, mail);
	return {
		mailNow: () => mail?.runSoon(),
		stop: async () => {
			await Promise.all([...chores, early, mail].map((chore) => chore?.stop()));
		},
	};
}

function startTellingEarly(deps: ChoresDeps, mail: Chore | null): Chore | null {
	const { store, clock, book, isDeliveryPaused } = deps;
	if (isDeliveryPaused) {
		book.leaveOut("early_notices");
		return null;
	}
	return startChore(
		deps,
		"early_notices",
		async (isStopping) => {
			if ((await tellEarly(deps, isStopping)) > 0) mail?.runSoon();
		},
		() => findOldestWatched(store.db, SERIOUS_AFTER_MS, clock.nowMs()),
	);
}

/** Without a mail server notices wait on record until there is one. */
function startMailing(deps: ChoresDeps): Chore | null {
	const { mails, store, clock, book, isDeliveryPaused } = deps;
	if (!mails.isOn || isDeliveryPaused) {
		book.leaveOut("notice_mails");
		return null;
	}
	return startChore(
		deps,
		"notice_mails",
		(isStopping) => tellNotices(deps, isStopping),
		() => findOldestUnmailed(store.db, clock.nowMs()),
	);
}

async function removeOld(deps: ChoresDeps, isStopping: () => boolean): Promise<void> {
	const { store, clock, retentionDays } = deps;
	const olderThanMs = clock.nowMs() - retentionDays * DAY_MS;
	await pruneDeliveries(store, clock, olderThanMs, isStopping);
	await pruneInboundCalls(store, clock, olderThanMs, isStopping);
	await pruneLocalAnswers(store, clock, olderThanMs, isStopping);
	await pruneExpired(store, clock, olderThanMs, isStopping);
	await pruneNotices(store, olderThanMs);
	await pruneJobs(store.db, olderThanMs);
	await pruneCallbackHours(store.db, olderThanMs);
	await giveBackSpace(store, clock, isStopping);
}

/** Many decisions, and files that staff import. In every process: whichever is there takes up what another left behind. */
export function startJobChore(deps: JobWorkDeps & ChoreDeps): Chore {
	const { store, clock } = deps;
	return startChore(
		deps,
		"jobs",
		(isStopping) => workOffJobs(deps, isStopping),
		() => findOldestWaitingJob(store.db, clock.nowMs()),
	);
}

/** In every process that has a mail server: whichever is there tells. Without one, changes wait on record. */
export function startTelling(deps: TellDeps & ChoreDeps): Chore | null {
	const { store, clock, mails, book } = deps;
	if (!mails.isOn) {
		book.leaveOut("change_mails");
		return null;
	}
	return startChore(
		deps,
		"change_mails",
		(isStopping) => tellChanges(deps, isStopping),
		() => findOldestUntold(store.db, clock.nowMs()),
	);
}

export function startChore(
	{ clock, log, book }: ChoreDeps,
	name: ChoreName,
	work: Work,
	look?: BacklogLook,
): Chore {
	const notes = book.open(name, look);
	let running: Promise<void> | null = null;
	let isWanted = false;
	let isStopping = false;
	let cancel = clock.after(0, runSoon);

	function runSoon(): void {
		if (isStopping) return;
		isWanted = true;
		if (running !== null) return;
		if (clock.isSure()) running = run();
		else runAfter(SURE_LOOK_MS);
	}

	function runAfter(delayMs: number): void {
		cancel();
		cancel = clock.after(delayMs, runSoon);
	}

	async function run(): Promise<void> {
		cancel();
		do {
			isWanted = false;
			notes.begun();
			try {
				await work(() => {
					notes.working();
					return isStopping || !clock.isSure();
				});
				notes.succeeded();
			} catch (error) {
				notes.failed(error);
				log.error({ err: error, chore: name }, "a chore failed; it will be tried again");
			}
		} while (isWanted && !isStopping && clock.isSure());
		running = null;
		if (!isStopping) runAfter(CHORES[name].intervalMs);
	}

	return {
		runSoon,
		async stop() {
			isStopping = true;
			cancel();
			await running;
		},
	};
}
