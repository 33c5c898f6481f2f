// The work nobody asks for: the approval window, expiry of parked conversions, jobs of many decisions, mail, retention.
// Each chore runs by itself, never twice at once, and its failure is logged and tried again.

import { type TellDeps, tellChanges } from "./accounts/tell-changes.ts";
import { type MailOwnersDeps, mailOwners } from "./callbacks/mail-owners.ts";
import { workOffJobs } from "./conversions/bulk-work.ts";
import type { ConversionsDeps } from "./conversions/deps.ts";
import { approveDue, expireParked } from "./conversions/end-windows.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "./domain/time.ts";
import type { Clock, Log, Mailer } from "./ports.ts";
import { pruneJobs } from "./store/bulk-jobs.ts";
import { pruneCallbackHours } from "./store/callback-hours.ts";
import { pruneUses } from "./store/limit-counts.ts";
import { pruneMails } from "./store/mail-queue.ts";
import {
	pruneDeliveries,
	pruneExpired,
	pruneInboundCalls,
	pruneNonces,
	pruneNotices,
} from "./store/prune.ts";
import { pruneSignIn } from "./store/sign-in.ts";

/** Kept at work by `startChore`; looks by itself now and then. */
export interface Chore {
	/** Now, or right after the run that is under way. */
	runSoon(): void;
	/** Lets the run under way come to an end, which it does at its next batch. */
	stop(): Promise<void>;
}

type Work = (isStopping: () => boolean) => Promise<unknown>;

export interface ChoresDeps extends ConversionsDeps, Omit<MailOwnersDeps, "mailer"> {
	/** Null when no SMTP_URL is set: notices then wait on record until there is one. */
	mailer: Mailer | null;
	retentionDays: number;
}

export interface Chores {
	/** A notice was written: mail it now if its time has come. */
	mailNow(): void;
	stop(): Promise<void>;
}

/** Windows are days long; this is how late their end may be noticed. */
const WINDOW_INTERVAL_MS = 10 * SECOND_MS;
const MAIL_LOOK_INTERVAL_MS = 30 * SECOND_MS;
/** Longer than any of them is tried for, and than the next one on the same topic has to wait. */
const MAILS_KEPT_MS = 7 * DAY_MS;
/** Strangers write nonces and limits: they stay no longer than they count. */
const STRANGERS_INTERVAL_MS = 60 * SECOND_MS;
/** How long a job that another process left behind may go unnoticed, besides its claim. */
const JOB_LOOK_INTERVAL_MS = 10 * SECOND_MS;
/** How long after a change its mail is written, at the latest. */
const TELL_INTERVAL_MS = 5 * SECOND_MS;

/** The chores of a process that delivers callbacks. */
export function startChores(deps: ChoresDeps): Chores {
	const { store, clock, mailer } = deps;
	const table: [name: string, intervalMs: number, work: Work][] = [
		["approve what passed its window", WINDOW_INTERVAL_MS, (isStopping) => approveDue(deps, isStopping)],
		["expire what nobody confirmed", WINDOW_INTERVAL_MS, (isStopping) => expireParked(deps, isStopping)],
		["forget old nonces", STRANGERS_INTERVAL_MS, () => pruneNonces(store, clock.nowMs())],
		["forget limits that are over", STRANGERS_INTERVAL_MS, () => pruneUses(store.db, clock.nowMs())],
		["forget expired sessions and links", HOUR_MS, () => pruneSignIn(store.db, clock.nowMs())],
		["forget old mails", HOUR_MS, () => pruneMails(store.db, clock.nowMs() - MAILS_KEPT_MS)],
		["remove what is past retention", HOUR_MS, (isStopping) => removeOld(deps, isStopping)],
	];
	const chores = table.map(([name, intervalMs, work]) => startChore(deps, name, intervalMs, work));
	const mail =
		mailer === null
			? null
			: startChore(deps, "mail notices", MAIL_LOOK_INTERVAL_MS, (isStopping) =>
					mailOwners({ ...deps, mailer }, isStopping),
				);
	return {
		mailNow: () => mail?.runSoon(),
		stop: async () => {
			await Promise.all([...chores, mail].map((chore) => chore?.stop()));
		},
	};
}

async function removeOld(
	{ store, clock, retentionDays }: ChoresDeps,
	isStopping: () => boolean,
): Promise<void> {
	const olderThanMs = clock.nowMs() - retentionDays * DAY_MS;
	await pruneDeliveries(store, clock, olderThanMs, isStopping);
	await pruneInboundCalls(store, clock, olderThanMs, isStopping);
	await pruneExpired(store, clock, olderThanMs, isStopping);
	await pruneNotices(store, olderThanMs);
	await pruneJobs(store, clock, olderThanMs, isStopping);
	await pruneCallbackHours(store.db, olderThanMs);
}

/** Jobs of many decisions. In every process: whichever is there takes up what another left behind. */
export function startBulkChore(deps: ConversionsDeps & { log: Log }): Chore {
	return startChore(deps, "decide many", JOB_LOOK_INTERVAL_MS, (isStopping) => workOffJobs(deps, isStopping));
}

/** In every process that has a mail server: whichever is there tells. Without one, changes wait on record. */
export function startTelling(deps: TellDeps & { log: Log }): Chore | null {
	if (!deps.mails.isOn) return null;
	return startChore(deps, "tell changes by mail", TELL_INTERVAL_MS, (isStopping) =>
		tellChanges(deps, isStopping),
	);
}

export function startChore(
	{ clock, log }: { clock: Clock; log: Log },
	name: string,
	intervalMs: number,
	work: Work,
): Chore {
	let running: Promise<void> | null = null;
	let isWanted = false;
	let isStopping = false;
	let cancel = clock.after(0, runSoon);

	function runSoon(): void {
		if (isStopping) return;
		isWanted = true;
		running ??= run();
	}

	async function run(): Promise<void> {
		cancel();
		while (isWanted && !isStopping) {
			isWanted = false;
			try {
				await work(() => isStopping);
			} catch (error) {
				log.error({ err: error, chore: name }, "a chore failed; it will be tried again");
			}
		}
		running = null;
		if (!isStopping) cancel = clock.after(intervalMs, runSoon);
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
