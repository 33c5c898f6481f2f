// The answers of a sample shop to its callbacks. Most are immediate, some come late after an outage, and some never come.

import { EXCERPT_BODY_BYTES, excerptAnswer, writeExcerpt } from "#core/domain/answer-excerpt.ts";
import { bodySentAt } from "#core/domain/event.ts";
import type { EventName } from "#core/domain/event-name.ts";
import { RETRY_DELAYS_MS } from "#core/domain/retry.ts";
import { canonicalString, sha256Hex, sign, signingKey } from "#core/domain/signature.ts";
import { DAY_MS, HOUR_MS } from "#core/domain/time.ts";
import { isSuccess, judgeOutcome, type Outcome, type Verdict } from "#core/domain/verdict.ts";
import { addCallbackCounts } from "#core/store/queries/delivery-health.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db, Store } from "#core/store/store.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { failDeliveries } from "../support/undelivered.ts";

export interface History {
	store: Store;
	programme: Programme;
	secret: string;
	/** Time at which the history ends, which is now. */
	endMs: number;
	sales: number;
	seed: number;
	/** Order IDs of the newest sales. The others have numbers. */
	orderIds?: readonly string[];
}

/** Age in days of the shop's outage. The next constant is how long the shop was down. */
export const OUTAGE_DAYS_AGO = 6;
const OUTAGE_MS = 14 * HOUR_MS;
/** Maximum age of sales whose callback still waits for its next attempt. */
const FRESH_MS = 5 * 60_000;

const TIMEOUT: Outcome = { kind: "timeout", stage: "exchange" };
const answered = (status: number): Outcome => ({ kind: "answered", status });

interface Owed {
	id: number;
	createdAtMs: number;
	name: EventName;
	body: string;
	orderId: string;
	test: 0 | 1;
}

export async function settleDeliveries(history: History, chance: SeededRandom): Promise<void> {
	const { store, programme } = history;
	const owed: Owed[] = await store.db
		.selectFrom("events")
		.innerJoin("conversions", "conversions.id", "events.conversion_id")
		.select([
			"events.id",
			"events.created_at_ms as createdAtMs",
			"events.name",
			"events.body",
			"conversions.order_id as orderId",
			"conversions.test",
		])
		.where("events.receiver_id", "=", programme.receiver_id)
		.orderBy("events.id")
		.execute();
	for (const delivery of owed) {
		const outcomes = drawOutcomes(delivery, history.endMs, chance);
		await store.transact((trx) => writeAnswers(trx, history, delivery, outcomes, chance));
	}
}

function drawOutcomes({ createdAtMs, test }: Owed, endMs: number, chance: SeededRandom): readonly Outcome[] {
	const outageMs = endMs - OUTAGE_DAYS_AGO * DAY_MS;
	if (test === 1) return [answered(204)];
	if (createdAtMs > endMs - FRESH_MS) return chance.chance(0.5) ? [answered(503)] : [answered(503), TIMEOUT];
	if (createdAtMs > outageMs && createdAtMs < outageMs + OUTAGE_MS) {
		return chance.chance(0.6) ? [answered(404)] : [answered(503), answered(503), TIMEOUT, answered(204)];
	}
	const dice = chance.fraction();
	if (dice < 0.03) return [answered(401)];
	if (dice < 0.07) return [TIMEOUT, answered(204)];
	return [answered(chance.chance(0.8) ? 204 : 200)];
}

async function writeAnswers(
	trx: Db,
	{ programme, secret, endMs }: History,
	delivery: Owed,
	outcomes: readonly Outcome[],
	chance: SeededRandom,
): Promise<void> {
	let startedAtMs = delivery.createdAtMs + chance.between(20, 400);
	let verdict: Verdict = "retry";
	let endedAtMs = startedAtMs;
	let written = 0;
	for (const [index, outcome] of outcomes.entries()) {
		if (startedAtMs > endMs) break;
		const answerMs = outcome.kind === "timeout" ? 4_985.8 : chance.between(28, 190);
		const tookMs = answerMs + 14.2;
		verdict = judgeOutcome(outcome);
		endedAtMs = startedAtMs + Math.round(tookMs);
		written = index + 1;
		await trx
			.insertInto("attempts")
			.values({
				delivery_id: delivery.id,
				seq: written,
				run: 1,
				result: outcome.kind === "timeout" ? "timeout" : "answered",
				http_status: outcome.kind === "answered" ? outcome.status : null,
				detail: outcome.kind === "timeout" ? `TIMEOUT (${outcome.stage})` : null,
				answer: answerOf(outcome),
				started_at_ms: startedAtMs,
				took_ms: tookMs,
				look_up_ms: 1.4,
				connect_ms: 4.6,
				tls_ms: 8.2,
				answer_ms: answerMs,
				endpoint_id: programme.endpoint_id,
				...signed(secret, delivery, startedAtMs, chance),
			})
			.execute();
		const isDelivered = verdict === "delivered";
		const quarterMs = Math.floor(startedAtMs / HOUR_MS) * HOUR_MS;
		const counts = { delivered: isDelivered ? 1 : 0, failed: isDelivered ? 0 : 1 };
		await addCallbackCounts(trx, [{ receiverId: programme.receiver_id, quarterMs, ...counts }]);
		startedAtMs = endedAtMs + (RETRY_DELAYS_MS[index] ?? DAY_MS);
	}
	const state = verdict === "delivered" ? "delivered" : verdict === "retry" ? "pending" : "failed";
	if (state === "failed") await failDeliveries(trx, endedAtMs, [delivery.id]);
	if (state === "pending") {
		const change = { due_at_ms: Math.max(startedAtMs, endMs + 40_000), counted: written, seq: written };
		await trx.updateTable("queue").set(change).where("id", "=", delivery.id).execute();
	} else {
		await trx.deleteFrom("queue").where("id", "=", delivery.id).execute();
	}
}

/** Returns the answer of a shop that uses nginx. */
function answerOf(outcome: Outcome): string | null {
	if (outcome.kind !== "answered" || isSuccess(outcome.status)) return null;
	const [contentType, body] = BODIES.get(outcome.status) ?? ["text/html", "<h1>Error</h1>\n"];
	const headers = { "content-type": contentType, server: "nginx/1.26.2" };
	return writeExcerpt(excerptAnswer(headers, Buffer.from(body), body.length > EXCERPT_BODY_BYTES));
}

const BODIES: ReadonlyMap<number, readonly [contentType: string, body: string]> = new Map([
	[401, ["application/json", '{"error":"invalid signature"}']],
	// This answer is one line that is longer than the stored excerpt and has invisible characters.
	[
		404,
		["text/html; charset=iso-8859-1", `<!doctype html><title>404</title>\u0000${"<i>page</i>".repeat(300)}`],
	],
	[
		503,
		[
			"text/html",
			"<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n<center><h1>503 Service Temporarily Unavailable</h1></center>\r\n<hr><center>nginx/1.26.2</center>\r\n</body>\r\n</html>\r\n",
		],
	],
]);

function signed(secret: string, { name, body }: Owed, startedAtMs: number, chance: SeededRandom) {
	const nonce = Buffer.from(chance.bytes(16)).toString("hex");
	const digest = sha256Hex(bodySentAt(name, body, startedAtMs));
	const timestamp = String(Math.floor(startedAtMs / 1_000));
	const canonical = canonicalString("POST", SAMPLE_PATH, timestamp, nonce, digest);
	return { nonce, signature: sign(signingKey(secret), canonical) };
}

export const SAMPLE_PATH = "/ringback/postback";
