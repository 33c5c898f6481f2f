// The work nobody asks for: the approval window, expiry of parked conversions, notice mails, retention.
// Each chore runs by itself, never twice at once, and its failure is logged and tried again.

import { type TellDeps, tellChanges } from "./accounts/tell-changes.ts";
import { type MailOwnersDeps, mailOwners } from "./callbacks/mail-owners.ts";
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
/** How long after a change its mail is written, at the latest. */
const TELL_INTERVAL_MS = 5 * SECOND_MS;
const MAIL_LOOK_INTERVAL_MS = 30 * SECOND_MS;
/** Longer than any of them is tried for, and than the next one on the same topic has to wait. */
const MAILS_KEPT_MS = 7 * DAY_MS;
const NONCE_INTERVAL_MS = 60 * SECOND_MS;
/** Strangers write them: they stay no longer than they count. */
const LIMIT_INTERVAL_MS = 60 * SECOND_MS;

export function startChores(deps: ChoresDeps): Chores {
	const { store, clock, log } = deps;
	const chores: Chore[] = [];
	const start = (
		name: string,
		intervalMs: number,
		work: (isStopping: () => boolean) => Promise<unknown>,
	): Chore => {
		const chore = new Chore(name, intervalMs, work, clock, log);
		chores.push(chore);
		return chore;
	};
	start("approve what passed its window", WINDOW_INTERVAL_MS, (isStopping) => approveDue(deps, isStopping));
	start("expire what nobody confirmed", WINDOW_INTERVAL_MS, (isStopping) => expireParked(deps, isStopping));
	start("forget old nonces", NONCE_INTERVAL_MS, () => pruneNonces(store, clock.nowMs()));
	start("forget limits that are over", LIMIT_INTERVAL_MS, () => pruneUses(store.db, clock.nowMs()));
	start("forget expired sessions and links", HOUR_MS, () => pruneSignIn(store.db, clock.nowMs()));
	start("forget old mails", HOUR_MS, () => pruneMails(store.db, clock.nowMs() - MAILS_KEPT_MS));
	start("remove what is past retention", HOUR_MS, async (isStopping) => {
		const olderThanMs = clock.nowMs() - deps.retentionDays * DAY_MS;
		await pruneDeliveries(store, clock, olderThanMs, isStopping);
		await pruneInboundCalls(store, clock, olderThanMs, isStopping);
		await pruneExpired(store, clock, olderThanMs, isStopping);
		await pruneNotices(store, olderThanMs);
		await pruneJobs(store, clock, olderThanMs, isStopping);
		await pruneCallbackHours(store.db, olderThanMs);
	});
	const { mailer } = deps;
	const mail =
		mailer === null
			? null
			: start("mail notices", MAIL_LOOK_INTERVAL_MS, (isStopping) =>
					mailOwners({ ...deps, mailer }, isStopping),
				);
	return {
		mailNow: () => mail?.runSoon(),
		stop: async () => {
			await Promise.all(chores.map((chore) => chore.stop()));
		},
	};
}

/** In every process that has a mail server: whichever is there tells. Without one, changes wait on record. */
export function startTelling(deps: TellDeps & { log: Log }): Pick<Chore, "stop"> | null {
	if (!deps.mails.isOn) return null;
	const tell = (isStopping: () => boolean) => tellChanges(deps, isStopping);
	return new Chore("tell changes by mail", TELL_INTERVAL_MS, tell, deps.clock, deps.log);
}

class Chore {
	readonly #name: string;
	readonly #intervalMs: number;
	readonly #work: (isStopping: () => boolean) => Promise<unknown>;
	readonly #clock: Clock;
	readonly #log: Log;
	#running: Promise<void> | null = null;
	#isWanted = false;
	#isStopping = false;
	#cancel: () => void;

	constructor(
		name: string,
		intervalMs: number,
		work: (isStopping: () => boolean) => Promise<unknown>,
		clock: Clock,
		log: Log,
	) {
		this.#name = name;
		this.#intervalMs = intervalMs;
		this.#work = work;
		this.#clock = clock;
		this.#log = log;
		this.#cancel = clock.after(0, () => this.runSoon());
	}

	/** Now, or right after the run that is under way. */
	runSoon(): void {
		if (this.#isStopping) return;
		this.#isWanted = true;
		this.#running ??= this.#run();
	}

	async stop(): Promise<void> {
		this.#isStopping = true;
		this.#cancel();
		await this.#running;
	}

	async #run(): Promise<void> {
		this.#cancel();
		while (this.#isWanted && !this.#isStopping) {
			this.#isWanted = false;
			try {
				await this.#work(() => this.#isStopping);
			} catch (error) {
				this.#log.error({ err: error, chore: this.#name }, "a chore failed; it will be tried again");
			}
		}
		this.#running = null;
		if (!this.#isStopping) this.#cancel = this.#clock.after(this.#intervalMs, () => this.runSoon());
	}
}
