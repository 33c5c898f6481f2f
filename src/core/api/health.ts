// Answers health checks of supervisors and load balancers: whether the process is alive, and whether it is ready.
// Strangers can request them, so the answer is only yes or no. The metrics address has the details.

import * as z from "zod";
import { findWarnings, type WatchedState } from "../../watch/checks.ts";
import type { EngineCounters } from "../callbacks/counters.ts";
import { fault } from "../domain/fault.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import { isDatabaseUnavailable, waitedForLock, wasEndedForOthers } from "../store/unavailable.ts";
import type { AppDeps, StoringWatch, Unready } from "./deps.ts";
import { problemAnswer } from "./problem.ts";
import { answer, type PublicCall } from "./route.ts";

const ALIVE = statusAnswer("ok", "The process is alive.");
const READY = statusAnswer("ready", "The service is ready.");

function statusAnswer<const Status extends string>(status: Status, description: string) {
	return z.strictObject({ status: z.literal(status).describe("Always this word.") }).meta({ description });
}

export const HEALTH_CALLS: readonly PublicCall[] = [
	{
		caller: "anyone",
		method: "GET",
		path: "/healthz",
		tag: "Operators",
		operationId: "checkAlive",
		summary: "Check whether the process is alive",
		description: "For a supervisor. It answers as long as the process runs.",
		answers: { 200: answer("The process is alive.", ALIVE) },
		faults: [],
	},
	{
		caller: "anyone",
		method: "GET",
		path: "/readyz",
		tag: "Operators",
		operationId: "checkReady",
		summary: "Check whether the service is ready",
		description:
			"For a load balancer. The service is not ready while it starts or stops, and while its database is out of reach.",
		answers: { 200: answer("The service is ready.", READY) },
		faults: [],
		codes: ["unavailable"],
	},
];

export interface ProcessDetails {
	version: string;
	role: string;
	schemaVersion: number;
	startedAtMs: number;
	/** Null if the process has no callback engine. */
	engineCounters: (() => EngineCounters) | null;
	state: () => WatchedState;
}

export type HealthDeps = Pick<AppDeps, "clock" | "network" | "publicUrl" | "readiness" | "unready">;

/**
 * Sentence that clients get while the process stops. Strangers may see this reason, because they notice anyway that
 * the process stops.
 */
export const STOPPING =
	"The service is stopping. Send requests to another process, or come back in a moment.";

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" };

/**
 * Number of consecutive failed batches of calls from which the process counts as not ready. A single broken connection
 * must not make the process unready.
 */
const FAILED_BATCHES = 3;
/**
 * Time after the last failed batch at which the process becomes ready again. While it is not ready it gets no calls,
 * so it could not find out otherwise that calls can be stored again.
 */
const TRY_AGAIN_MS = 10 * SECOND_MS;

/**
 * Watches whether calls can be stored, because a database server with a full disk still answers the check of
 * `/readyz`. `onFailing` is called after too many failed batches in a row, and should check the database at once. If
 * that check fails too, the database itself is the cause, and calls count as storable again when it has recovered.
 */
export function createStoringWatch(
	clock: Pick<Clock, "nowMs">,
	onFailing: () => void = () => undefined,
): StoringWatch {
	let [failed, failedAtMs] = [0, 0];
	return {
		note(error) {
			if (error === null) failed = 0;
			// A locked row is a problem of one programme and does not mean that the database has failed.
			if (!isDatabaseUnavailable(error) || waitedForLock(error) || wasEndedForOthers(error)) return;
			failed++;
			failedAtMs = clock.nowMs();
			if (failed === FAILED_BATCHES) onFailing();
		},
		isFailing: () => failed >= FAILED_BATCHES && clock.nowMs() - failedAtMs < TRY_AGAIN_MS,
	};
}

export function createHealth(deps: HealthDeps) {
	// The reason why the process is not ready is read after the database check, because the process may have
	// been asked to stop during the check.
	const unready = (): Unready | null => deps.unready?.() ?? null;
	return {
		answerAlive: () => jsonAnswer<z.output<typeof ALIVE>>(200, { status: "ok" }),
		async answerReady(): Promise<Response> {
			const isUsable = (await deps.readiness.checkLately()) === "answers";
			if (unready() === "stopping") return problemAnswer(deps, fault("unavailable", STOPPING));
			if (isUsable && unready() === null) return jsonAnswer<z.output<typeof READY>>(200, { status: "ready" });
			return problemAnswer(deps, fault("unavailable", "The service is not ready. Ask again in a moment."));
		},
		/** Returns the health of this process with details, which only the operator's metrics address serves. */
		async answerDetails(about: ProcessDetails): Promise<Response> {
			const database = await deps.readiness.check();
			const why = unready();
			const isReady = database === "answers" && why === null;
			const { version, role, schemaVersion, startedAtMs, engineCounters } = about;
			return jsonAnswer(isReady ? 200 : 503, {
				status: isReady ? "ready" : "not ready",
				service: why === "stopping" ? "stopping" : "running",
				database,
				...(why === null || why === "stopping" ? {} : why),
				version,
				role,
				schemaVersion,
				startedAt: isoTime(startedAtMs),
				queue: engineCounters === null ? null : describeQueue(engineCounters(), deps.clock.nowMs()),
				// A warning does not make a process unready. The process still answers requests, and a load balancer
				// that removed it would make matters worse.
				warnings: findWarnings(about.state()),
			});
		},
	};
}

function jsonAnswer<Body extends object>(status: number, body: Body): Response {
	return new Response(JSON.stringify(body), { status, headers: HEADERS });
}

function describeQueue(counters: EngineCounters, nowMs: number): object {
	const { backlog, inFlight, waitingOrInFlight: inHand } = counters;
	const { receiversDue, oldestDueAtMs } = backlog;
	return {
		programmesDue: receiversDue,
		oldestDueSeconds: (nowMs - (oldestDueAtMs ?? nowMs)) / SECOND_MS,
		inFlight,
		inHand,
	};
}
