// Decides which requests a process serves at the same time, which of them wait, and which it refuses. Every request
// belongs to a class, and the table below has the limits of each class. A client (a person, an address block, a
// programme) takes turns with the other clients of its class.
//
//   admit ─▶ within its rates? ─▶ waiting ─▶ at work ─▶ done
//                 └─▶ no ──────────┴─▶ refused, and nothing was done
//
// Signed reports are not in the table. They are stored in batches (core/api/intake.ts), and classes with the start
// "afterReports" wait for them, because a shop's sale is worth more than a page that comes some milliseconds later.

import { SECOND_MS } from "#core/domain/time.ts";
import type { Clock, Log } from "#core/ports.ts";
import { createFairQueue, type FairQueue, type QueueClient, type QueueLimits } from "./fair-queue.ts";
import { createRateLimiter, type RateRule, type RequestOrigin } from "./rate-limit.ts";
import { createSingleFlight } from "./single-flight.ts";

interface ClassLimits extends QueueLimits {
	/**
	 * When a waiting request may start. "afterReports" means only while no signed report is at work, and at
	 * most one request in each round of the event loop. "anytime" means as soon as a place is free.
	 */
	start: "afterReports" | "anytime";
	/**
	 * How a refusal is answered. "delayed" means a second later. A client that sends one request after the
	 * other is thereby slowed down to one request a second for each connection. "immediate" is for people, who
	 * see the refusal at once.
	 */
	refusal: "delayed" | "immediate";
	rates?: readonly RateRule[];
}

/**
 * Rate limits of the pixel, which anybody can call. A network of medium size has 70,000 conversions a day,
 * and 500 a second on Black Friday. An address block with a fiftieth of all customers, such as a mobile
 * carrier's, then sends 10 a second.
 */
export const PIXEL_RATES = {
	addressBlock: { burst: 300, perSecond: 10 },
	/**
	 * Limit that all requests from private addresses share, because such an address does not identify the
	 * client. It may belong to a single machine, or to a proxy that is not configured as trusted and forwards
	 * the requests of all customers. The burst is that of one address block. The steady rate is half of a
	 * programme's.
	 */
	privateAddresses: { burst: 300, perSecond: 50 },
	/**
	 * Limit for one programme. The steady rate is a fifth of the network's expected peak, because a single shop
	 * may receive that much. The burst is almost seven times that of an address block.
	 */
	programme: { burst: 2_000, perSecond: 100 },
	/**
	 * Limit for the whole process. The steady rate is the network's expected peak. The burst is ten seconds of
	 * that peak.
	 */
	process: { burst: 5_000, perSecond: 500 },
} as const;

/** Limits of a class in which no request waits. A request of such a class starts at once or is refused. */
const NO_WAITING = { waiting: 0, waitingPerClient: 0, waitingForNewClients: 0 } as const;

export const CLASSES = {
	/**
	 * Pages, signed reads and the API description. A page takes some milliseconds of processor time. On
	 * PostgreSQL a page also waits for the database, so several are at work at once. At most 512 requests wait,
	 * but a client that has none waiting may add one until 1,024 wait.
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
	/**
	 * Calls with an API token, after the token and its rate were checked. They have their own class, so that a program
	 * that sets up a network delays no page. A client is a token, and half of the places are free for other tokens.
	 */
	tokenCalls: {
		atOnce: 4,
		atOncePerClient: 2,
		waiting: 256,
		waitingPerClient: 64,
		waitingForNewClients: 512,
		start: "afterReports",
		refusal: "delayed",
	},
	/**
	 * Forms of people who are not signed in. Each password check (scrypt) uses a core for 150 ms and 32 MB of memory,
	 * so the last of 32 waiting forms waits 5 s.
	 */
	passwordForms: {
		atOnce: 1,
		atOncePerClient: 1,
		waiting: 32,
		waitingPerClient: 16,
		waitingForNewClients: 64,
		start: "afterReports",
		refusal: "delayed",
	},
	/**
	 * Forms and pages that may wait seconds for name servers, a mail server or the identity provider. They have
	 * their own class, so that they delay no other page.
	 */
	outsideRequests: {
		atOnce: 16,
		atOncePerClient: 2,
		waiting: 64,
		waitingPerClient: 8,
		waitingForNewClients: 128,
		start: "afterReports",
		refusal: "delayed",
	},
	/**
	 * Pixel calls. They are stored in the same batches as signed reports. A batch with 32 pixel calls takes a
	 * few milliseconds longer than one without them. At this speed more than 500 pixel calls a second can be
	 * stored, which is the expected peak on Black Friday (see PIXEL_RATES). The queue holds two seconds of that
	 * peak, or the bursts of three address blocks.
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
	 * Downloads of CSV files. A person may have one in progress and another that replaces it. Sixteen downloads
	 * take a few megabytes and leave processor time for pages.
	 */
	exports: { atOnce: 16, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	/**
	 * Uploads of files with decisions. Reading a file takes a second or two of processor time, in steps of a
	 * few milliseconds. Four files at once therefore leave time for other requests. A stalled upload gives its
	 * place back when its connection is closed after 15 seconds (outside/http-server.ts).
	 */
	decisionUploads: { atOnce: 4, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	pictureUploads: { atOnce: 4, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	/** Uploads of conversions from other software, each with up to half a million lines. */
	importUploads: { atOnce: 2, atOncePerClient: 2, ...NO_WAITING, start: "anytime", refusal: "immediate" },
	/**
	 * Processing of uploaded files. There are three kinds: decisions, pictures and imports. One file of each
	 * kind is processed at a time, because all files share one processor and their memory adds up. The kind of
	 * the file takes the role of the client in this class. The number of waiting files needs no limit here,
	 * because the classes for uploads limit it.
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

/** Gives back the place of a request. Only the first call has an effect. */
export type LeavePlace = () => void;

export interface Admission {
	/**
	 * Waits for a place. Resolves to a function that gives the place back, or to undefined if the request is
	 * refused because too many of its class wait or its rate is exceeded. `origin` is required for classes with
	 * rates.
	 */
	admit(
		className: AdmissionClass,
		client: QueueClient,
		origin?: RequestOrigin,
	): Promise<LeavePlace | undefined>;
	/**
	 * Runs the work of a signed report. Classes with the start "afterReports" start no request meanwhile. The
	 * caller must have read and verified the report already, because otherwise a slow or forged request could
	 * delay the pages of all clients.
	 */
	runReport<Answer>(work: () => Promise<Answer>): Promise<Answer>;
	/**
	 * Waits until the reports that arrived meanwhile are done. Code that builds a page calls it in the middle
	 * of long work.
	 */
	yieldToReports(): Promise<void>;
	/**
	 * Waits for the time by which refusals are delayed. This slows down clients whose requests are refused for a reason
	 * other than admission.
	 */
	delayRefusal(): Promise<void>;
}

type AdmissionClock = Pick<Clock, "after" | "yieldLoop" | "monotonicMs">;

export interface AdmissionDeps {
	clock: AdmissionClock;
	log: Log;
	/** Aborted when the service stops. Delayed refusals are then answered at once. */
	stopSignal?: AbortSignal | undefined;
}

export function createAdmission({ clock, log, stopSignal }: AdmissionDeps): Admission {
	const reports = createReportGate(clock);
	const delayRefusal = createRefusalDelay(clock, stopSignal);
	const classes = {
		pages: openClass(CLASSES.pages),
		tokenCalls: openClass(CLASSES.tokenCalls),
		passwordForms: openClass(CLASSES.passwordForms),
		outsideRequests: openClass(CLASSES.outsideRequests),
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

	/**
	 * Starts one request in each round of the event loop, so that reports that arrived meanwhile are read
	 * first.
	 */
	async function startAfterReports(): Promise<void> {
		while (afterReports.some(({ queue }) => queue.canStart())) {
			for (const { queue } of afterReports) {
				if (!queue.canStart()) continue;
				await reports.whenNoReports();
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
		// SQLite answers synchronously, so without this pause no other request would be served while requests of
		// this class wait. A class in which nothing waits needs no pause.
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

/**
 * Maximum time that a request waits for signed reports. If reports never stop arriving, pages still get a
 * tenth of the processor time.
 */
export const MAX_WAIT_FOR_REPORTS_MS = 30;

function createReportGate(clock: AdmissionClock) {
	let reports = 0;
	/** Promise that resolves when no report is at work any more, or null if no request waits for this. */
	let lastReportDone: PromiseWithResolvers<void> | null = null;
	/**
	 * Promise of the previous call of `yieldToReports`. Each call of `yieldToReports` waits for the call before
	 * it.
	 */
	let lastYield: Promise<void> = Promise.resolve();

	async function whenNoReports(): Promise<void> {
		if (reports === 0) return;
		lastReportDone ??= Promise.withResolvers();
		const longEnough = Promise.withResolvers<void>();
		const cancel = clock.after(MAX_WAIT_FOR_REPORTS_MS, longEnough.resolve);
		await Promise.race([lastReportDone.promise, longEnough.promise]);
		cancel();
	}

	return {
		whenNoReports,
		async run<Answer>(work: () => Promise<Answer>): Promise<Answer> {
			reports++;
			try {
				return await work();
			} finally {
				reports--;
				if (reports === 0) {
					lastReportDone?.resolve();
					lastReportDone = null;
				}
			}
		},
		yieldToReports(): Promise<void> {
			lastYield = lastYield.then(() => clock.yieldLoop()).then(whenNoReports);
			return lastYield;
		},
	};
}

/** Time by which a refusal is delayed. Customers do not see the pixel, so its image may be this late, too. */
export const REFUSAL_DELAY_MS = SECOND_MS;
/**
 * Maximum number of delayed refusals. Each delayed refusal holds a connection and some kilobytes, so all of
 * them together may take at most half of all connections. Further refusals are answered at once.
 */
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
