// Does the process live, and can it work: what a supervisor and a load balancer ask. Strangers can ask it too, so it
// says no more than yes or no; what is missing stands on the metrics address.

import type { EngineCounters } from "../callbacks/counters.ts";
import { type ChoreRecord, isLate } from "../domain/chore.ts";
import type { DeliveryPause } from "../domain/delivery-pause.ts";
import { fault } from "../domain/fault.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import type { Alive, Ready } from "./answers.ts";
import type { AppDeps, Unready } from "./deps.ts";
import { problemAnswer } from "./problem.ts";

export interface Health {
	answerAlive(): Response;
	answerReady(): Promise<Response>;
	/** For the operator alone. */
	answerDetails(about: ProcessDetails): Promise<Response>;
}

export interface ProcessDetails {
	version: string;
	role: string;
	schemaVersion: number;
	startedAtMs: number;
	/** Null in a process that has no callback engine. */
	engineCounters: (() => EngineCounters) | null;
	/** As all processes together know them. */
	knownChores: () => readonly ChoreRecord[];
	/** Null while callbacks go out. */
	deliveryPause: () => DeliveryPause | null;
}

export type HealthDeps = Pick<AppDeps, "store" | "clock" | "log" | "network" | "publicUrl" | "unready">;

/** Load balancers wait a few seconds; a database that needs longer is not ready. */
const READY_TIMEOUT_MS = 2 * SECOND_MS;

/** Everybody may know it: they are about to notice. */
export const STOPPING =
	"The service is stopping. Send requests to another process, or come back in a moment.";

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" };

export function createHealth(deps: HealthDeps): Health {
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
		async answerReady() {
			const answers = await checkDatabase();
			if (unready() === "stopping") return problemAnswer(deps, fault("unavailable", STOPPING));
			if (answers && unready() === null) return answer<Ready>(200, { status: "ready" });
			return problemAnswer(deps, fault("unavailable", "The service is not ready. Ask again in a moment."));
		},
		async answerDetails(about) {
			const answers = await checkDatabase();
			const why = unready();
			const isReady = answers && why === null;
			const { version, role, schemaVersion, startedAtMs, engineCounters, knownChores, deliveryPause } = about;
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
				delivery: describeDelivery(deliveryPause()),
				chores: describeChores(knownChores(), deps.clock.nowMs()),
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
	const { backlog, inFlight, inHand } = counters;
	const { programmesDue, oldestDueAtMs } = backlog;
	return {
		programmesDue,
		oldestDueSeconds: (nowMs - (oldestDueAtMs ?? nowMs)) / SECOND_MS,
		inFlight,
		inHand,
	};
}

function describeDelivery(pause: DeliveryPause | null): object {
	if (pause === null) return { paused: false };
	const { sinceMs, waiting, isSentElsewhere } = pause;
	return { paused: true, since: isoTime(sinceMs), waiting, sentByOthers: isSentElsewhere };
}

/**
 * A chore that does not get done makes no process unready: whatever asks is answered all the same, and a load balancer
 * that took the process away would only add to the trouble.
 */
function describeChores(records: readonly ChoreRecord[], nowMs: number): object {
	return Object.fromEntries(
		records.map((record) => {
			const { name, lastSuccessMs, lastFailureMs, failures, error } = record;
			const lastSuccess = lastSuccessMs === null ? null : isoTime(lastSuccessMs);
			const lastFailure = lastFailureMs === null ? null : isoTime(lastFailureMs);
			return [name, { late: isLate(record, nowMs), lastSuccess, lastFailure, failures, error }];
		}),
	);
}
