// One service process of the simulation. It runs the real engine, chores and use cases on the shared
// database. Its own clock may be wrong, and it may die between any two steps.

import { createIntake, type Intake } from "#core/api/intake.ts";
import { Engine } from "#core/callbacks/engine.ts";
import type { Caps } from "#core/callbacks/send-buffer.ts";
import type { KeyRing } from "#core/domain/key-ring.ts";
import { createMailDispatcher, type MailDispatcher } from "#core/mail/dispatcher.ts";
import type { Clock, Log, Mail, PostbackAnswer, PostbackRequest, Random } from "#core/ports.ts";
import { givenWire } from "#core/store/network-cache.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import type { JobWorkDeps } from "#modules/jobs/use-cases/work.ts";
import { CHANGES, MODULE_CHORES, PRUNE_RULES } from "../../src/modules.ts";
import { openSharedClock, type SharedClock } from "../../src/service/shared-clock.ts";
import { type Chores, type ModuleChores, startChores, startModuleChores } from "../../src/watch/chores.ts";
import { Broken } from "../support/broken.ts";
import { createSeededRandom, randomPort } from "../support/seeded-random.ts";
import { createMishaps, DatabaseFailed, Killed, type Mishaps } from "./mishaps.ts";
import { createProcessStore, type ProcessStore, type WatchSettling, type Word } from "./process-store.ts";
import type { Owner, Timeline } from "./timeline.ts";

/** Parts that the processes share, such as the database, the network, the mail server and the time. */
export interface Site {
	timeline: Timeline;
	store: Store;
	keyRing: KeyRing;
	brand: string;
	caps: Caps;
	/** True if there are jobs in this run, such as statements. */
	hasJobs: boolean;
	/** Returns the current probability that a step that uses the database fails. */
	databaseFailureShare(): number;
	announce(from: ServiceProcess, word: Word): void;
	post(from: ServiceProcess, request: PostbackRequest): Promise<PostbackAnswer>;
	mail(from: ServiceProcess, mail: Mail): Promise<void>;
	/** Called with the results that are about to be stored, and then with those that were. */
	watchSettling: WatchSettling;
	/** Called when another engine ended an engine that was silent for too long. */
	onEnded(engineId: number): void;
	/** Returns whether a process recently died before it notified the others of a sale. */
	mayHaveMissed(): boolean;
	/** Called when a process has stopped cleanly without any fault. */
	onCleanStop(engineIds: ReadonlySet<number>): void;
	/** Called when a process was killed or has stopped cleanly. */
	onEnd(process: ServiceProcess): void;
	onUnexpected(error: unknown): void;
}

/** Retention time, which is longer than any run, so that nothing is removed before the auditors see it. */
const RETENTION_DAYS = 3_650;
const STATEMENT_YEARS = 10;

/** Parts of a process that exist only after the process has read the time. */
interface Running {
	clock: SharedClock;
	intake: Intake;
	engine: Engine;
	chores: Chores;
	/** The chore that works on jobs, or null in runs without jobs. */
	jobs: ModuleChores | null;
	mails: MailDispatcher;
}

/** Length of a suspension that every process notices. */
const NOTICED_MS = 1_001;
const PUBLIC_URL = "https://ringback.example";

export class ServiceProcess implements Owner {
	readonly number: number;
	readonly random: Random;
	readonly changes = CHANGES;
	readonly mishaps: Mishaps;
	readonly store: ProcessStore;
	isAlive = true;
	isStopping = false;
	/** True if the process was killed. The results of its requests in flight are then not stored. */
	wasKilled = false;
	stalledUntilMs = 0;
	suspendedMs = 0;
	/** True if the machine is suspended during the present stall, so that its monotonic clock stands still. */
	#isSuspended = false;
	/**
	 * Length of the stall that begins when the process next sends while more deliveries wait. Zero if no stall is
	 * planned.
	 */
	stallWhenSendingMs = 0;
	/** Difference of the machine's clock from the database's clock. */
	clockOffsetMs: number;
	readonly #site: Site;
	#running: Running | null = null;

	constructor(site: Site, number: number, seed: number, clockOffsetMs: number) {
		const { timeline } = site;
		const drawn = createSeededRandom(seed);
		this.#site = site;
		this.number = number;
		this.clockOffsetMs = clockOffsetMs;
		this.random = randomPort(drawn);
		this.mishaps = createMishaps(drawn, site.databaseFailureShare, this);
		this.store = createProcessStore({
			store: site.store,
			mishaps: this.mishaps,
			databaseNowMs: () => timeline.nowMs,
			tellOthers: (word) => site.announce(this, word),
			watchSettling: site.watchSettling,
			onEnded: site.onEnded,
		});
		const bornAtMs = timeline.nowMs;
		const machine: Clock = {
			nowMs: () => timeline.nowMs + this.clockOffsetMs,
			monotonicMs: () => timeline.nowMs - bornAtMs - this.sleptMs,
			isSure: () => true,
			after: (delayMs, run) => timeline.setTimer(this, delayMs, run),
			yieldLoop: () => new Promise((resolve) => timeline.setTimer(this, 0, resolve)),
		};
		// A process that cannot read the time does not start. The cluster then starts another one.
		this.#open(machine).catch(() => this.kill());
	}

	/** True if the process has read the time and is not stopping. */
	get isServing(): boolean {
		return this.#running !== null && !this.isStopping;
	}

	get clock(): Clock {
		return this.#parts.clock;
	}

	get intake(): Intake {
		return this.#parts.intake;
	}

	/** Dependencies of the use cases about statements and jobs. */
	get statementsDeps(): JobWorkDeps {
		const { store, random, changes } = this;
		const { clock, mails } = this.#parts;
		return { store, clock, random, changes, mails, keyRing: this.#site.keyRing, publicUrl: PUBLIC_URL };
	}

	get #parts(): Running {
		if (this.#running === null) throw new Killed();
		return this.#running;
	}

	async #open(machine: Clock): Promise<void> {
		const { store, random, changes } = this;
		const site = this.#site;
		const log = attentiveLog(site);
		const clock = await openSharedClock(machine, store.readTime);
		// The intake's clock does not yield, so that all calls of one moment are in the same batch.
		const intakeClock = { ...clock, yieldLoop: async () => undefined };
		const mailer = { send: (mail: Mail) => this.#mail(mail) };
		const mails = createMailDispatcher({ store, clock, random, log, mailer, keyRing: site.keyRing });
		const chores = startChores({
			store,
			clock,
			random,
			changes,
			log,
			mails,
			publicUrl: PUBLIC_URL,
			retentionDays: RETENTION_DAYS,
			statementYears: STATEMENT_YEARS,
			pruneRules: PRUNE_RULES,
			moduleChores: MODULE_CHORES,
			keyRing: site.keyRing,
		});
		const jobDeps = {
			store,
			clock,
			random,
			changes,
			log,
			mails,
			keyRing: site.keyRing,
			publicUrl: PUBLIC_URL,
		};
		this.#running = {
			clock,
			chores,
			jobs: site.hasJobs ? startModuleChores(jobDeps, MODULE_CHORES, "every process") : null,
			mails,
			intake: createIntake({ store, clock: intakeClock, random, changes, log }),
			engine: new Engine({
				store,
				clock,
				random,
				log,
				transport: { post: (request) => this.#post(request) },
				keyRing: site.keyRing,
				wire: givenWire(site.brand),
				caps: site.caps,
				load: { busyShare: () => 0, lateMs: () => 0 },
				onNotice: () => chores.mailNow(),
			}),
		};
	}

	/** Reads the programme from the database, while the service may use a cached row that is a second old. */
	async findProgramme(publicId: string): Promise<Programme> {
		const found = await findProgramme(this.#site.store.db, publicId);
		if (found === undefined) throw new Broken("1 an answered change is stored", "a programme has vanished");
		return found;
	}

	kill(): void {
		if (!this.isAlive) return;
		this.isAlive = false;
		this.wasKilled = true;
		this.#site.onEnd(this);
	}

	/** Stalls the process for this time. If the length is odd and over a second, the machine is suspended meanwhile. */
	stall(lengthMs: number): void {
		// The kind of the stall is derived from its length. Drawing another random number would change the history of
		// every seed.
		this.#isSuspended = lengthMs > NOTICED_MS && lengthMs % 2 === 1;
		this.stalledUntilMs = this.#site.timeline.nowMs + lengthMs;
		if (this.#isSuspended) this.suspendedMs += lengthMs;
	}

	wake(): void {
		this.suspendedMs -= this.#sleepLeftMs;
		this.stalledUntilMs = 0;
	}

	/** Time for which the machine has been suspended so far. */
	get sleptMs(): number {
		return this.suspendedMs - this.#sleepLeftMs;
	}

	/** Remaining time of the present suspension. */
	get #sleepLeftMs(): number {
		return this.#isSuspended ? Math.max(0, this.stalledUntilMs - this.#site.timeline.nowMs) : 0;
	}

	/** Stops cleanly, as in a deployment. */
	async stop(): Promise<void> {
		this.isStopping = true;
		const { engine, chores, jobs, clock, mails } = this.#parts;
		await Promise.all([engine.stop(), chores.stop(), jobs?.stop(), clock.stop()]);
		await mails.stop();
		if (!this.isAlive) return;
		this.#site.onCleanStop(this.store.engineIds);
		this.isAlive = false;
		this.#site.onEnd(this);
	}

	#post(request: PostbackRequest): Promise<PostbackAnswer> {
		try {
			this.mishaps.stepAlone();
		} catch {
			// The process died before the request was sent. A transport never rejects, so the promise stays pending.
			return new Promise(() => undefined);
		}
		this.#maybeStall();
		return this.#site.post(this, request);
	}

	/**
	 * Stalls the process while other deliveries wait, so that the next one is due to be sent long after the last lease
	 * renewal and before the next pass.
	 */
	#maybeStall(): void {
		const { waitingOrInFlight, inFlight } = this.#parts.engine.counters;
		if (this.stallWhenSendingMs === 0 || waitingOrInFlight === inFlight) return;
		this.stall(this.stallWhenSendingMs);
		this.stallWhenSendingMs = 0;
	}

	async #mail(mail: Mail): Promise<null> {
		this.mishaps.stepAlone();
		await this.#site.mail(this, mail);
		this.mishaps.stepAlone();
		return null;
	}
}

/**
 * Returns a log that reports unexpected errors. Every error that the service logs must be one of the planned
 * faults. Any other error is a defect.
 */
function attentiveLog(site: Site): Log {
	const note = (fields: object): void => {
		// A row may be missed only if a process died before it notified the others. Deliveries in the memory of a living
		// process must never be missed.
		if ("missed" in fields && !site.mayHaveMissed()) site.onUnexpected(JSON.stringify(fields));
		if ("deliveryId" in fields) site.onUnexpected(JSON.stringify(fields));
		const error = "err" in fields ? fields.err : undefined;
		if (error === undefined || error instanceof Killed || error instanceof DatabaseFailed) return;
		if (error instanceof MailRefused) return;
		site.onUnexpected(error);
	};
	return { info: note, warn: note, error: note };
}

/** Error of a mail that the mail server refused. */
export class MailRefused extends Error {}
