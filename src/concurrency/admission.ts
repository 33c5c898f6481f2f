// Decides which requests a process serves at the same time, which of them wait, and which it refuses. Every request
// belongs to a class, and the table below has the limits of each class. A client (a person, an address block, a
// programme) takes turns with the other clients of its class.
//
//   admit ─▶ within its rates? ─▶ waiting ─▶ at work ─▶ done
//                 └─▶ no ──────────┴─▶ refused, and nothing was done
//
// Signed reports are not in the table. They are stored in batches (api/intake.ts), and classes with the start
// "afterReports" wait for them, because a shop's sale is worth more than a page that comes some milliseconds later.

import { SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { createFairQueue, type FairQueue, type QueueClient, type QueueLimits } from "./fair-queue.ts";
import { createRateLimiter, type RateRule, type RequestOrigin } from "./rate-limit.ts";
import { createSingleFlight } from "./single-flight.ts";

interface ClassLimits extends QueueLimits {
	/**
	 * "afterReports": only while no signed report is at work, and one request for each round of the event loop.
	 * "anytime": as soon as a place is free.
	 */
	start: "afterReports" | "anytime";
	/**
	 * "delayed": a refusal is answered a second later, so that a client that sends one request after the other is slowed
	 * down to one a second for each connection. "immediate": people see the refusal at once.
	 */
	refusal: "delayed" | "immediate";
	rates?: readonly RateRule[];
}

/**
 * Rates of the pixel, which anybody can call. A network of medium size has 70,000 conversions on a day and 500 a second
 * on Black Friday. An address block with a fiftieth of all customers, such as a mobile carrier's, then sends 10 a second.
 */
export const PIXEL_RATES = {
	addressBlock: { burst: 300, perSecond: 10 },
	/**
	 * Half of a programme's rate. All these requests may come from one machine, or from an unknown proxy with
	 * all customers behind it.
	 */
	privateAddresses: { burst: 300, perSecond: 50 },
	/**
	 * A fifth of the expected peak of the whole network, for a single shop. The burst is six times that of an
	 * address block.
	 */
	programme: { burst: 2_000, perSecond: 100 },
	/** The peak, and ten seconds of it at once. */
	process: { burst: 5_000, perSecond: 500 },
} as const;

/** Limits for requests that are at work at once or refused. */
const NO_WAITING = { waiting: 0, waitingPerClient: 0, waitingForNewClients: 0 } as const;

export const CLASSES = {
	/**
	 * Pages, signed reads and the API description. A page takes some milliseconds of the processor. On PostgreSQL it also
	 * waits for the database, so several are at work. A person does not wait longer than 512 pages take.
	 */
	pages: {
		atOnce: 8,
		atOncePerClient: 2,
		waiting: 512,
		waitingPerClient: 64,
		waitingForNewClients: 1_024,
		start: "afterReports",
		refusal: "delayed",
	},
	/** Forms of people who are not signed in. scrypt takes a core for 150 ms and 32 MB, so the last of 32 waits for 5 s. */
	passwordForms: {
		atOnce: 1,
		atOncePerClient: 1,
		waiting: 32,
		waitingPerClient: 16,
		waitingForNewClients: 64,
		start: "afterReports",
		refusal: "delayed",
	},
	/** Forms that may wait seconds for name servers or a mail server. As a class of their own they delay no page. */
	outsideForms: {
		atOnce: 16,
		atOncePerClient: 2,
		waiting: 64,
		waitingPerClient: 8,
		waitingForNewClients: 128,
		start: "afterReports",
		refusal: "delayed",
	},
	/**
	 * Pixel calls. They share batches with signed reports. A batch with 32 of them takes a few milliseconds
	 * longer, which still allows more than 500 a second. The queue holds two seconds of Black Friday traffic,
	 * which is three times the burst of an address block.
	 */
	pixelCalls: {
		atOnce: 32,
		atOncePerClient: 32,
		waiting: 1_000,
		waitingPerClient: 1_000,
		waitingForNewClients: 1_000,
		start: "anytime",
		refusal: "delayed",
		rates: [
			{ per: "addressBlock", ...PIXEL_RATES.addressBlock },
			{ per: "privateAddresses", ...PIXEL_RATES.privateAddresses },
			{ per: "programme", ...PIXEL_RATES.programme },
			{ per: "process", ...PIXEL_RATES.process },
		],
	},
	/**
	 * Downloads of CSV files. A person may have one in progress and one that was started over. All together take a few
	 * megabytes and leave time for pages.
	 */
	exports: { atOnce: 16, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	/**
	 * Uploads of files with decisions. Reading one keeps the processor busy for a second or two, a few milliseconds at a
	 * time. Four together still leave time for everybody else. A stalled upload loses its place with its connection, after
	 * 15 seconds (outside/http-server.ts).
	 */
	decisionUploads: { atOnce: 4, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	/** Uploads of logos. */
	pictureUploads: { atOnce: 4, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	/** Uploads of conversions from other software, each up to half a million lines. */
	importUploads: { atOnce: 2, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	/**
	 * Work on files that were uploaded, one of each kind at a time, because they share one processor and their memory adds
	 * up. The client is the kind. The classes of the uploads already limit how many can wait.
	 */
	uploadedFiles: {
		atOnce: 3,
		atOncePerClient: 1,
		waiting: Number.POSITIVE_INFINITY,
		waitingPerClient: Number.POSITIVE_INFINITY,
		waitingForNewClients: Number.POSITIVE_INFINITY,
		start: "anytime",
		refusal: "immediate",
	},
} as const satisfies Record<string, ClassLimits>;

export type AdmissionClass = keyof typeof CLASSES;

/** Releases the place of a request. Calls after the first one do nothing. */
export type LeavePlace = () => void;

export interface Admission {
	/**
	 * Waits for a place. Resolves to undefined if the request is refused, because too many of its class wait or because
	 * its rate is exceeded. `origin` is needed for classes with rates.
	 */
	admit(
		className: AdmissionClass,
		client: QueueClient,
		origin?: RequestOrigin,
	): Promise<LeavePlace | undefined>;
	/**
	 * Runs the work of a signed report. Classes with the start "afterReports" start nothing meanwhile. The report must be
	 * read and verified before. Otherwise a slow or forged request could keep the pages of all clients waiting.
	 */
	runReport<Answer>(work: () => Promise<Answer>): Promise<Answer>;
	/** Lets reports that came meanwhile finish first. Called in the middle of a page's long work. */
	yieldToReports(): Promise<void>;
	/** Waits for as long as a delayed refusal does. For requests that are refused elsewhere and should be slowed down. */
	delayRefusal(): Promise<void>;
}

type AdmissionClock = Pick<Clock, "after" | "yieldLoop" | "monotonicMs">;

export interface AdmissionDeps {
	clock: AdmissionClock;
	log: Log;
	/** Aborted when the service stops. Delayed refusals are answered at once then. */
	stopSignal?: AbortSignal | undefined;
}

export function createAdmission({ clock, log, stopSignal }: AdmissionDeps): Admission {
	const reports = createReportGate(clock);
	const delayRefusal = createRefusalDelay(clock, stopSignal);
	const classes = {
		pages: openClass(CLASSES.pages),
		passwordForms: openClass(CLASSES.passwordForms),
		outsideForms: openClass(CLASSES.outsideForms),
		pixelCalls: openClass(CLASSES.pixelCalls),
		exports: openClass(CLASSES.exports),
		decisionUploads: openClass(CLASSES.decisionUploads),
		pictureUploads: openClass(CLASSES.pictureUploads),
		importUploads: openClass(CLASSES.importUploads),
		uploadedFiles: openClass(CLASSES.uploadedFiles),
	} as const satisfies Record<AdmissionClass, OpenClass>;
	const afterReports = Object.values(classes).filter(({ limits }) => limits.start === "afterReports");
	const starter = createSingleFlight({
		run: startAfterReports,
		onError: (error) => log.error({ err: error }, "waiting requests could not be started"),
	});

	/** Starts one request for each round of the event loop, so that a report that came meanwhile is read first. */
	async function startAfterReports(): Promise<void> {
		while (afterReports.some(({ queue }) => queue.canStart())) {
			for (const { queue } of afterReports) {
				if (!queue.canStart()) continue;
				await reports.whenNone();
				queue.startNext();
				await clock.yieldLoop();
			}
		}
	}

	async function leavePlace({ limits, queue }: OpenClass, client: QueueClient): Promise<void> {
		if (limits.start === "afterReports") {
			queue.leave(client);
			starter.request();
			return;
		}
		// SQLite answers without a round of the event loop. Without this one, nobody else would be served while requests of
		// this class wait. Where nobody can wait, the place is free at once.
		if (limits.waiting > 0) await clock.yieldLoop();
		queue.leave(client);
		startReady(queue);
	}

	return {
		async admit(className, client, origin = NO_ORIGIN) {
			const admissionClass: OpenClass = classes[className];
			const { limits, queue, rates } = admissionClass;
			const started = rates.take(origin, clock.monotonicMs()) ? queue.enter(client) : undefined;
			if (started === undefined) {
				if (limits.refusal === "delayed") await delayRefusal();
				return undefined;
			}
			if (limits.start === "afterReports") starter.request();
			else startReady(queue);
			await started;
			let hasLeft = false;
			return () => {
				if (hasLeft) return;
				hasLeft = true;
				leavePlace(admissionClass, client).catch((error: unknown) =>
					log.error({ err: error }, "a place could not be given back"),
				);
			};
		},
		runReport: reports.run,
		yieldToReports: reports.yieldToReports,
		delayRefusal,
	};
}

function startReady(queue: FairQueue): void {
	while (queue.canStart()) queue.startNext();
}

const NO_ORIGIN: RequestOrigin = { addressBlock: null, programme: null };

function openClass(limits: ClassLimits) {
	return { limits, queue: createFairQueue(limits), rates: createRateLimiter(limits.rates ?? []) };
}

type OpenClass = ReturnType<typeof openClass>;

/** Maximum time that a request waits for reports if they never end. Pages then still get a tenth of the processor. */
export const MAX_WAIT_FOR_REPORTS_MS = 30;

function createReportGate(clock: AdmissionClock) {
	let reports = 0;
	/** Resolves when the last report is done; null if nobody waits for it. */
	let none: PromiseWithResolvers<void> | null = null;
	/** Those who yield continue one after the other. */
	let lastYield: Promise<void> = Promise.resolve();

	async function whenNone(): Promise<void> {
		if (reports === 0) return;
		none ??= Promise.withResolvers();
		const longEnough = Promise.withResolvers<void>();
		const cancel = clock.after(MAX_WAIT_FOR_REPORTS_MS, longEnough.resolve);
		await Promise.race([none.promise, longEnough.promise]);
		cancel();
	}

	return {
		whenNone,
		async run<Answer>(work: () => Promise<Answer>): Promise<Answer> {
			reports++;
			try {
				return await work();
			} finally {
				reports--;
				if (reports === 0) {
					none?.resolve();
					none = null;
				}
			}
		},
		yieldToReports(): Promise<void> {
			lastYield = lastYield.then(() => clock.yieldLoop()).then(whenNone);
			return lastYield;
		},
	};
}

/** A customer never sees the pixel, so its image may also be this late. */
export const REFUSAL_DELAY_MS = SECOND_MS;
/** Half of all connections. Each refusal holds one, with some kilobytes. Further refusals are answered at once. */
export const MAX_DELAYED_REFUSALS = 1_000;

function createRefusalDelay(clock: AdmissionClock, stopSignal: AbortSignal | undefined): () => Promise<void> {
	const delayed = new Set<() => void>();
	const answerAll = (): void => {
		for (const answer of delayed) answer();
	};
	stopSignal?.addEventListener("abort", answerAll, { once: true });
	return () => {
		if (delayed.size >= MAX_DELAYED_REFUSALS || stopSignal?.aborted === true) return Promise.resolve();
		return new Promise((resolve) => {
			const answer = (): void => {
				cancel();
				delayed.delete(answer);
				resolve();
			};
			const cancel = clock.after(REFUSAL_DELAY_MS, answer);
			delayed.add(answer);
		});
	};
}
