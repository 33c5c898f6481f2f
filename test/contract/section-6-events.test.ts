// Contract section 6: which event is sent when, how often, and under which name.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { eachService } from "../support/running-service.ts";

eachService("section 6, events", (running) => {
	test("contract 6 recorded: the shop's own postback sends conversion.recorded", async () => {
		const programme = await running.openProgramme();
		equal((await programme.record("A-1")).outcome, "RECORDED");
		await programme.settled();
		deepEqual(programme.events, ["conversion.recorded"]);
	});

	test("contract 6 recorded: a test conversion sent from the page sends conversion.recorded", async () => {
		const programme = await running.openProgramme();
		await programme.sendTestConversion("T-1");
		await programme.settled();
		deepEqual(
			programme.received.map(({ body }) => [body.event, body.orderId, body.test]),
			[["conversion.recorded", "T-1", true]],
		);
	});

	test("contract 6 approved: an approval by the shop and one by the window send conversion.approved", async () => {
		const programme = await running.openProgramme({ approvalDays: 0 });
		await programme.record("A-1");
		await programme.approve("A-1");
		await programme.record("A-2");
		await running.clock.moveBy(WINDOW_NOTICED_MS);
		await running.until("the window has approved", async () => (await programme.deliveries()).length === 4);
		await programme.settled();
		const approved = programme.received.filter(({ body }) => body.event === "conversion.approved");
		deepEqual(approved.map(({ body }) => body.orderId).sort(), ["A-1", "A-2"]);
	});

	test("contract 6 rejected: a rejection sends conversion.rejected", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.reject("A-1", "FRAUD");
		await programme.settled();
		deepEqual([...programme.events].sort(), ["conversion.recorded", "conversion.rejected"]);
	});

	test("contract 6 reversed: a reversal that the shop reports sends conversion.reversed", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.reverse("A-1", "RETURN");
		await programme.settled();
		deepEqual([...programme.events].sort(), ["conversion.recorded", "conversion.reversed"]);
	});

	test("contract 6 event name: header and body carry the same name, for each of the four", async () => {
		const programme = await running.openProgramme();
		for (const orderId of ["A-1", "A-2"]) await programme.record(orderId);
		await programme.approve("A-1");
		await programme.reverse("A-1", "RETURN");
		await programme.reject("A-2", "DUPLICATE");
		await programme.settled();
		const names = programme.received.map(({ headers, body }) => [headers.get("X-Service-Event"), body.event]);
		deepEqual(
			names.filter(([inHeader, inBody]) => inHeader !== inBody),
			[],
		);
		deepEqual([...new Set(programme.events)].sort(), [
			"conversion.approved",
			"conversion.recorded",
			"conversion.rejected",
			"conversion.reversed",
		]);
	});

	test("contract 6 once: repeating every report and every decision sends nothing more", async () => {
		const programme = await running.openProgramme();
		for (let time = 0; time < 3; time++) await programme.record("A-1");
		for (let time = 0; time < 3; time++) await programme.approve("A-1");
		for (let time = 0; time < 3; time++) await programme.reverse("A-1", "RETURN");
		equal((await programme.record("A-1")).outcome, "DUPLICATE");
		await programme.settled();
		deepEqual([...programme.events].sort(), [
			"conversion.approved",
			"conversion.recorded",
			"conversion.reversed",
		]);
		equal((await programme.deliveries()).length, 3);
	});

	test("contract 6 parked: a parked conversion that a server postback confirms sends no event", async () => {
		const programme = await running.openProgramme();
		await programme.pixel("A-1");
		equal((await programme.record("A-1")).outcome, "CONFIRMED");
		await programme.settled();
		deepEqual(await programme.deliveries(), []);
		deepEqual(programme.events, []);
	});

	test("contract 6 test: every event of a test conversion says test: true, no other does", async () => {
		const programme = await running.openProgramme();
		for (const [orderId, isTest] of [
			["T", true],
			["A", false],
		] as const) {
			for (const suffix of ["1", "2"]) await programme.record(orderId + suffix, { test: isTest });
			await programme.approve(`${orderId}1`);
			await programme.reverse(`${orderId}1`, "CHARGEBACK");
			await programme.reject(`${orderId}2`, "TEST_ORDER");
		}
		await programme.settled();
		equal(programme.received.length, 10);
		for (const { body } of programme.received) equal(body.test, String(body.orderId).startsWith("T"));
	});
});

/** The chore that looks for ended windows comes by every ten seconds. */
const WINDOW_NOTICED_MS = 10_000;
