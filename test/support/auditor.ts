// Audits stored rows for all suites that run the service. The auditor applies the rules of the command `ringback
// verify`, and further rules for a database that still has all its attempts. It is written from the contract, and
// throws at the first row that breaks a promise.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { Db } from "#core/store/store.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { demand } from "./broken.ts";
import type { ReceivedCallback } from "./callback-form.ts";
import { CONTRACT_ATTEMPTS, meaningOf } from "./contract-verdict.ts";

/** The stored columns that the auditor reads. Callers may pass rows with more columns. */
export interface StoredDelivery {
	state: string;
	run: number;
	attempts: number;
	last_http_status: number | null;
	last_attempt_at_ms: number | null;
	finished_at_ms: number | null;
	failed_at_ms: number | null;
	/** Row in the queue, or null if the delivery is not pending. */
	queued: { run: number; counted: number; seq: number } | null;
	/** Row in `undelivered`, or null if the delivery neither failed nor was cancelled. */
	undelivered: { run: number } | null;
}

export interface StoredAttempt {
	seq: number;
	run: number;
	result: string;
	http_status: number | null;
	started_at_ms: number;
	answer: string | null;
}

/** State of a run of attempts, derived only from its attempts. */
export type RunEnd = "pending" | "delivered" | "failed";

const ONE_END = "3 a delivery has one end or a due time";
const ATTEMPTS = "4 at most seven attempts, each at its time";
const OWN_RESULTS = "5 one engine owns a slot and stores its own results";
const VERDICT = "the verdict follows from the answer";

/**
 * Audits one delivery and returns how each of its runs ended. The attempts must be complete and in the order of their
 * numbers.
 */
export function auditDelivery(
	name: string,
	delivery: StoredDelivery,
	log: readonly StoredAttempt[],
): RunEnd[] {
	const what = tellDelivery(name, delivery, log);
	auditNumbers(what, delivery, log);
	auditShown(what, delivery, log);
	return auditRuns(what, delivery, log);
}

/** Describes the delivery in the message of a failed test. */
export function tellDelivery(
	name: string,
	{ state, queued }: StoredDelivery,
	log: readonly StoredAttempt[],
): string {
	const story = log.map(({ run, result, http_status }) => `${run}/${http_status ?? result}`).join(", ");
	return `${name} is ${state} after [${story}], ${JSON.stringify(queued)} in the queue`;
}

/**
 * Throws unless attempts are numbered without a gap and all counted, and the queue contains exactly the
 * pending deliveries, with the same numbers.
 */
export function auditNumbers(
	what: string,
	{ state, run, attempts, queued, undelivered }: StoredDelivery,
	log: readonly StoredAttempt[],
): void {
	const isNumbered = log.every(({ seq }, index) => seq === index + 1) && log.length === attempts;
	demand(isNumbered, OWN_RESULTS, () => `${what}: it counts ${attempts} attempts`);
	demand(
		(queued !== null) === (state === "pending"),
		ONE_END,
		() => `${what}: in the queue is what is pending`,
	);
	const isUndelivered = state === "failed" || state === "cancelled";
	demand(
		(undelivered?.run ?? null) === (isUndelivered ? run : null),
		ONE_END,
		() => `${what}: undelivered is what failed or was cancelled, ${JSON.stringify(undelivered)}`,
	);
	if (queued === null) return;
	const numbers = [run, log.filter((row) => row.run === run).length, log.length];
	const isQueued = [queued.run, queued.counted, queued.seq].join() === numbers.join();
	demand(isQueued, ONE_END, () => `${what}: the queue must have run, count and number ${numbers}`);
}

/**
 * Throws unless the columns that pages show agree with the attempts: the last attempt, the last status
 * received, and the end.
 */
export function auditShown(what: string, delivery: StoredDelivery, log: readonly StoredAttempt[]): void {
	const last = log.at(-1);
	const shown = [
		delivery.last_http_status,
		delivery.last_attempt_at_ms,
		log.filter(({ answer }) => answer !== null).map(({ seq }) => seq),
	];
	const wanted = [
		log.findLast(({ http_status }) => http_status !== null)?.http_status ?? null,
		last?.started_at_ms ?? null,
		// The beginning of every answer outside 2xx must be stored.
		log.filter((row) => row.result === "answered" && !isWell(row)).map(({ seq }) => seq),
	];
	demand(shown.join() === wanted.join(), VERDICT, () => `${what}: it shows ${shown}, not ${wanted}`);
	const isDated =
		(delivery.finished_at_ms === null) === (delivery.state === "pending") &&
		(delivery.failed_at_ms === null) === (delivery.state !== "failed");
	demand(isDated, ONE_END, () => `${what}: it ended at ${delivery.finished_at_ms}`);
}

/**
 * Throws unless each run has at most seven attempts, none after its end, and every run except the last has
 * ended.
 */
export function auditRuns(
	what: string,
	{ state, run: runs }: StoredDelivery,
	log: readonly StoredAttempt[],
): RunEnd[] {
	return Array.from({ length: runs }, (_, index) => {
		const end = endOf(
			`run ${index + 1} of ${what}`,
			log.filter(({ run }) => run === index + 1),
		);
		const isLast = index + 1 === runs;
		if (!isLast) demand(end !== "pending", ONE_END, () => `run ${index + 1} of ${what} never ended`);
		else demand(end === state || state === "cancelled", VERDICT, () => `${what}: it must be ${end}`);
		return end;
	});
}

function endOf(what: string, counted: readonly StoredAttempt[]): RunEnd {
	demand(counted.length <= CONTRACT_ATTEMPTS, ATTEMPTS, () => `${what}: ${counted.length} attempts`);
	for (const [index, row] of counted.entries()) {
		if (mayGoOn(row) && index + 1 < CONTRACT_ATTEMPTS) continue;
		demand(index === counted.length - 1, ATTEMPTS, () => `${what}: it went on after its end`);
		return isWell(row) ? "delivered" : "failed";
	}
	return "pending";
}

export function mayGoOn({ result, http_status }: Pick<StoredAttempt, "result" | "http_status">): boolean {
	return meaningOf(result, http_status) === "again";
}

function isWell({ result, http_status }: StoredAttempt): boolean {
	return meaningOf(result, http_status) === "well";
}

/**
 * Audits every row of the database after the service has stopped, and compares the attempts with the requests that the
 * shops received.
 */
export async function auditStore(
	db: Db,
	received: readonly ReceivedCallback[],
	brand: string,
	/** Nonces of the requests that partners received. */
	noncesOfPartners: readonly string[] = [],
): Promise<void> {
	deepEqual((await checkLedger({ db })).broken, []);
	const deliveries = await db.selectFrom("deliveries").selectAll().execute();
	const queued = new Map((await db.selectFrom("queue").selectAll().execute()).map((row) => [row.id, row]));
	const ended = await db.selectFrom("undelivered").selectAll().execute();
	const undelivered = new Map(ended.map((row) => [row.id, row]));
	const attempts = await db.selectFrom("attempts").selectAll().orderBy("seq").execute();
	const attemptsOf = Map.groupBy(attempts, (attempt) => attempt.delivery_id);
	for (const delivery of deliveries) {
		const { id } = delivery;
		const stored = { ...delivery, queued: queued.get(id) ?? null, undelivered: undelivered.get(id) ?? null };
		auditDelivery(delivery.public_id, stored, attemptsOf.get(delivery.id) ?? []);
	}
	const byNonce = Map.groupBy(attempts, (attempt) => attempt.nonce);
	const seen = new Set<string>(noncesOfPartners);
	equal(seen.size, noncesOfPartners.length, "no nonce came twice");
	for (const { headers, body, answered } of received) {
		const nonce = headers.get(`X-${brand}-Nonce`) ?? "";
		ok(!seen.has(nonce), `nonce ${nonce} came twice`);
		seen.add(nonce);
		const [row, ...others] = byNonce.get(nonce) ?? [];
		ok(row !== undefined && others.length === 0, `request ${nonce} has one row in the delivery log`);
		equal(row.signature, headers.get(`X-${brand}-Signature`));
		equal(row.started_at_ms, Date.parse(String(body.sentAt)));
		if (answered !== null) deepEqual([row.result, row.http_status], ["answered", answered]);
	}
	for (const { result, nonce } of attempts) {
		if (result === "answered") ok(nonce !== null && seen.has(nonce), `row ${nonce} has its request`);
	}
}
