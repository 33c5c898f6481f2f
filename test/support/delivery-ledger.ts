// Compares the delivery log with what the shops saw, when everything is over: no request without a row, no row
// without its request, and no run that went on after its end.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { Selectable } from "kysely";
import type { Db } from "../../src/store/store.ts";
import type { AttemptsTable } from "../../src/store/tables/deliveries.ts";
import type { ReceivedCallback } from "./callback-form.ts";
import { CONTRACT_ATTEMPTS, meaningOf } from "./contract-verdict.ts";

type AttemptRow = Selectable<AttemptsTable>;

export async function checkLedger(
	db: Db,
	received: readonly ReceivedCallback[],
	brand: string,
): Promise<void> {
	const attempts = await db
		.selectFrom("attempts")
		.selectAll()
		.orderBy("delivery_id")
		.orderBy("seq")
		.execute();
	checkAgainstShops(attempts, received, brand);
	await checkDeliveries(
		db,
		Map.groupBy(attempts, (attempt) => attempt.delivery_id),
	);
	const runs = Map.groupBy(attempts, ({ delivery_id, run }) => `${delivery_id} run ${run}`);
	for (const [name, run] of runs) checkRun(name, run);
}

function checkAgainstShops(
	attempts: readonly AttemptRow[],
	received: readonly ReceivedCallback[],
	brand: string,
): void {
	const byNonce = Map.groupBy(attempts, (attempt) => attempt.nonce);
	const seen = new Set<string>();
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

async function checkDeliveries(
	db: Db,
	attemptsOf: ReadonlyMap<number, readonly AttemptRow[]>,
): Promise<void> {
	const deliveries = await db.selectFrom("deliveries").selectAll().orderBy("id").execute();
	const queued = await db.selectFrom("queue").select("id").orderBy("id").execute();
	const pending = deliveries.filter((delivery) => delivery.state === "pending");
	deepEqual(
		queued.map(({ id }) => id),
		pending.map(({ id }) => id),
		"in the queue is what is pending",
	);
	for (const delivery of deliveries) {
		const attempts = attemptsOf.get(delivery.id) ?? [];
		const counted = attempts.filter(({ result }) => result !== "interrupted");
		const received = counted.findLast(({ http_status }) => http_status !== null);
		deepEqual(
			[
				delivery.attempts,
				delivery.attempts - delivery.interrupted,
				delivery.last_http_status,
				delivery.last_attempt_at_ms,
			],
			[attempts.length, counted.length, received?.http_status ?? null, counted.at(-1)?.started_at_ms ?? null],
			`${delivery.public_id} shows its attempts and the last HTTP status received`,
		);
		for (const { seq, result, http_status, answer } of attempts) {
			const isKept = result === "answered" && meaningOf(result, http_status) !== "well";
			equal(
				answer !== null,
				isKept,
				`${delivery.public_id}, attempt ${seq}: of an answer that is not 2xx something is kept`,
			);
		}
	}
}

function checkRun(name: string, attempts: readonly AttemptRow[]): void {
	const counted = attempts.filter(({ result }) => result !== "interrupted");
	ok(counted.length <= CONTRACT_ATTEMPTS, `${name} has ${counted.length} attempts`);
	const goOn = counted.slice(0, -1);
	const story = goOn.map(({ result, http_status }) => http_status ?? result).join(", ");
	const mayGoOn = goOn.every(({ result, http_status }) => meaningOf(result, http_status) === "again");
	ok(mayGoOn, `${name} went on after ${story}`);
}
