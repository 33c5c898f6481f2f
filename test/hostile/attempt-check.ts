// Is what was stored of an attempt what it must be? Attempt, delivery and queue, without a word of the
// service's own rules: the contract's table is written down here once more.

import type { Verdict } from "../../src/domain/verdict.ts";
import type { Service } from "../../src/service.ts";
import type { AttemptRow, DeliveryRow } from "../support/shop-programme.ts";
import type { Expected } from "./attack.ts";

export interface StoredAttempt {
	attempt: AttemptRow;
	delivery: DeliveryRow;
	/** Of the queue; null when nothing is to be sent any more. */
	dueAtMs: number | null;
}

/** Contract section 8. */
const DEADLINE_MS = 5_000;
/** The little that may come on top of the deadline, besides what held the whole process up. */
export const LATE_MS = 500;
/** Two clocks are compared, each of whole milliseconds. */
const ROUNDING_MS = 5;
/** The slowest answer comes after 2.5 s: what took longer was ended by the deadline. */
const PROMPT_MS = 4_000;
const FIRST_DELAY_MS = 60_000;

const STATE_OF: Readonly<Record<Verdict, string>> = {
	delivered: "delivered",
	retry: "pending",
	refused: "failed",
	redirect: "failed",
	"forbidden address": "failed",
};

/** What is wrong, in words; empty when all is well. `stalledMs` is what the machine may have added. */
export function findFaults(
	stored: StoredAttempt,
	expected: readonly Expected[],
	stalledMs: number,
): string[] {
	const { attempt } = stored;
	const match = expected.find((one) => one.result === attempt.result && one.status === attempt.http_status);
	if (match === undefined) {
		const wanted = expected.map(({ result, status }) => `${result} ${status ?? ""}`.trim()).join(" or ");
		return [`${attempt.result} ${attempt.http_status ?? attempt.detail ?? ""} in place of ${wanted}`];
	}
	return [
		...checkAttempt(attempt, match),
		...checkTime(attempt, stalledMs),
		...checkConsequence(stored, match.verdict),
	];
}

function checkAttempt({ detail }: AttemptRow, expected: Expected): string[] {
	const isRight = expected.detail === null ? detail === null : expected.detail.test(detail ?? "");
	return isRight ? [] : [`detail "${detail}" is not ${expected.detail}`];
}

function checkTime({ result, took_ms }: AttemptRow, stalledMs: number): string[] {
	const tookMs = took_ms ?? Number.POSITIVE_INFINITY;
	if (result === "timeout" && tookMs < DEADLINE_MS - ROUNDING_MS) return [`timed out after ${tookMs} ms`];
	const mostMs = (result === "timeout" ? DEADLINE_MS + LATE_MS : PROMPT_MS) + stalledMs;
	return tookMs <= mostMs ? [] : [`took ${tookMs} ms, more than ${Math.round(mostMs)}`];
}

function checkConsequence({ attempt, delivery, dueAtMs }: StoredAttempt, verdict: Verdict): string[] {
	const faults: string[] = [];
	if (delivery.last_verdict !== verdict)
		faults.push(`verdict ${delivery.last_verdict} in place of ${verdict}`);
	if (delivery.state !== STATE_OF[verdict]) faults.push(`${delivery.state} in place of ${STATE_OF[verdict]}`);
	if (delivery.attempts !== 1) faults.push(`${delivery.attempts} attempts in place of one`);
	const expectedDueAtMs =
		verdict === "retry" ? attempt.started_at_ms + (attempt.took_ms ?? 0) + FIRST_DELAY_MS : null;
	if (dueAtMs !== expectedDueAtMs) faults.push(`next due at ${dueAtMs} in place of ${expectedDueAtMs}`);
	return faults;
}

/** The programme's latest delivery, with its only attempt. */
export async function readLatest(service: Service, programmeId: number): Promise<StoredAttempt> {
	const { db } = service.store;
	const delivery = await db
		.selectFrom("deliveries")
		.innerJoin("events", "events.id", "deliveries.id")
		.selectAll("deliveries")
		.select(["events.name", "events.body"])
		.where("deliveries.programme_id", "=", programmeId)
		.orderBy("deliveries.id", "desc")
		.executeTakeFirstOrThrow();
	const attempt = await db
		.selectFrom("attempts")
		.selectAll()
		.where("delivery_id", "=", delivery.id)
		.orderBy("seq", "desc")
		.executeTakeFirstOrThrow();
	const queued = await db
		.selectFrom("queue")
		.select("due_at_ms")
		.where("id", "=", delivery.id)
		.executeTakeFirst();
	return { attempt, delivery, dueAtMs: queued?.due_at_ms ?? null };
}
