// Tests the numbers of contract section 8. Delays count from the end of the failed attempt, to the
// millisecond. The tests move the clock. To show that the engine was running when it sent nothing, another
// order of the same shop is delivered at that moment.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { resendFailed, sendSeen } from "#core/programmes/resend.ts";
import { eachService, type RunningService } from "../support/running-service.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Retry delays of the contract, not taken from the code under test. */
const DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS];

eachService("section 8, limits", (running) => {
	test("contract 8 retry delays, 8 seven attempts: the delays are exact to the millisecond, and nothing is sent after the seventh", async () => {
		const programme = await running.openProgramme();
		const arrived = () => programme.received.filter(({ body }) => body.orderId === "A-1").length;
		const attempts = async () => (await programme.attempts()).filter((row) => row.http_status === 503);
		programme.answer = ({ body }) => ({ status: body.includes('"A-1"') ? 503 : 204 });
		await programme.record("A-1");
		await programme.settled();
		for (const [index, delayMs] of DELAYS_MS.entries()) {
			const failed = (await attempts()).at(-1);
			const dueAtMs = (failed?.started_at_ms ?? 0) + (failed?.took_ms ?? 0) + delayMs;
			equal(await programme.nextDueAtMs(), dueAtMs);
			await deliverAnotherAt(running, programme, dueAtMs - 1);
			equal(arrived(), index + 1, `one millisecond before delay ${index + 1} is over`);
			await running.clock.moveTo(dueAtMs);
			await running.until("the attempt arrives", () => arrived() === index + 2, 0);
			await programme.settled();
			equal((await attempts()).at(-1)?.started_at_ms, dueAtMs, "the attempt starts exactly when it is due");
		}
		const [delivery] = await programme.deliveries();
		deepEqual([delivery?.state, delivery?.attempts, delivery?.last_http_status], ["failed", 7, 503]);
		const startedAtMs = (await attempts()).map((row) => row.started_at_ms);
		const spreadHours = (Math.max(...startedAtMs) - Math.min(...startedAtMs)) / HOUR_MS;
		equal(Math.round(spreadHours * 10) / 10, 32.6, "roughly a day and a half");
		await deliverAnotherAt(running, programme, running.clock.nowMs() + 60 * 24 * HOUR_MS);
		equal(arrived(), 7);
		const [notice] = (await programme.notices()).filter(({ failures }) => failures > 0);
		deepEqual([notice?.kind, notice?.failures, notice?.last_verdict], ["callbacks_failing", 1, "retry"]);
	});

	test("contract 8 retry delays: a delay counts from the end of the failed attempt, not from its start", async () => {
		const programme = await running.openProgramme();
		let letGo = (): void => undefined;
		programme.answer = () => ({
			raw: (socket) => {
				letGo = () => socket.end("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
			},
		});
		await programme.record("A-1");
		await running.until("it is on its way", () => programme.received.length === 1);
		await running.clock.moveBy(3_000);
		const answeredAtMs = running.clock.nowMs();
		letGo();
		await programme.settled();
		const [attempt] = await programme.attempts();
		const endedAtMs = (attempt?.started_at_ms ?? 0) + (attempt?.took_ms ?? 0);
		ok((attempt?.took_ms ?? 0) >= 3_000 && endedAtMs >= answeredAtMs);
		equal(await programme.nextDueAtMs(), endedAtMs + MINUTE_MS);
	});

	test("contract 8 retry delays: a success ends the retries", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: programme.received.length < 3 ? 500 : 204 });
		await programme.record("A-1");
		await programme.settled();
		for (let retry = 0; retry < 3; retry++) await programme.retryNow();
		await running.clock.moveBy(48 * HOUR_MS);
		await programme.settled();
		const [delivery] = await programme.deliveries();
		deepEqual([delivery?.state, delivery?.attempts, delivery?.last_http_status], ["delivered", 4, 204]);
		// The owner may have been notified of a failure that lasts ten minutes, but no delivery has finally
		// failed.
		deepEqual(
			(await programme.notices()).filter(({ failures }) => failures > 0),
			[],
		);
	});

	test("contract 8 only these failures: a refusal of a retry ends the run", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: programme.received.length < 2 ? 503 : 410 });
		await programme.record("A-1");
		await programme.settled();
		await programme.retryNow();
		await programme.retryNow();
		const [delivery] = await programme.deliveries();
		deepEqual([delivery?.state, delivery?.attempts, delivery?.last_http_status], ["failed", 3, 410]);
		await running.clock.moveBy(48 * HOUR_MS);
		await programme.settled();
		equal(programme.received.length, 3);
	});

	test("contract 8 timestamp tolerance: the shop's own request may be 300 seconds early or late", async () => {
		const programme = await running.openProgramme();
		for (const [awaySeconds, status] of [
			[-300, 201],
			[300, 201],
			[-301, 401],
			[301, 401],
		] as const) {
			const nowMs = running.clock.nowMs() + awaySeconds * 1000;
			const body = { orderId: `A${awaySeconds}`, basketValue: "1.00" };
			const answer = await programme.call("POST", "/v1/conversions", { body, nowMs });
			equal(answer.status, status, `${awaySeconds} s`);
		}
		await programme.settled();
		equal((await programme.deliveries()).length, 2);
	});

	test("contract 8 nonce memory, 5 replay: a nonce is remembered for as long as its timestamp is fresh", async () => {
		const programme = await running.openProgramme();
		const nonce = running.service.random.hex(16);
		const nowMs = running.clock.nowMs() + 300_000;
		const call = () => programme.call("GET", "/v1/conversions", { nonce, nowMs });
		equal((await call()).status, 200);
		await running.clock.moveBy(599_000);
		equal((await call()).json.code, "replayed_nonce");
		await running.clock.moveBy(2_000);
		equal((await call()).json.code, "stale_timestamp");
	});

	test("contract 8 seven attempts: a resend is a new run of up to seven attempts of the same event", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 404 });
		await programme.record("A-1");
		await programme.settled();
		const [failed] = await programme.deliveries();
		programme.answer = () => ({ status: 503 });
		const seen = [{ publicId: failed?.public_id ?? "", run: 1, seq: 1 }];
		const press = () => sendSeen(running.service, { receiver: programme, actor: COMMAND_LINE }, seen);
		deepEqual(await press(), { ok: true, value: { resent: 1, sentNow: 0, leftAlone: 0 } });
		deepEqual(await press(), { ok: true, value: { resent: 0, sentNow: 0, leftAlone: 1 } });
		await programme.settled();
		for (let retry = 0; retry < 6; retry++) await programme.retryNow();
		const [delivery] = await programme.deliveries();
		deepEqual([delivery?.state, delivery?.run, delivery?.attempts], ["failed", 2, 8]);
		const pairs = programme.received.map(({ body }) => `${body.conversionId} ${body.event}`);
		deepEqual([pairs.length, new Set(pairs).size], [8, 1]);
	});

	test("contract 8 retry delays, 8 seven attempts: an attempt sent now by hand is the next of the seven, and the delays continue from it", async () => {
		const programme = await running.openProgramme();
		const { service } = running;
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.settled();
		const publicId = (await programme.deliveries())[0]?.public_id ?? "";
		const press = async (seq: number) => {
			const seen = [{ publicId, run: 1, seq }];
			const sent = await sendSeen(service, { receiver: programme, actor: COMMAND_LINE }, seen);
			return sent.ok && sent.value.sentNow === 1;
		};
		for (let seen = 1; seen < 7; seen++) {
			await running.clock.moveBy(1_000);
			const pressedAtMs = running.clock.nowMs();
			const pressed = await Promise.all([press(seen), press(seen)]);
			equal(pressed.filter((isSent) => isSent).length, 1, `two people at once: ${pressed}`);
			await programme.settled();
			const attempts = await programme.attempts();
			deepEqual([attempts.length, programme.received.length], [seen + 1, seen + 1]);
			const last = attempts.at(-1);
			ok((last?.started_at_ms ?? 0) >= pressedAtMs);
			if (seen === 6) break;
			equal(await press(seen), false, "an outdated page sends nothing");
			const endedMs = (last?.started_at_ms ?? 0) + (last?.took_ms ?? 0);
			equal(await programme.nextDueAtMs(), endedMs + (DELAYS_MS[seen] ?? 0));
		}
		const [delivery] = await programme.deliveries();
		deepEqual([delivery?.state, delivery?.run, delivery?.attempts], ["failed", 1, 7]);
		equal(await press(6), false, "a delivery that has ended is not sent");
	});

	test("contract 8 seven attempts: resending all that failed since a time sends those and no others", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 404 });
		await programme.record("before");
		await programme.settled();
		await running.clock.moveBy(MINUTE_MS);
		const sinceMs = running.clock.nowMs();
		for (const orderId of ["A-1", "A-2"]) await programme.record(orderId);
		await programme.settled();
		programme.answer = () => ({ status: 204 });
		const resent = await resendFailed(
			running.service,
			{ receivers: [programme], actor: COMMAND_LINE },
			{ fromMs: sinceMs },
		);
		equal(resent.ok && resent.value.count, 2);
		await programme.settled();
		const states = (await programme.deliveries()).map(({ state, run }) => [state, run]);
		deepEqual(states, [
			["failed", 1],
			["delivered", 2],
			["delivered", 2],
		]);
	});
});

/** Generous time for the work of the engine after the clock was moved. */
const BEFORE_MS = 2_000;

/**
 * Delivers another order of the same shop at the given moment. This shows that the engine was running and sent only
 * deliveries that were due.
 */
async function deliverAnotherAt(
	running: RunningService,
	programme: ShopProgramme,
	atMs: number,
): Promise<void> {
	const { clock } = running;
	await clock.moveTo(atMs - BEFORE_MS);
	await programme.record(`before ${atMs}`);
	await programme.settled();
	await clock.moveTo(atMs);
	const orderId = `at ${atMs}`;
	await programme.record(orderId);
	// Only the request is awaited, because its result is stored later, when the clock moves on.
	const hasArrived = () => programme.received.some(({ body }) => body.orderId === orderId);
	await running.until("the order's callback arrives", hasArrived, 0);
	equal(clock.nowMs(), atMs);
}
