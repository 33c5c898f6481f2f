// Holds deliveries, attempts and the queue against the stream of requests: every request has its row and every row
// its request, verdicts follow from answers, attempts keep to their times and their number, and an end is an end.

import type { DatabaseSync } from "node:sqlite";
import { CONTRACT_ATTEMPTS, meaningOf } from "../support/contract-verdict.ts";
import { demand } from "./broken.ts";
import type { Hurry } from "./impatience.ts";
import { isPunctual, type Plan } from "./plan.ts";
import type { ProgrammeRecord } from "./programme-record.ts";
import { DELAYS_MS } from "./settling-auditor.ts";
import type { Sent } from "./stream-auditor.ts";

/** The promises that are checked here. */
const ONE_END = "3 one end or a due time";
const OWN_SLOT = "5 one owner of a slot, results of its own";
const ATTEMPTS = "4 seven attempts at their time";

interface DeliveryRow {
	id: number;
	programme_id: number;
	state: string;
	run: number;
	attempts: number;
	last_verdict: string | null;
	last_http_status: number | null;
	last_attempt_at_ms: number | null;
	created_at_ms: number;
	finished_at_ms: number | null;
	failed_at_ms: number | null;
	/** Null without a row in the queue. */
	due_at_ms: number | null;
	queue_run: number | null;
}

interface AttemptRow {
	delivery_id: number;
	seq: number;
	run: number;
	result: string;
	http_status: number | null;
	started_at_ms: number;
	took_ms: number | null;
	nonce: string | null;
	signature: string | null;
	answer: string | null;
	/** Where it went, by the endpoint on record. */
	url: string | null;
}

export interface DeliveryTotals {
	deliveries: number;
	requests: number;
	/** Of requests whose result was never stored: their process died, or lost its slots. */
	lost: number;
	/** Final failures, by programme. */
	failuresOf: ReadonlyMap<number, number>;
	/** Runs beyond the first, by programme. */
	resentOf: ReadonlyMap<number, number>;
}

/** The engine's poll, and others that wait for the same shop. */
const PUNCTUAL_MS = 120_000;
/** Downtimes, stalls and silent engines, several in a row. */
const DISTURBED_MS = 60 * 60_000;
/** After the faults stop: until every process is up and every dead engine is ended. */
const SETTLING_MS = 5 * 60_000;

/** What the run was like, and since when nothing goes wrong any more. */
export interface Circumstances {
	plan: Plan;
	programmes: readonly ProgrammeRecord[];
	calmSinceMs: number;
	/** Engines that were ended because they were silent. */
	ended: ReadonlySet<number>;
	/** Attempts that people did not wait for, by delivery. */
	hurried: ReadonlyMap<number, readonly Hurry[]>;
}

export function auditDeliveries(
	database: DatabaseSync,
	circumstances: Circumstances,
	sent: readonly Sent[],
): DeliveryTotals {
	const deliveries = database
		.prepare(
			`select d.*, q.due_at_ms, q.run as queue_run from deliveries d left join queue q on q.id = d.id order by d.id`,
		)
		.all() as unknown as DeliveryRow[];
	const attempts = database
		.prepare(
			`select a.*, e.url from attempts a left join endpoints e on e.id = a.endpoint_id
				order by a.delivery_id, a.seq`,
		)
		.all() as unknown as AttemptRow[];
	const [{ events, queued } = { events: -1, queued: -1 }] = database
		.prepare("select (select count(*) from events) as events, (select count(*) from queue) as queued")
		.all();
	demand(events === deliveries.length, ONE_END, () => `${events} events, ${deliveries.length} deliveries`);
	const pending = deliveries.filter(({ state }) => state === "pending").length;
	demand(queued === pending, ONE_END, () => `${pending} are pending, ${queued} are in the queue`);
	const attemptsOf = Map.groupBy(attempts, (row) => row.delivery_id);
	const sentOf = Map.groupBy(sent, (entry) => entry.deliveryId);
	const failuresOf = new Map<number, number>();
	const resentOf = new Map<number, number>();
	for (const delivery of deliveries) {
		const rows = attemptsOf.get(delivery.id) ?? [];
		const failures = auditDelivery(delivery, rows, sentOf.get(delivery.id) ?? [], circumstances);
		add(failuresOf, delivery.programme_id, failures);
		add(resentOf, delivery.programme_id, delivery.run - 1);
	}
	const lost = sent.length - attempts.length;
	return { deliveries: deliveries.length, requests: sent.length, lost, failuresOf, resentOf };
}

/** Returns how many of its runs finally failed. */
function auditDelivery(
	delivery: DeliveryRow,
	rows: readonly AttemptRow[],
	sent: readonly Sent[],
	circumstances: Circumstances,
): number {
	const what = `delivery ${delivery.id} (${delivery.state}: ${rows.map(describeAttempt).join(", ")})`;
	const isNumbered = rows.every(({ seq }, index) => seq === index + 1) && rows.length === delivery.attempts;
	demand(isNumbered, OWN_SLOT, () => `${what} counts ${delivery.attempts} attempts`);
	const isQueued = delivery.due_at_ms !== null && delivery.queue_run === delivery.run;
	demand(isQueued === (delivery.state === "pending"), ONE_END, () => `${what} is due ${delivery.due_at_ms}`);
	auditOwnership(what, delivery, rows, sent, circumstances);
	auditLastAttempt(what, delivery, rows);
	if (delivery.state === "cancelled") auditCancellation(what, delivery, circumstances);
	let failures = 0;
	for (let run = 1; run <= delivery.run; run++) {
		const counted = rows.filter((row) => row.run === run);
		auditTimes(`run ${run} of ${what}`, delivery.id, counted, sent, circumstances);
		const end = auditRun(`run ${run} of ${what}`, counted);
		const isLast = run === delivery.run;
		if (isLast && delivery.state !== "cancelled") {
			demand(end === delivery.state, "the verdict follows from the answer", () => `${what} must be ${end}`);
		}
		// A finished run is followed by another only when somebody asked for it.
		if (!isLast) demand(end !== "pending", ONE_END, () => `run ${run} of ${what} never ended`);
		if (end === "failed") failures++;
	}
	return failures;
}

/** What the page shows of a delivery is what its attempts say: the last one, and the last status received. */
function auditLastAttempt(what: string, delivery: DeliveryRow, rows: readonly AttemptRow[]): void {
	const last = rows.at(-1);
	const shown = [
		delivery.attempts,
		delivery.last_http_status,
		delivery.last_attempt_at_ms,
		delivery.last_verdict === "delivered",
	];
	const wanted = [
		rows.length,
		rows.findLast(({ http_status }) => http_status !== null)?.http_status ?? null,
		last?.started_at_ms ?? null,
		last !== undefined && meaningOf(last.result, last.http_status) === "well",
	];
	demand(
		shown.join() === wanted.join(),
		"the verdict follows from the answer",
		() => `${what} shows ${shown.join()}`,
	);
	const isDated = (delivery.failed_at_ms !== null) === (delivery.state === "failed");
	demand(isDated, ONE_END, () => `${what} failed at ${delivery.failed_at_ms}`);
}

/** Only the removal of the URL cancels, and only what was owed before it. */
function auditCancellation(what: string, delivery: DeliveryRow, { programmes }: Circumstances): void {
	const fromMs = delivery.created_at_ms;
	const toMs = delivery.finished_at_ms ?? 0;
	const urls = programmes.find(({ id }) => id === delivery.programme_id)?.urls ?? [];
	const wasRemoved = urls.some((period, index) => {
		return index > 0 && period.value === null && period.fromMs >= fromMs && period.fromMs <= toMs;
	});
	demand(wasRemoved, ONE_END, () => `${what} was cancelled although no URL was removed`);
}

/** Each result belongs to the request that was sent for it, and no request lacks its trace. */
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
			(row.answer !== null) === isKept(status) &&
			(row.answer ?? entry.nonce).includes(entry.nonce) &&
			entry.run === row.run &&
			row.url === entry.request.url &&
			Object.values(entry.headers).includes(row.signature ?? "");
		demand(isOwn, OWN_SLOT, () => `${what} was answered ${JSON.stringify(outcome)}`);
	}
	const forgotten = [...byNonce.values()].filter(({ process, engineId }) => {
		return !process.wasKilled && !ended.has(engineId);
	});
	// One may be on its way, or its result is about to be stored.
	const inHand = delivery.state === "pending" ? 1 : 0;
	demand(forgotten.length <= inHand, OWN_SLOT, () => `${what} forgot ${forgotten.length} requests`);
	const mayLose = faults.kill + faults.stall + faults.databaseFailure > 0;
	demand(byNonce.size <= inHand || mayLose, OWN_SLOT, () => `${what} lost ${byNonce.size} results to nobody`);
}

/** Contract's 2xx are never kept. */
function isKept(status: number | null): boolean {
	return status !== null && (status < 200 || status > 299);
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
		// Asked for after the one before it, and before any other.
		const hurries = (hurried.get(deliveryId) ?? []).filter(({ seq }) => seq >= before.seq && seq < row.seq);
		// By the clocks that wrote them: whatever those show, nobody may come early by them.
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
		// While no process is sure of the time nothing is sent, for however long; the store's watch knows when one is.
		const disturbedMs = plan.clocks === "wild" ? Number.POSITIVE_INFINITY : DISTURBED_MS;
		const allowedMs = isUndisturbed ? PUNCTUAL_MS : disturbedMs;
		demand(lateMs <= allowedMs, ATTEMPTS, () => `${attempt} was ${lateMs} ms late`);
	}
}

/** How the run stands by its counted attempts alone. */
function auditRun(what: string, counted: readonly AttemptRow[]): "pending" | "delivered" | "failed" {
	demand(counted.length <= CONTRACT_ATTEMPTS, ATTEMPTS, () => `${what} has ${counted.length} attempts`);
	for (const [index, row] of counted.entries()) {
		const meaning = meaningOf(row.result, row.http_status);
		if (meaning === "again" && index + 1 < CONTRACT_ATTEMPTS) continue;
		demand(index === counted.length - 1, ATTEMPTS, () => `${what} went on after its end`);
		return meaning === "well" ? "delivered" : "failed";
	}
	return "pending";
}

function describeAttempt({ run, result, http_status }: AttemptRow): string {
	return `${run}/${http_status ?? result}`;
}

function add(counts: Map<number, number>, key: number, count: number): void {
	counts.set(key, (counts.get(key) ?? 0) + count);
}
