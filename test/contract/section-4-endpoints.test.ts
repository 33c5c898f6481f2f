// Tests contract section 4: where deliveries go, in which form, and which answer is expected.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { readExcerpt } from "#core/domain/answer-excerpt.ts";
import { slotOf } from "#core/domain/slot.ts";
import { DAY_MS, HOUR_MS } from "#core/domain/time.ts";
import { eachService } from "../support/running-service.ts";
import { watchStalls } from "../support/stalls.ts";

eachService("section 4, endpoints", (running) => {
	test("contract 4.1 query string: path and query are requested and signed exactly as entered", async () => {
		for (const path of [
			"/",
			"/?a=b?c=d&e",
			"/a%2Fb/?x=1&y=%20z&empty=",
			"/~user/;v=1,2/@:!$&'()*+=?k[]=%C3%BC&plus=+",
			"//double//slash",
		]) {
			const programme = await running.openProgramme({ url: running.shop.url(path) });
			await programme.record("A-1");
			await programme.settled();
			// For every request, the suite checks that the signature covers the path of that request.
			deepEqual(
				programme.received.map(({ request }) => request.path),
				[path],
			);
		}
	});

	test("contract 4.1 URL: a shop that corrects its URL gets its pending retries at the new one", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.settled();
		const dueAtMs = await programme.nextDueAtMs();
		const other = await running.startShop();
		programme.answer = () => ({ status: 204 });
		await programme.saveUrl(other.url("/corrected?v=2"));
		await programme.settled();
		equal(programme.received.length, 1, "saving a URL does not bring the retry forward");
		await running.clock.moveTo(dueAtMs);
		await programme.settled();
		deepEqual(
			other.requests.map(({ path }) => path),
			["/corrected?v=2"],
		);
		equal((await programme.deliveries())[0]?.state, "delivered");
	});

	test("contract 4.1 URL: removing the URL cancels pending deliveries, even if another is saved later", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.record("A-2");
		await programme.settled();
		equal(await programme.removeUrl(), 2);
		await programme.saveUrl(running.shop.url());
		await running.clock.moveBy(2 * DAY_MS);
		await programme.approve("A-1");
		await programme.settled();
		deepEqual(
			(await programme.deliveries()).map(({ name, state, attempts }) => [name, state, attempts]),
			[
				["conversion.recorded", "cancelled", 1],
				["conversion.recorded", "cancelled", 1],
				["conversion.approved", "pending", 1],
			],
		);
		deepEqual(programme.events.slice(2), ["conversion.approved"]);
	});

	test("contract 4.1 URL: removing the URL while a delivery is in flight cancels its retry", async () => {
		const programme = await running.openProgramme();
		let letGo = (): void => undefined;
		programme.answer = () => ({
			raw: (socket) => {
				letGo = () => socket.end("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
			},
		});
		await programme.record("A-1");
		await running.until("the request has arrived", () => programme.received.length === 1);
		await programme.removeUrl();
		await programme.saveUrl(running.shop.url());
		letGo();
		await programme.settled();
		await running.clock.moveBy(2 * DAY_MS);
		await running.until(
			"the engine has processed the delivery",
			async () => (await programme.deliveries())[0]?.state !== "pending",
		);
		equal((await programme.deliveries())[0]?.state, "cancelled");
		equal(programme.received.length, 1);
	});

	test("contract 4.1 response: the body of the shop's answer is ignored, whatever it contains", async () => {
		const programme = await running.openProgramme();
		const bodies = ['{"status":"error","retry":true}', "<html>", "\0".repeat(1_000_000), ""];
		programme.answer = () => ({ status: 200, body: bodies.pop() ?? "" });
		for (const orderId of ["A-1", "A-2", "A-3", "A-4"]) await programme.record(orderId);
		await programme.settled();
		deepEqual(new Set((await programme.deliveries()).map(({ state }) => state)), new Set(["delivered"]));
		equal(programme.received.length, 4);
	});

	test("contract 4.1 response, 7 timeout, 8 five seconds: a slow body neither changes the verdict nor holds the attempt open", async () => {
		const programme = await running.openProgramme();
		const drips: NodeJS.Timeout[] = [];
		programme.answer = () => ({
			raw(socket) {
				socket.write("HTTP/1.1 500 Oops\r\ncontent-length: 1000000\r\nserver: drip\r\n\r\nFatal ");
				const timer = setInterval(() => socket.write("."), 20);
				drips.push(timer);
				socket.once("close", () => clearInterval(timer));
			},
		});
		const stalls = watchStalls();
		const startedMs = performance.now();
		await programme.record("A-1");
		await programme.settled();
		const tookMs = performance.now() - startedMs;
		for (const timer of drips) clearInterval(timer);
		stalls.stop();
		ok(tookMs < 4_500 + stalls.longestMs, `it was on record after ${tookMs} ms`);
		const [delivery] = await programme.deliveries();
		deepEqual(
			[delivery?.state, delivery?.last_verdict, delivery?.last_http_status],
			["pending", "retry", 500],
		);
		const [attempt] = await programme.attempts();
		equal(await programme.nextDueAtMs(), (attempt?.started_at_ms ?? 0) + (attempt?.took_ms ?? 0) + 60_000);
		const excerpt = readExcerpt(attempt?.answer ?? null);
		deepEqual([excerpt?.server, excerpt?.isCut], ["drip", true]);
		match(excerpt?.body ?? "", /^Fatal \.*$/);
		programme.answer = () => ({ status: 204 });
		await programme.retryNow();
		equal((await programme.deliveries())[0]?.state, "delivered");
	});

	test("contract 4.2, 1 setup: no programmatic interface sets the URL or lists deliveries", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.settled();
		const nouns = ["postback", "postback-url", "callback", "callbacks", "webhooks", "endpoint", "deliveries"];
		for (const noun of [...nouns, `programmes/${programme.programId}`, "attempts"]) {
			equal((await programme.call("GET", `/v1/${noun}`)).status, 404, noun);
			const body = { url: "https://attacker.example/", postbackUrl: "https://attacker.example/" };
			for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
				equal((await programme.call(method, `/v1/${noun}`, { body })).status, 404, `${method} ${noun}`);
			}
		}
		for (const path of ["/v1/conversions", "/v1/programme"]) {
			const { status, json } = await programme.call("GET", path);
			equal(status, 200, path);
			equal(/postbackUrl|deliver|attempt/i.test(JSON.stringify(json)), false, path);
		}
	});

	test("contract 4.3 rule 5: a delivery whose sender died before storing the result arrives again", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.settled();
		const { db, kind, queue } = running.service.store;
		// This simulates a process that owned the slot, sent the retry when it was due, and died before it stored
		// the result. Only the row of its engine is left.
		await queue.register(db, 7, 1, running.clock.nowMs());
		await db
			.updateTable("slots")
			.set({ engine_id: 7 })
			.where("slot", "=", slotOf(programme.receiver_id))
			.execute();
		const dueAtMs = await programme.nextDueAtMs();
		const renew = async (agoMs: number) => {
			const nowMs = kind === "sqlite" ? running.clock.nowMs() : Date.now();
			const row = db.updateTable("engines").where("id", "=", 7);
			await row.set({ renewed_at_ms: nowMs - agoMs }).execute();
		};
		programme.answer = () => ({ status: 204 });
		while (running.clock.nowMs() < dueAtMs + 10_000) {
			await renew(0);
			await running.clock.moveBy(5_000);
		}
		equal(programme.received.length, 1, "no other engine sends it while the owner is alive");
		await renew(HOUR_MS);
		await programme.settled();
		const [seq] = (await programme.deliveries()).map(({ attempts }) => attempts);
		equal(seq, 2, "the delivery is sent again as the same attempt");
		const [first, second] = programme.received.map(({ body }) => [body.conversionId, body.event]);
		deepEqual(second, first, "a receiver recognises the repeat by this pair");
		const results = (await programme.attempts()).map(({ result, http_status }) => [result, http_status]);
		deepEqual(results, [
			["answered", 503],
			["answered", 204],
		]);
	});
});
