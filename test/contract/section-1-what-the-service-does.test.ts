// Tests contract section 1. The service sends one signed POST for each status change, to an HTTPS URL at a
// public address, and only for changes after the URL was saved.

import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { savePostbackUrl } from "#core/programmes/postback-url.ts";
import { presentUrl } from "#core/store/queries/receivers.ts";
import { setUrl } from "../support/change-rows.ts";
import { eachService } from "../support/running-service.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";

eachService("section 1, what the service does", (running) => {
	/** Tries to save the URL. Returns "saved" or the fault code. */
	const trySaving = async ({ programId }: ShopProgramme, url: string) => {
		const saved = await savePostbackUrl(running.service, programId, url, COMMAND_LINE);
		return saved.ok ? "saved" : saved.fault.code;
	};

	test("contract 1 one POST per change: three status changes are three POSTs and no more", async () => {
		const programme = await running.openProgramme();
		const moves = [
			() => programme.record("A-1"),
			() => programme.approve("A-1"),
			() => programme.reverse("A-1", "RETURN"),
		];
		for (const [index, move] of moves.entries()) {
			await move();
			await programme.settled();
			equal(programme.received.length, index + 1);
		}
		await running.clock.moveBy(2 * DAY_MS);
		await programme.settled();
		deepEqual(programme.events, ["conversion.recorded", "conversion.approved", "conversion.reversed"]);
	});

	test("contract 1 optional: without a URL every status change is possible, and nothing is queued for sending", async () => {
		const programme = await running.openProgramme({ url: null });
		equal((await programme.record("A-1")).outcome, "RECORDED");
		equal((await programme.approve("A-1")).outcome, "APPROVED");
		equal((await programme.reverse("A-1", "RETURN")).outcome, "REVERSED");
		deepEqual(await programme.deliveries(), []);
		deepEqual(programme.received, []);
	});

	test("contract 1 setup: callbacks go to the saved URL exactly as it was entered", async () => {
		const programme = await running.openProgramme({ url: null });
		const url = running.shop.url("/hooks/status?shop=7");
		await programme.saveUrl(`  ${url} `);
		equal(await presentUrl(running.service.store.db, programme.receiver_id), url);
		await programme.record("A-1");
		await programme.settled();
		deepEqual(
			programme.received.map(({ request }) => request.path),
			["/hooks/status?shop=7"],
		);
	});

	test("contract 1 rule 1: a URL without HTTPS is refused, and the previous one stays", async () => {
		const programme = await running.openProgramme();
		const before = await presentUrl(running.service.store.db, programme.receiver_id);
		equal(await trySaving(programme, `http://127.0.0.1:${running.shop.port}/`), "postback_url_not_https");
		equal(await trySaving(programme, "ftp://shop.example/"), "postback_url_not_https");
		equal(await trySaving(programme, "shop.example/postback"), "postback_url_malformed");
		equal(await presentUrl(running.service.store.db, programme.receiver_id), before);
	});

	test("contract 1 rule 1: nothing is sent to a URL without HTTPS, even if it is in the database", async () => {
		const programme = await running.openProgramme({ url: null });
		const { service, clock, shop } = running;
		await setUrl(service.store.db, programme.id, `http://127.0.0.1:${shop.port}/`, clock.nowMs());
		const connectionsBefore = shop.connectionCount;
		await programme.record("A-1");
		await programme.settled();
		equal(shop.connectionCount, connectionsBefore);
		const [attempt, ...others] = await programme.attempts();
		deepEqual([attempt?.result, attempt?.detail, others], ["network-error", "INVALID_URL (look-up)", []]);
	});

	test("contract 1 rule 4, 5 no secret: a change without a signing secret is never sent, not even after a secret is issued", async () => {
		const programme = await running.openProgramme({ hasKey: false, parksPixels: false });
		await programme.pixel("A-1");
		deepEqual(await programme.deliveries(), []);
		await programme.issueKey();
		await programme.approve("A-1");
		await programme.settled();
		deepEqual(programme.events, ["conversion.approved"]);
	});

	test("contract 1 rule 5: a change before the URL was saved is never delivered", async () => {
		const programme = await running.openProgramme({ url: null });
		await programme.record("A-1");
		await programme.record("A-2");
		await programme.reject("A-2", "FRAUD");
		await programme.saveUrl(running.shop.url());
		equal((await programme.record("A-1")).outcome, "DUPLICATE");
		await programme.approve("A-1");
		await programme.settled();
		await running.clock.moveBy(2 * DAY_MS);
		await programme.settled();
		deepEqual(
			programme.received.map(({ body }) => [body.event, body.orderId]),
			[["conversion.approved", "A-1"]],
		);
	});

	test("contract 1 rule 5: a change between removing the URL and saving one again is never delivered", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.settled();
		await programme.removeUrl();
		await programme.approve("A-1");
		await programme.saveUrl(running.shop.url());
		await programme.reverse("A-1", "RETURN");
		await programme.settled();
		deepEqual(programme.events, ["conversion.recorded", "conversion.reversed"]);
	});

	test("contract 1 delivery list: every delivery is listed with its attempts and the last HTTP status", async () => {
		const programme = await running.openProgramme();
		programme.answer = ({ body }) => ({ status: body.includes("A-1") ? 503 : 204 });
		await programme.record("A-1");
		await programme.record("A-2");
		await programme.settled();
		programme.answer = () => ({ status: 200 });
		await programme.retryNow();
		const listed = (await programme.deliveries()).map((row) => [
			row.state,
			row.attempts,
			row.last_http_status,
		]);
		deepEqual(listed, [
			["delivered", 2, 200],
			["delivered", 1, 204],
		]);
		const attempts = (await programme.attempts()).map((row) => [row.seq, row.result, row.http_status]);
		deepEqual(attempts, [
			[1, "answered", 503],
			[2, "answered", 200],
			[1, "answered", 204],
		]);
	});

	test("contract 1 test conversion, 6 recorded: a test conversion reaches the endpoint and says test: true", async () => {
		const programme = await running.openProgramme();
		await programme.sendTestConversion("T-1");
		await programme.settled();
		const [callback] = programme.received;
		deepEqual(
			[callback?.body.event, callback?.body.test, callback?.body.orderId],
			["conversion.recorded", true, "T-1"],
		);
		match(String(callback?.body.conversionId), /^cnv_/);
		equal((await programme.deliveries())[0]?.state, "delivered");
	});
});
