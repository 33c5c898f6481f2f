// Tests contract section 7: what each outcome of an attempt means for its delivery.

import { deepEqual, equal, ok } from "node:assert/strict";
import { after, test } from "node:test";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { setUrl } from "../support/change-rows.ts";
import { eachService } from "../support/running-service.ts";
import type { AnswerRequest } from "../support/shop.ts";
import { DEFAULT_PATH, type ShopProgramme } from "../support/shop-programme.ts";
import { startNameServer } from "../support/zone-server.ts";

const names = await startNameServer();
after(() => names.close());

eachService(
	"section 7, errors",
	(running) => {
		const deliverTo = async (answer: AnswerRequest): Promise<ShopProgramme> => {
			const programme = await running.openProgramme();
			programme.answer = answer;
			await programme.record("A-1");
			await programme.settled();
			return programme;
		};

		const isOver = async (programme: ShopProgramme, state: "delivered" | "failed", status: number | null) => {
			await running.clock.moveBy(2 * DAY_MS);
			await programme.settled();
			const [delivery] = await programme.deliveries();
			deepEqual([delivery?.state, delivery?.attempts, delivery?.last_http_status], [state, 1, status]);
			equal((await programme.attempts()).length, 1);
		};

		/** Returns true if the delivery waits for its first retry, a minute after the attempt ended. */
		const isRetried = async (programme: ShopProgramme, status: number | null) => {
			const [attempt, ...others] = await programme.attempts();
			ok(attempt !== undefined && others.length === 0);
			equal(attempt.http_status, status);
			equal(await programme.nextDueAtMs(), attempt.started_at_ms + (attempt.took_ms ?? 0) + MINUTE_MS);
			const [delivery] = await programme.deliveries();
			deepEqual([delivery?.state, delivery?.last_verdict], ["pending", "retry"]);
			deepEqual(await programme.notices(), [], "one failed attempt opens no notice");
			await programme.retryNow();
			equal((await programme.attempts()).length, 2);
		};

		// Only the lowest and highest statuses of each kind are tested here. src/core/domain/verdict.test.ts covers
		// every status.
		for (const status of [200, 204, 299]) {
			test(`contract 7 2xx: ${status} is success and completes the delivery`, async () => {
				const programme = await deliverTo(() => ({ status }));
				await isOver(programme, "delivered", status);
				deepEqual(await programme.notices(), []);
			});
		}

		for (const status of [500, 599]) {
			test(`contract 7 5xx: ${status} is a failure and retried`, async () => {
				await isRetried(await deliverTo(() => ({ status })), status);
			});
		}

		test("contract 7 408: Request Timeout is a failure and retried", async () => {
			await isRetried(await deliverTo(() => ({ status: 408 })), 408);
		});

		test("contract 7 429: Too Many Requests is retried at our own time, whatever Retry-After says", async () => {
			await isRetried(await deliverTo(() => ({ status: 429, headers: { "retry-after": "1" } })), 429);
		});

		for (const status of [400, 410, 499]) {
			test(`contract 7 other 4xx, 8 only these failures: ${status} is a deliberate refusal and ends the delivery at once`, async () => {
				await isOver(await deliverTo(() => ({ status })), "failed", status);
			});
		}

		for (const status of [300, 302, 308]) {
			test(`contract 7 redirect, 1 rule 3, 8 only these failures: ${status} is not followed and ends the delivery`, async () => {
				const programme = await deliverTo(() => ({
					status,
					headers: { location: running.shop.url("/other") },
				}));
				await isOver(programme, "failed", status);
				equal((await programme.deliveries())[0]?.last_verdict, "redirect");
				deepEqual(
					programme.received.map(({ request }) => request.path),
					[DEFAULT_PATH],
				);
			});
		}

		test("contract 7 network error: a refused connection is a failure and retried", async () => {
			const gone = await running.startShop();
			await gone.close();
			const programme = await running.openProgramme({ url: gone.url() });
			await programme.record("A-1");
			await programme.settled();
			equal((await programme.attempts())[0]?.detail, "ECONNREFUSED (connect)");
			await isRetried(programme, null);
		});

		test("contract 7 network error: a name that does not resolve is retried, and delivered when it resolves again", async () => {
			const name = `${running.service.random.hex(4)}.shop.example`;
			const programme = await running.openProgramme({ url: null });
			const url = running.shop.url("/postback", name);
			await setUrl(running.service.store.db, programme.id, url, running.clock.nowMs());
			await programme.record("A-1");
			await programme.settled();
			equal((await programme.attempts())[0]?.detail, "ENOTFOUND (look-up)");
			names.records.set(name, ["127.0.0.1"]);
			await programme.retryNow();
			equal((await programme.deliveries())[0]?.state, "delivered");
		});

		test("contract 7 owner notified, 1 owner notified: one open notice counts the failures, and a success ends it", async () => {
			const programme = await deliverTo(() => ({ status: 410 }));
			await programme.approve("A-1");
			await programme.settled();
			const [failing, ...others] = await programme.notices();
			equal(others.length, 0);
			deepEqual([failing?.kind, failing?.failures, failing?.last_http_status], ["callbacks_failing", 2, 410]);
			const last = (await programme.deliveries()).find(({ id }) => id === failing?.last_delivery_id);
			deepEqual([last?.state, failing?.ended_at_ms], ["failed", null]);
			programme.answer = () => ({ status: 204 });
			await programme.reverse("A-1", "RETURN");
			await programme.settled();
			const [ended, again] = await programme.notices();
			ok(ended?.ended_at_ms !== null);
			deepEqual([again?.kind, again?.failures], ["callbacks_working_again", 0]);
		});

		test("contract 7 timeout, 8 five seconds, 4.1 response: an attempt without an answer in time is retried", async () => {
			const silent = await running.openProgramme();
			silent.answer = () => "hang";
			const late = await running.openProgramme();
			late.answer = () => ({ status: 204, delayMs: 5_500 });
			const trickling = await running.openProgramme();
			trickling.answer = () => ({
				raw: (socket) => socket.write("HTTP/1.1 204 No Content\r\nserver: slow\r\n"),
			});
			const slow = await running.openProgramme();
			slow.answer = () => ({ status: 204, delayMs: 2_000 });
			const startedAtMs = performance.now();
			await Promise.all([silent, late, trickling, slow].map((programme) => programme.record("A-1")));
			await slow.settled();
			equal((await slow.deliveries())[0]?.state, "delivered", "an answer after two seconds is in time");
			for (const programme of [silent, late, trickling]) {
				await programme.settled();
				const [attempt] = await programme.attempts();
				equal(attempt?.result, "timeout");
			}
			const tookMs = performance.now() - startedAtMs;
			ok(tookMs >= 4_990 && tookMs < 60_000, `it took ${tookMs} ms`);
			const timedOut = [silent, late, trickling];
			for (const programme of timedOut) programme.answer = () => ({ status: 204 });
			const dueAtMs = await Promise.all(timedOut.map((programme) => programme.nextDueAtMs()));
			await running.clock.moveTo(Math.max(...dueAtMs));
			for (const programme of timedOut) {
				await programme.settled();
				equal((await programme.deliveries())[0]?.state, "delivered");
			}
		});
	},
	{ RINGBACK_DNS_SERVERS: names.address },
);
