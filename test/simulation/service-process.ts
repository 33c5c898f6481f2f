// One service process of the simulation: the real engine, the real chores and the real use cases over the shared
// database, with a clock of its own that may differ, and a life that may end between any two steps.

import { createIntake, type Intake } from "../../src/api/intake.ts";
import { Engine } from "../../src/callbacks/engine.ts";
import type { Caps } from "../../src/callbacks/lanes.ts";
import { createPass } from "../../src/callbacks/pass.ts";
import { createChoreBook } from "../../src/chores/book.ts";
import { type Chores, startChores } from "../../src/chores.ts";
import type {
	Clock,
	Log,
	Mail,
	MailRefusal,
	PostbackAnswer,
	PostbackRequest,
	Random,
} from "../../src/ports.ts";
import { givenWire } from "../../src/store/known-wire.ts";
import { findProgramme, type Programme } from "../../src/store/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { createSeededRandom, randomPort } from "../support/seeded-random.ts";
import { Broken } from "./broken.ts";
import { createMishaps, DatabaseFailed, Killed, type Mishaps } from "./mishaps.ts";
import { createProcessStore, type ProcessStore, type WatchSettling } from "./process-store.ts";
import type { Owner, Timeline } from "./timeline.ts";

/** What all processes share: the database, the network, the mail server, and the time. */
export interface Site {
	timeline: Timeline;
	store: Store;
	sealingKey: Uint8Array;
	brand: string;
	caps: Caps;
	/** The chance that a step at the database fails, now. */
	databaseFailureShare(): number;
	announce(from: ServiceProcess, programmeIds: readonly number[]): void;
	post(from: ServiceProcess, request: PostbackRequest): Promise<PostbackAnswer>;
	mail(from: ServiceProcess, mail: Mail): Promise<void>;
	/** Hears what is about to be settled, and then what was. */
	watchSettling: WatchSettling;
	/** A process has stopped in order and nothing happened to it meanwhile. */
	onCleanStop(engineIds: ReadonlySet<number>): void;
	/** Killed, or stopped in order. */
	onEnd(process: ServiceProcess): void;
	onUnexpected(error: unknown): void;
}

/** Longer than any run: nothing an auditor wants to see is removed. */
const RETENTION_DAYS = 3_650;

export class ServiceProcess implements Owner {
	readonly number: number;
	readonly clock: Clock;
	readonly random: Random;
	readonly mishaps: Mishaps;
	readonly store: ProcessStore;
	readonly intake: Intake;
	isAlive = true;
	isStopping = false;
	stalledUntilMs = 0;
	/** So long it stalls at the next request that it sends while more waits in its hands; zero for not at all. */
	stallWhenSendingMs = 0;
	/** How far its clock is from the true time. */
	clockOffsetMs: number;
	readonly #site: Site;
	readonly #programmes = new Map<string, Promise<Programme>>();
	readonly #engine: Engine;
	readonly #chores: Chores;

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
			tellOthers: (ids) => site.announce(this, ids),
			watchSettling: site.watchSettling,
		});
		this.clock = {
			nowMs: () => timeline.nowMs + this.clockOffsetMs,
			after: (delayMs, run) => timeline.setTimer(this, delayMs, run),
			yieldLoop: () => new Promise((resolve) => timeline.setTimer(this, 0, resolve)),
		};
		const { store, clock, random } = this;
		const log = attentiveLog(site);
		// What is asked at one moment meets in a batch; nothing else happens in between.
		const intakeClock = { ...clock, yieldLoop: async () => undefined };
		const callers = { forget: () => undefined };
		this.intake = createIntake({ store, clock: intakeClock, random, log, callers });
		this.#engine = new Engine({
			store,
			clock,
			random,
			log,
			transport: { post: (request) => this.#post(request) },
			sealingKey: site.sealingKey,
			wire: givenWire(site.brand),
			caps: site.caps,
			runPass: createPass(store, random),
			load: { busyShare: () => 0, lateMs: () => 0 },
			onNotice: () => this.#chores.mailNow(),
		});
		this.#chores = startChores({
			archiving: null,
			book: createChoreBook(clock),
			store,
			clock,
			random,
			log,
			mailer: { send: (mail) => this.#mail(mail) },
			// Every programme has one owner: no mail is left over when another was taken.
			mails: { enqueue: leaveNothing, noteRefused: leaveNothing },
			publicUrl: "https://ringback.example",
			retentionDays: RETENTION_DAYS,
			isDeliveryPaused: false,
		});
	}

	/** Read once: what a report needs of it never changes here. */
	findProgramme(publicId: string): Promise<Programme> {
		const known = this.#programmes.get(publicId);
		if (known !== undefined) return known;
		const reading = findProgramme(this.#site.store.db, publicId).then((found) => {
			if (found === undefined) throw new Broken("1 what was answered is stored", "a programme has vanished");
			return found;
		});
		this.#programmes.set(publicId, reading);
		return reading;
	}

	kill(): void {
		if (!this.isAlive) return;
		this.isAlive = false;
		this.#site.onEnd(this);
	}

	/** As on a deployment. */
	async stop(): Promise<void> {
		this.isStopping = true;
		await Promise.all([this.#engine.stop(), this.#chores.stop()]);
		if (this.isAlive) this.#site.onCleanStop(this.store.engineIds);
		this.kill();
	}

	#post(request: PostbackRequest): Promise<PostbackAnswer> {
		try {
			this.mishaps.stepAlone();
		} catch {
			// It died before anything was sent, and a transport never rejects.
			return new Promise(() => undefined);
		}
		this.#maybeStall();
		return this.#site.post(this, request);
	}

	/** What waits is then next, when the answer is heard: long after the last renewal, and before any pass. */
	#maybeStall(): void {
		const { inHand, inFlight } = this.#engine.counters;
		if (this.stallWhenSendingMs === 0 || inHand === inFlight) return;
		this.stalledUntilMs = this.#site.timeline.nowMs + this.stallWhenSendingMs;
		this.stallWhenSendingMs = 0;
	}

	async #mail(mail: Mail): Promise<readonly MailRefusal[]> {
		this.mishaps.stepAlone();
		await this.#site.mail(this, mail);
		this.mishaps.stepAlone();
		return [];
	}
}

function leaveNothing(): Promise<void> {
	return Promise.reject(new Error("a mail to somebody else was left over"));
}

/** What the service logs as an error must be one of the mishaps, or else it is a defect. */
function attentiveLog(site: Site): Log {
	const note = (fields: object): void => {
		// No lane may be missed, and nothing that is in hand may vanish.
		if ("missed" in fields || "deliveryId" in fields) site.onUnexpected(JSON.stringify(fields));
		const error = "err" in fields ? fields.err : undefined;
		if (error === undefined || error instanceof Killed || error instanceof DatabaseFailed) return;
		if (error instanceof MailRefused) return;
		site.onUnexpected(error);
	};
	return { info: note, warn: note, error: note };
}

/** The mail server did not take it. */
export class MailRefused extends Error {}
