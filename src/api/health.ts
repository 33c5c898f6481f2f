// Does the process live, and can it work: what a supervisor and a load balancer ask. Strangers can ask it too, so it
// says no more than yes or no; what is missing stands on the metrics address.

import type { EngineCounters } from "../callbacks/counters.ts";
import { fault } from "../domain/fault.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import { isDatabaseUnavailable, waitedForLock, wasEndedForOthers } from "../store/unavailable.ts";
import { findWarnings, type WatchedState } from "../watch/checks.ts";
import type { Alive, Ready } from "./answers.ts";
import type { AppDeps, StoringWatch, Unready } from "./deps.ts";
import { problemAnswer } from "./problem.ts";

export interface ProcessDetails {
	version: string;
	role: string;
	schemaVersion: number;
	startedAtMs: number;
	/** Null in a process that has no callback engine. */
	engineCounters: (() => EngineCounters) | null;
	state: () => WatchedState;
}

export type HealthDeps = Pick<AppDeps, "store" | "clock" | "log" | "network" | "publicUrl" | "unready">;

/** Load balancers wait a few seconds; a database that needs longer is not ready. */
const READY_TIMEOUT_MS = 2 * SECOND_MS;

/** Everybody may know it: they are about to notice. */
export const STOPPING =
	"The service is stopping. Send requests to another process, or come back in a moment.";

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" };

/** Of batches of calls, one after the other: a connection that broke once is no reason. */
const FAILED_BATCHES = 3;
/** Whoever is sent no more calls would never hear that they can be stored again: so long after the last, it is tried. */
const TRY_AGAIN_MS = 10 * SECOND_MS;

/** Whether what is taken can be stored: a database server whose disk is full still answers what it is asked. */
export function createStoringWatch(clock: Pick<Clock, "nowMs">): StoringWatch {
	let [failed, failedAtMs] = [0, 0];
	return {
		note(error) {
			if (error === null) failed = 0;
			// A row that somebody holds is the trouble of its own programme.
			if (!isDatabaseUnavailable(error) || waitedForLock(error) || wasEndedForOthers(error)) return;
			failed++;
			failedAtMs = clock.nowMs();
		},
		isFailing: () => failed >= FAILED_BATCHES && clock.nowMs() - failedAtMs < TRY_AGAIN_MS,
	};
}

export function createHealth(deps: HealthDeps) {
	let underWay: Promise<boolean> | null = null;
	/** However many ask at once, the database is asked once. */
	const checkDatabase = (): Promise<boolean> => {
		underWay ??= inTime(deps, databaseAnswers(deps)).finally(() => {
			underWay = null;
		});
		return underWay;
	};
	// Asked for after the database has answered: it may have been told to stop meanwhile.
	const unready = (): Unready | null => deps.unready?.() ?? null;
	return {
		answerAlive: () => answer<Alive>(200, { status: "ok" }),
		async answerReady(): Promise<Response> {
			const answers = await checkDatabase();
			if (unready() === "stopping") return problemAnswer(deps, fault("unavailable", STOPPING));
			if (answers && unready() === null) return answer<Ready>(200, { status: "ready" });
			return problemAnswer(deps, fault("unavailable", "The service is not ready. Ask again in a moment."));
		},
		/** For the operator alone. */
		async answerDetails(about: ProcessDetails): Promise<Response> {
			const answers = await checkDatabase();
			const why = unready();
			const isReady = answers && why === null;
			const { version, role, schemaVersion, startedAtMs, engineCounters } = about;
			return answer(isReady ? 200 : 503, {
				status: isReady ? "ready" : "not ready",
				service: why === "stopping" ? "stopping" : "running",
				database: answers ? "answers" : "does not answer",
				...(why === null || why === "stopping" ? {} : why),
				version,
				role,
				schemaVersion,
				startedAt: isoTime(startedAtMs),
				queue: engineCounters === null ? null : describeQueue(engineCounters(), deps.clock.nowMs()),
				// None of them makes a process unready: whatever asks is answered all the same, and a load balancer that took
				// the process away would only add to the trouble.
				warnings: findWarnings(about.state()),
			});
		},
	};
}

function answer<Body extends object>(status: number, body: Body): Response {
	return new Response(JSON.stringify(body), { status, headers: HEADERS });
}

async function databaseAnswers({ store, log }: HealthDeps): Promise<boolean> {
	try {
		await store.db.selectFrom("schema_versions").select("version").limit(1).execute();
		return true;
	} catch (error) {
		log.warn({ err: error }, "not ready: the database does not answer");
		return false;
	}
}

function inTime({ clock }: Pick<HealthDeps, "clock">, answer: Promise<boolean>): Promise<boolean> {
	const timeout = Promise.withResolvers<boolean>();
	const cancel = clock.after(READY_TIMEOUT_MS, () => timeout.resolve(false));
	return Promise.race([answer, timeout.promise]).finally(cancel);
}

function describeQueue(counters: EngineCounters, nowMs: number): object {
	const { backlog, inFlight, waitingOrInFlight: inHand } = counters;
	const { programmesDue, oldestDueAtMs } = backlog;
	return {
		programmesDue,
		oldestDueSeconds: (nowMs - (oldestDueAtMs ?? nowMs)) / SECOND_MS,
		inFlight,
		inHand,
	};
}
