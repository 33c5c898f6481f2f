// Compares deliveries, attempts and the queue with the requests that were sent. Every request must have its
// row and every row its request. Verdicts must follow from answers, attempts must come at their times, and
// nothing may follow a final state.

import type { DatabaseSync } from "node:sqlite";
import { LEDGER_RULES } from "../../src/modules.ts";
import {
	auditNumbers,
	auditRuns,
	auditShown,
	type StoredAttempt,
	type StoredDelivery,
	tellDelivery,
} from "../support/auditor.ts";
import { demand, type PromiseName } from "../support/broken.ts";
import type { Hurry } from "./impatience.ts";
import { isPunctual, type Plan } from "./plan.ts";
import type { ReceiverRecord } from "./programme-record.ts";
import { DELAYS_MS } from "./settling-auditor.ts";
import type { Sent } from "./stream-auditor.ts";

/** The promises that this auditor checks. */
const ONE_END = "3 a delivery has one end or a due time";
const OWN_SLOT = "5 one engine owns a slot and stores its own results";
const ATTEMPTS = "4 at most seven attempts, each at its time";

interface DeliveryRow extends StoredDelivery {
	id: number;
	receiver_id: number;
	created_at_ms: number;
	set_aside: number | null;
}

interface AttemptRow extends StoredAttempt {
	delivery_id: number;
	took_ms: number | null;
	nonce: string | null;
	signature: string | null;
	/** URL of the attempt, from the stored endpoint. */
	url: string | null;
}

interface QueueRow {
	id: number;
	run: number;
	counted: number;
	seq: number;
}

interface UndeliveredRow {
	id: number;
	run: number;
}

const STATEMENT = "11 a statement adds up, has the next number and never changes";

/** Promise that each rule of `ringback verify` checks, by the table that the rule reads. */
const PROMISE_OF: Readonly<Record<string, PromiseName>> = {
	queue: ONE_END,
	undelivered: ONE_END,
	events: "2 each move creates one event",
	moves: "1 an answered change is stored",
	conversions: "1 an answered change is stored",
	entries: "9 entries add up to what a conversion owes",
	open_entries: "10 an entry is open or in one statement",
	statement_entries: "10 an entry is open or in one statement",
	statements: STATEMENT,
	statement_numbers: STATEMENT,
	payments: STATEMENT,
};

export interface DeliveryTotals {
	deliveries: number;
	requests: number;
	/** Number of requests whose result was never stored, because the process died or lost its slots. */
	lost: number;
	/** Number of final failures, by receiver. */
	failuresOf: ReadonlyMap<number, number>;
	/** Number of runs after the first run of a delivery, by receiver. */
	resentOf: ReadonlyMap<number, number>;
}

/**
 * Maximum lateness of an attempt in a run without faults. It covers the engine's poll and other deliveries to
 * the same shop.
 */
const PUNCTUAL_MS = 120_000;
/**
 * Maximum lateness of an attempt in a run with faults. It covers downtimes, stalls and silent engines,
 * several in a row.
 */
const DISTURBED_MS = 60 * 60_000;
/** Time after the end of the faults by which every process runs and every dead engine has been removed. */
const SETTLING_MS = 5 * 60_000;

/** Conditions of the run, and the time at which the faults ended. */
export interface Circumstances {
	plan: Plan;
	receivers: readonly ReceiverRecord[];
	calmSinceMs: number;
	/** Engines that other engines removed because they were silent. */
	ended: ReadonlySet<number>;
	/** Requests of people to send an attempt early, by delivery. */
	hurried: ReadonlyMap<number, readonly Hurry[]>;
}

/**
 * SQL query that selects the events of test conversions, by the flag in the callback itself (contract section 2.1). A
 * stored event has one value on each line. Only the flag can be the line "test", because no simulated order has that
 * id.
 */
export const TEST_EVENTS = "select id from events where instr(body, char(10) || 'test' || char(10)) > 0";

export function auditDeliveries(
	database: DatabaseSync,
	circumstances: Circumstances,
	sent: readonly Sent[],
): DeliveryTotals {
	const queue = database.prepare("select * from queue").all() as unknown as QueueRow[];
	const queued = new Map(queue.map((row) => [row.id, row]));
	const ended = database.prepare("select * from undelivered").all() as unknown as UndeliveredRow[];
	const undelivered = new Map(ended.map((row) => [row.id, row]));
	const deliveries = (
		database.prepare("select * from deliveries order by id").all() as unknown as DeliveryRow[]
	).map((row) => ({
		...row,
		queued: queued.get(row.id) ?? null,
		undelivered: undelivered.get(row.id) ?? null,
	}));
	const attempts = database
		.prepare(
			`select a.*, e.url from attempts a left join endpoints e on e.id = a.endpoint_id
				order by a.delivery_id, a.seq`,
		)
		.all() as unknown as AttemptRow[];
	auditRules(database);
	const attemptsOf = Map.groupBy(attempts, (row) => row.delivery_id);
	const sentOf = Map.groupBy(sent, (entry) => entry.deliveryId);
	const tests = new Set(
		database
			.prepare(TEST_EVENTS)
			.all()
			.map(({ id }) => Number(id)),
	);
	const failuresOf = new Map<number, number>();
	const resentOf = new Map<number, number>();
	for (const delivery of deliveries) {
		const rows = attemptsOf.get(delivery.id) ?? [];
		const failures = auditDelivery(delivery, rows, sentOf.get(delivery.id) ?? [], circumstances);
		// Failed tests are left out, because owners are not notified of them and the list for resending does not have
		// them.
		if (!tests.has(delivery.id)) add(failuresOf, delivery.receiver_id, failures);
		const isInSight = delivery.state === "failed" && delivery.set_aside === null;
		const isToBe = delivery.state === "failed" && !tests.has(delivery.id);
		demand(
			isInSight === isToBe,
			"8 owners learn of failures",
			() => `delivery ${delivery.id} is in sight: ${isInSight}`,
		);
		add(resentOf, delivery.receiver_id, delivery.run - 1);
	}
	const lost = sent.length - attempts.length;
	return { deliveries: deliveries.length, requests: sent.length, lost, failuresOf, resentOf };
}

/** Checks the rules of `ringback verify`. */
function auditRules(database: DatabaseSync): void {
	for (const { problem, table, key, from, where } of LEDGER_RULES) {
		const [row] = database.prepare(`select r.${key} as id from ${from} where ${where} limit 1`).all();
		const isEnd = problem.startsWith("events are neither in the queue nor undelivered");
		const promise = isEnd ? ONE_END : (PROMISE_OF[table] ?? "nothing unexpected happens");
		demand(row === undefined, promise, () => `${problem}: ${row?.["id"]}`);
	}
}

/** Audits one delivery and returns the number of its runs that finally failed. */
function auditDelivery(
	delivery: DeliveryRow,
	rows: readonly AttemptRow[],
	sent: readonly Sent[],
	circumstances: Circumstances,
): number {
	const what = tellDelivery(`delivery ${delivery.id}`, delivery, rows);
	auditNumbers(what, delivery, rows);
	auditOwnership(what, delivery, rows, sent, circumstances);
	auditShown(what, delivery, rows);
	if (delivery.state === "cancelled") auditCancellation(what, delivery, circumstances);
	for (let run = 1; run <= delivery.run; run++) {
		const counted = rows.filter((row) => row.run === run);
		auditTimes(`run ${run} of ${what}`, delivery.id, counted, sent, circumstances);
	}
	return auditRuns(what, delivery, rows).filter((end) => end === "failed").length;
}

/**
 * Throws unless the removal of the URL cancelled the delivery, and the delivery was created before the
 * removal.
 */
function auditCancellation(what: string, delivery: DeliveryRow, { receivers }: Circumstances): void {
	const fromMs = delivery.created_at_ms;
	const toMs = delivery.finished_at_ms ?? 0;
	const urls = receivers.find(({ receiver_id }) => receiver_id === delivery.receiver_id)?.urls ?? [];
	const wasRemoved = urls.some((period, index) => {
		return index > 0 && period.value === null && period.fromMs >= fromMs && period.fromMs <= toMs;
	});
	demand(wasRemoved, ONE_END, () => `${what} was cancelled although no URL was removed`);
}

/** Throws unless each result belongs to the request that was sent for it, and every request has a result. */
function auditOwnership(
	what: string,
	delivery: DeliveryRow,
	rows: readonly AttemptRow[],
	sent: readonly Sent[],
	{ plan: { faults }, ended }: Circumstances,
): void {
	const byNonce = new Map(sent.map((entry) => [entry.nonce, entry]));
	for (const row of rows) {
		const entry = byNonce.get(row.nonce ?? "");
		demand(entry !== undefined, OWN_SLOT, () => `${what} has a result nobody sent for`);
		byNonce.delete(entry.nonce);
		const { outcome } = entry;
		const status = outcome?.kind === "answered" ? outcome.status : null;
		const isOwn =
			outcome?.kind === row.result &&
			status === row.http_status &&
			(row.answer ?? entry.nonce).includes(entry.nonce) &&
			entry.run === row.run &&
			row.url === entry.request.url &&
			Object.values(entry.headers).includes(row.signature ?? "");
		demand(isOwn, OWN_SLOT, () => `${what} was answered ${JSON.stringify(outcome)}`);
	}
	const forgotten = [...byNonce.values()].filter(({ process, engineId }) => {
		return !process.wasKilled && !ended.has(engineId);
	});
	// A pending delivery may have one request without a stored result, either in flight or just answered.
	const inHand = delivery.state === "pending" ? 1 : 0;
	demand(forgotten.length <= inHand, OWN_SLOT, () => `${what} forgot ${forgotten.length} requests`);
	const mayLose = faults.kill + faults.stall + faults.databaseFailure > 0;
	demand(byNonce.size <= inHand || mayLose, OWN_SLOT, () => `${what} lost ${byNonce.size} results to nobody`);
}

function auditTimes(
	what: string,
	deliveryId: number,
	counted: readonly AttemptRow[],
	sent: readonly Sent[],
	{ plan, calmSinceMs, hurried }: Circumstances,
): void {
	const sentAs = new Map(sent.map((entry) => [entry.nonce, entry]));
	for (const [index, row] of counted.entries()) {
		const before = counted[index - 1];
		if (before === undefined) continue;
		const delayMs = DELAYS_MS[index - 1] ?? Number.POSITIVE_INFINITY;
		// Only requests that people made after the previous attempt and before any other one count for this attempt.
		const hurries = (hurried.get(deliveryId) ?? []).filter(({ seq }) => seq >= before.seq && seq < row.seq);
		// These times come from the clocks that wrote the rows. Whatever these clocks show, no attempt may be early.
		const endedMs = before.started_at_ms + (before.took_ms ?? 0);
		const notBeforeMs = Math.min(endedMs + delayMs, ...hurries.map(({ clockMs }) => clockMs));
		const attempt = `${what}: attempt ${index + 1}`;
		demand(
			row.started_at_ms >= notBeforeMs,
			ATTEMPTS,
			() => `${attempt} after ${row.started_at_ms - endedMs} ms`,
		);
		const truly = sentAs.get(row.nonce ?? "");
		const regularMs = (sentAs.get(before.nonce ?? "")?.endedAtMs ?? 0) + delayMs;
		if (truly === undefined) continue;
		const earlyMs = Math.min(regularMs, ...hurries.map(({ fromMs }) => fromMs)) - truly.sentAtMs;
		demand(earlyMs <= 0, ATTEMPTS, () => `${attempt} was ${earlyMs} ms early`);
		const sure = hurries.filter(({ isSure }) => isSure);
		const dueAtMs = Math.min(regularMs, ...sure.map(({ toMs }) => toMs));
		const lateMs = truly.sentAtMs - dueAtMs;
		const isUndisturbed = isPunctual(plan) || dueAtMs > calmSinceMs + SETTLING_MS;
		// With wild clocks the lateness is unlimited, because nothing is sent while no process relies on its clock. The
		// store watch limits the lateness in the time in which some process does.
		const disturbedMs = plan.clocks === "wild" ? Number.POSITIVE_INFINITY : DISTURBED_MS;
		const allowedMs = isUndisturbed ? PUNCTUAL_MS : disturbedMs;
		demand(lateMs <= allowedMs, ATTEMPTS, () => `${attempt} was ${lateMs} ms late`);
	}
}

function add(counts: Map<number, number>, key: number, count: number): void {
	counts.set(key, (counts.get(key) ?? 0) + count);
}
