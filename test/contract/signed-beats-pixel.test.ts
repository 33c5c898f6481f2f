// Tests that the shop's signed sale report counts whatever a pixel reports before or after it, because anyone can call
// a pixel. No pixel call blocks the report, sets its amount or its time, or sends an event twice.
// store-reports.test.ts covers every order of arrival. Here the whole service receives the calls and sends the
// callbacks.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { eachService } from "../support/running-service.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";

const APPROVAL_DAYS = 300;
/**
 * Time after which a parked conversion has expired: the wait for confirmation plus the interval of the chore
 * that ends it.
 */
const PAST_THE_WAIT_MS = 30 * DAY_MS + 10_000;

const STRANGERS_AMOUNT = "99999.00";
const SERVERS_AMOUNT = "500.00";

eachService("a signed report beats an unsigned one", (running) => {
	async function countOf({ id }: ShopProgramme, status: "PARKED" | "EXPIRED" | "RECORDED"): Promise<number> {
		const { count } = await running.service.store.db
			.selectFrom("conversions")
			.select((eb) => eb.fn.countAll<number>().as("count"))
			.where("programme_id", "=", id)
			.where("status", "=", status)
			.executeTakeFirstOrThrow();
		return Number(count);
	}

	test("if a stranger parked orders by pixel and let them expire, the shop's later sales of these orders still count", async () => {
		const programme = await running.openProgramme({ approvalDays: APPROVAL_DAYS });
		const orderIds = ["5001", "5002", "5003", "5004", "5005"];
		for (const orderId of orderIds) await programme.pixel(orderId, "1.00");
		equal(await countOf(programme, "PARKED"), 5);
		await running.clock.moveBy(PAST_THE_WAIT_MS);
		await running.until("they have expired", async () => (await countOf(programme, "PARKED")) === 0);
		equal(await countOf(programme, "EXPIRED"), 5);
		deepEqual(await programme.deliveries(), []);
		const nowMs = running.clock.nowMs();
		for (const orderId of orderIds) {
			const { status, json } = await programme.call("POST", "/v1/conversions", {
				body: { orderId, basketValue: SERVERS_AMOUNT },
			});
			deepEqual([status, json.outcome], [201, "RECORDED"], orderId);
			const { conversion } = json;
			deepEqual(
				[conversion?.status, conversion?.source, conversion?.basketValue, conversion?.pixelBasketValue],
				["RECORDED", "postback", SERVERS_AMOUNT, "1.00"],
			);
			deepEqual(
				[conversion?.createdAt, conversion?.occurredAt],
				[new Date(nowMs).toISOString(), new Date(nowMs).toISOString()],
			);
		}
		await programme.settled();
		const bodies = programme.received.map(({ body }) => [body.orderId, body.event, body.basketValue]);
		deepEqual(
			bodies.sort(),
			orderIds.map((orderId) => [orderId, "conversion.recorded", SERVERS_AMOUNT]),
		);
		const deliveries = await programme.deliveries();
		deepEqual(
			deliveries.map(({ name, state }) => [name, state]),
			orderIds.map(() => ["conversion.recorded", "delivered"]),
		);
		equal(await countOf(programme, "RECORDED"), 5);
	});

	test("a pixel's conversion stays if a person approved it, and if it was rejected the shop's sale still counts", async () => {
		const programme = await running.openProgramme({ parksPixels: false });
		for (const orderId of ["APPROVED", "REJECTED", "REVERSED"]) await programme.pixel(orderId, "1.00");
		await programme.approve("APPROVED");
		await programme.reject("REJECTED", "FRAUD");
		await programme.reverse("REVERSED", "RETURN");
		for (const orderId of ["APPROVED", "REJECTED", "REVERSED"]) {
			const { outcome, conversion } = await programme.record(orderId, { basketValue: SERVERS_AMOUNT });
			deepEqual(
				[outcome, conversion?.status, conversion?.basketValue],
				orderId === "APPROVED" ? ["DUPLICATE", "APPROVED", "1.00"] : ["RECORDED", "RECORDED", SERVERS_AMOUNT],
			);
		}
		await programme.settled();
		equal(
			(await programme.deliveries()).length,
			8,
			"each was recorded and decided, and two were recorded again",
		);
		await programme.reject("REJECTED", "FRAUD");
		await programme.settled();
		equal((await programme.deliveries()).length, 9, "the rejection of the new conversion is announced, too");
	});

	test("an event that was owed before the confirmation keeps its body, even if it is retried afterwards", async () => {
		const programme = await running.openProgramme({ parksPixels: false });
		programme.answer = () => ({ status: 503 });
		await programme.pixel("A-1", STRANGERS_AMOUNT);
		await programme.settled();
		equal((await programme.record("A-1", { basketValue: SERVERS_AMOUNT })).outcome, "CONFIRMED");
		programme.answer = () => ({ status: 204 });
		await programme.retryNow();
		deepEqual(
			programme.received.map(({ body }) => [body.event, body.basketValue]),
			[
				["conversion.recorded", STRANGERS_AMOUNT],
				["conversion.recorded", STRANGERS_AMOUNT],
			],
		);
	});
});
