// Tests contract sections 3 and 6: the statuses of a conversion, what causes each status change, and the
// single event of each change.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { eachService } from "../support/running-service.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";

/** Interval at which the chores look for ended windows. */
const WINDOW_NOTICED_MS = 10_000;

eachService("sections 3 and 6, states, transitions and events", (running) => {
	const conversionOf = async ({ id }: ShopProgramme, orderId: string) =>
		running.service.store.db
			.selectFrom("conversions")
			.selectAll()
			.where("programme_id", "=", id)
			.where("order_id", "=", orderId)
			.executeTakeFirstOrThrow();

	test("contract 3 recorded, 6 recorded: a sale report, a test and an unparked pixel are recorded and announced", async () => {
		const programme = await running.openProgramme({ parksPixels: false });
		await programme.record("A-1");
		await programme.record("T-1", { test: true });
		await programme.pixel("P-1");
		await programme.settled();
		const sent = programme.received.map(({ body }) => [body.orderId, body.event, body.status]);
		deepEqual(sent.sort(), [
			["A-1", "conversion.recorded", "RECORDED"],
			["P-1", "conversion.recorded", "RECORDED"],
			["T-1", "conversion.recorded", "RECORDED"],
		]);
	});

	test("contract 3 approved, 6 approved: an approval by the shop is announced once", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		equal((await programme.approve("A-1")).conversion?.status, "APPROVED");
		await programme.settled();
		deepEqual(programme.events, ["conversion.recorded", "conversion.approved"]);
	});

	test("contract 3 approved, 6 approved: the approval window approves at its end, and not a millisecond before", async () => {
		const programme = await running.openProgramme({ approvalDays: 14 });
		const createdAtMs = running.clock.nowMs();
		await programme.record("A-1");
		await programme.settled();
		const endsAtMs = createdAtMs + 14 * DAY_MS;
		await running.clock.moveTo(endsAtMs - 1);
		equal((await conversionOf(programme, "A-1")).status, "RECORDED");
		await running.clock.moveBy(WINDOW_NOTICED_MS);
		await running.until("the window has approved", async () => (await programme.deliveries()).length === 2);
		await programme.settled();
		const { status, decided_by: decidedBy, updated_at_ms: atMs } = await conversionOf(programme, "A-1");
		deepEqual([status, decidedBy], ["APPROVED", "window"]);
		equal(atMs >= endsAtMs, true, `approved ${endsAtMs - atMs} ms early`);
		deepEqual(programme.events, ["conversion.recorded", "conversion.approved"]);
	});

	test("contract 3 approved: the end of the approval window does not change an earlier decision", async () => {
		const programme = await running.openProgramme({ approvalDays: 1 });
		for (const orderId of ["A-1", "A-2", "A-3"]) await programme.record(orderId);
		await programme.approve("A-1");
		await programme.reject("A-2", "FRAUD");
		await programme.reverse("A-3", "RETURN");
		await programme.settled();
		const witness = await running.openProgramme({ approvalDays: 1 });
		await witness.record("W-1");
		await running.clock.moveBy(DAY_MS + WINDOW_NOTICED_MS);
		await running.until("the window has ended", async () => (await witness.deliveries()).length === 2);
		equal((await programme.deliveries()).length, 6);
	});

	test("contract 3 rejected, 6 rejected: a rejection by the shop is announced with its reason", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		const { conversion } = await programme.reject("A-1", "PAYMENT_FAILED");
		deepEqual([conversion?.status, conversion?.decidedBy], ["REJECTED", "shop"]);
		await programme.settled();
		const [, callback] = programme.received;
		deepEqual([callback?.body.event, callback?.body.reason], ["conversion.rejected", "PAYMENT_FAILED"]);
	});

	test("contract 3 rejected, 6 rejected: a rejection by the review team is announced with its reason", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.rejectByReview("A-1", "TERMS_VIOLATION");
		await programme.settled();
		equal((await conversionOf(programme, "A-1")).decided_by, "review");
		const [, callback] = programme.received;
		deepEqual(
			[callback?.body.event, callback?.body.status, callback?.body.reason],
			["conversion.rejected", "REJECTED", "TERMS_VIOLATION"],
		);
	});

	test("contract 3 reversed, 6 reversed: recorded and approved conversions are reversed with a reason", async () => {
		const programme = await running.openProgramme();
		for (const orderId of ["A-1", "A-2"]) await programme.record(orderId);
		await programme.approve("A-2");
		for (const orderId of ["A-1", "A-2"]) await programme.reverse(orderId, "RETURN");
		await programme.settled();
		const reversed = programme.received.filter(({ body }) => body.event === "conversion.reversed");
		deepEqual(reversed.map(({ body }) => [body.orderId, body.status, body.reason]).sort(), [
			["A-1", "REVERSED", "RETURN"],
			["A-2", "REVERSED", "RETURN"],
		]);
	});

	test("contract 3 rejected, 3 reversed: other transitions are refused and send nothing", async () => {
		const programme = await running.openProgramme();
		for (const orderId of ["REJECTED", "REVERSED", "APPROVED"]) await programme.record(orderId);
		await programme.reject("REJECTED", "FRAUD");
		await programme.reverse("REVERSED", "RETURN");
		await programme.approve("APPROVED");
		await programme.settled();
		const before = (await programme.deliveries()).length;
		for (const [orderId, target] of [
			["REJECTED", "/v1/approvals"],
			["REJECTED", "/v1/reversals"],
			["REVERSED", "/v1/approvals"],
			["REVERSED", "/v1/rejections"],
			["APPROVED", "/v1/rejections"],
		] as const) {
			const reason = target === "/v1/approvals" ? {} : { reason: "OTHER" };
			const refused = await programme.call("POST", target, { body: { orderId, ...reason } });
			deepEqual([refused.status, refused.json.code], [409, "move_not_allowed"], `${orderId} ${target}`);
			equal((await conversionOf(programme, orderId)).status, orderId);
		}
		equal((await programme.deliveries()).length, before);
	});

	test("contract 3 parked: a parked conversion sends nothing, cannot be decided, and expires without an event", async () => {
		const programme = await running.openProgramme();
		await programme.pixel("P-1");
		equal((await conversionOf(programme, "P-1")).status, "PARKED");
		const refused = await programme.call("POST", "/v1/approvals", { body: { orderId: "P-1" } });
		equal(refused.json.code, "move_not_allowed");
		await running.clock.moveBy(30 * DAY_MS + WINDOW_NOTICED_MS);
		await running.until(
			"the conversion has expired",
			async () => (await conversionOf(programme, "P-1")).status === "EXPIRED",
		);
		deepEqual(await programme.deliveries(), []);
	});

	test("contract 3 rule 1, 6 parked: confirming a parked pixel returns the result and sends no event", async () => {
		const programme = await running.openProgramme();
		await programme.pixel("P-1", "90.00");
		const { outcome, conversion } = await programme.record("P-1", { basketValue: "100.00" });
		equal(outcome, "CONFIRMED");
		deepEqual([conversion?.status, conversion?.basketValue], ["RECORDED", "100.00"]);
		await programme.pixel("P-1", "1.00");
		deepEqual(await programme.deliveries(), []);
		await programme.approve("P-1");
		await programme.settled();
		const sent = programme.received.map(({ body }) => [body.event, body.conversionId, body.basketValue]);
		deepEqual(sent, [["conversion.approved", conversion?.id, "100.00"]]);
	});

	test("contract 3 rule 2, 6 once: the same moves requested many times, at once and later, send each event once", async () => {
		const programme = await running.openProgramme();
		const many = (ask: () => Promise<unknown>) => Promise.all(Array.from({ length: 8 }, ask));
		await many(() => programme.record("A-1"));
		await many(() => programme.approve("A-1"));
		await many(() => programme.reverse("A-1", "RETURN"));
		equal((await programme.record("A-1")).outcome, "DUPLICATE");
		await programme.reverse("A-1", "RETURN");
		await programme.settled();
		deepEqual([...programme.events].sort(), [
			"conversion.approved",
			"conversion.recorded",
			"conversion.reversed",
		]);
		equal((await programme.deliveries()).length, 3);
	});

	test("contract 3 rule 2: if contradicting decisions come at the same moment, one is made and announced", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		const answers = await Promise.all([
			programme.call("POST", "/v1/approvals", { body: { orderId: "A-1" } }),
			programme.call("POST", "/v1/rejections", { body: { orderId: "A-1", reason: "FRAUD" } }),
		]);
		deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
		await programme.settled();
		equal((await programme.deliveries()).length, 2);
	});
});
