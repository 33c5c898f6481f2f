// Tests callbacks to partners through the whole service, with a partner's JSON receiver and a small tracker that takes GET
// postbacks, both real HTTPS servers. The rules of attempts, verdicts and signatures are those of shops, so these tests
// check what depends on the kind of receiver.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { removePostbackUrl } from "#core/programmes/postback-url.ts";
import { sendSeen } from "#core/programmes/resend.ts";
import { listFailedReceivers } from "#core/store/queries/deliveries.ts";
import { sendTestCallback } from "#modules/partners/use-cases/test-callback.ts";
import { addCalledPartner, type CalledPartner } from "../support/called-partner.ts";
import { setLandingHosts, setPartnership, setProgramme } from "../support/change-rows.ts";
import { replaceSecret } from "../support/replace-secret.ts";
import { eachService, type RunningService } from "../support/running-service.ts";
import { expectValue } from "../support/shop-account.ts";
import type { ProgrammeOptions, ShopProgramme } from "../support/shop-programme.ts";

const MINUTE_MS = 60_000;
const TRACKER = "/postback?cid={sub1}&payout={commission}&status={status}&event={event}&id={conversionId}";

eachService("callbacks to partners", (running) => {
	async function openCrediting(options: ProgrammeOptions = {}, change: object = {}): Promise<ShopProgramme> {
		const programme = await running.openProgramme(options);
		const { db } = running.service.store;
		await setProgramme(db, programme.id, { credits_partners: 1, ...change });
		await setLandingHosts(db, programme.id, [{ host: "shop.example", withSubdomains: false }]);
		return programme;
	}

	test("a partner's JSON receiver and a tracker are told of each step of their sales, from the click to the reversal", async () => {
		const programme = await openCrediting();
		const [writer, tracker] = [
			await addCalledPartner(running, programme),
			await addCalledPartner(running, programme),
		];
		await writer.saveUrl("/hook?a=1");
		await tracker.saveUrl(TRACKER, "get");
		for (const [partner, order] of [
			[writer, "S-1"],
			[tracker, "S-2"],
		] as const) {
			const clickId = await partner.click("?s1=news%20%26%20co&s3=top");
			await programme.record(order, { clickId });
			// A partial refund announces no event to a partner, as for a shop. The next event has the remaining amounts.
			await programme.post("/v1/refunds", {
				orderId: order,
				refundId: "r1",
				amount: "40.00",
				reason: "RETURN",
			});
			await programme.approve(order);
			await programme.reverse(order, "RETURN");
			await partner.settled();
		}
		await programme.settled();
		const told = await writer.received();
		const steps = ["conversion.recorded", "conversion.approved", "conversion.reversed"];
		deepEqual(told.map(({ event }) => event).sort(), steps.toSorted());
		const recorded = told.find(({ event }) => event === "conversion.recorded");
		const { conversionId, clickedAt, occurredAt, sentAt, ...fields } = recorded ?? {};
		deepEqual(fields, {
			event: "conversion.recorded",
			programId: programme.programId,
			partnerId: writer.partner.public_id,
			linkId: writer.code,
			status: "RECORDED",
			eventType: "SALE",
			basketValue: null,
			commission: "10.00",
			currency: "EUR",
			reason: null,
			creditedBy: "CLICK",
			sub1: "news & co",
			sub2: null,
			sub3: "top",
			test: false,
		});
		for (const time of [clickedAt, occurredAt, sentAt]) match(String(time), /^\d{4}-.*Z$/);
		const reversed = told.find(({ event }) => event === "conversion.reversed");
		deepEqual([reversed?.["commission"], reversed?.["reason"]], ["6.00", "RETURN"]);
		doesNotMatch(JSON.stringify(told), /S-1|orderId|networkFee/, "a partner never sees an order");
		const pings = await tracker.received();
		deepEqual(pings.map(({ event, payout, status, cid }) => [event, payout, status, cid]).sort(), [
			["conversion.approved", "6.00", "APPROVED", "news & co"],
			["conversion.recorded", "10.00", "RECORDED", "news & co"],
			["conversion.reversed", "6.00", "REVERSED", "news & co"],
		]);
		deepEqual(
			tracker.server.requests.map(({ method }) => method),
			["GET", "GET", "GET"],
		);
		equal(programme.received.length, 6, "the shop is told of both sales, too");
	});

	test("if a sale goes to another partner, the former one hears that it was reversed, and the new one its present status", async () => {
		const programme = await openCrediting();
		const [former, present] = [
			await addCalledPartner(running, programme),
			await addCalledPartner(running, programme),
		];
		await former.saveUrl("/hook");
		await present.saveUrl("/hook");
		await programme.record("S-1", { clickId: await former.click("?s1=a") });
		await former.settled();
		// A coupon code is a better credit than a click.
		await programme.record("S-1", { couponCode: present.code });
		await former.settled();
		await programme.approve("S-1");
		await present.settled();
		deepEqual(await former.events(), ["conversion.recorded", "conversion.reversed"]);
		const [, reversed] = await former.received();
		deepEqual(
			[reversed?.["reason"], reversed?.["sub1"], reversed?.["creditedBy"]],
			["REASSIGNED", "a", "CLICK"],
		);
		deepEqual((await present.events()).sort(), ["conversion.approved", "conversion.recorded"]);
		const [taken] = await present.received();
		deepEqual([taken?.["creditedBy"], taken?.["linkId"], taken?.["sub1"]], ["CODE", null, null]);
	});

	test("a partner that was told nothing of a sale hears nothing when it goes to another, and a URL counts from when it is saved", async () => {
		const programme = await openCrediting();
		const [former, present] = [
			await addCalledPartner(running, programme),
			await addCalledPartner(running, programme),
		];
		await programme.record("S-1", { clickId: await former.click() });
		await programme.record("S-2", { clickId: await former.click() });
		await former.saveUrl("/hook");
		await programme.record("S-1", { couponCode: present.code });
		await programme.approve("S-2");
		await former.settled();
		deepEqual(await former.events(), ["conversion.approved"]);
	});

	test("a parked pixel tells a partner nothing until the shop's server confirms the sale", async () => {
		const programme = await openCrediting();
		const partner = await addCalledPartner(running, programme);
		await partner.saveUrl("/hook");
		const clickId = await partner.click();
		await programme.pixel("S-1");
		await programme.record("S-2", { clickId });
		await partner.settled();
		equal((await partner.events()).length, 1, "only the sale that the server reported");
		await programme.record("S-1", { clickId });
		await partner.settled();
		deepEqual(await partner.events(), ["conversion.recorded", "conversion.recorded"]);
	});

	test("baskets are shown if the programme shows them, an ended partnership hears about its sales, and only chosen events are sent", async () => {
		const programme = await openCrediting({}, { shows_baskets: 1 });
		const [all, few] = [
			await addCalledPartner(running, programme),
			await addCalledPartner(running, programme),
		];
		await all.saveUrl("/hook");
		await few.saveUrl("/hook", "json", ["conversion.rejected"]);
		for (const [partner, order] of [
			[all, "S-1"],
			[few, "S-2"],
		] as const) {
			await programme.record(order, { clickId: await partner.click() });
			await setPartnership(running.service.store.db, partner.partnershipId, {
				ended_at_ms: running.clock.nowMs(),
			});
			await programme.reject(order, "FRAUD");
			await partner.settled();
		}
		deepEqual((await all.events()).sort(), ["conversion.recorded", "conversion.rejected"]);
		deepEqual(
			(await all.received()).map(({ basketValue }) => basketValue),
			["100.00", "100.00"],
		);
		deepEqual(await few.events(), ["conversion.rejected"]);
	});

	test("a tracker gets test conversions only if its URL has {test}", async () => {
		const programme = await openCrediting();
		const [plain, marked] = [
			await addCalledPartner(running, programme),
			await addCalledPartner(running, programme),
		];
		await plain.saveUrl("/p?e={event}", "get");
		await marked.saveUrl("/p?event={event}&test={test}", "get");
		for (const partner of [plain, marked]) {
			await programme.record(`T-${partner.code}`, { clickId: await partner.click(), test: true });
			await partner.settled();
		}
		deepEqual(await plain.received(), []);
		deepEqual(await marked.received(), [{ event: "conversion.recorded", test: "true" }]);
	});

	test("a retry has the same facts, a new time and signature, and comes a minute later, for both forms", async () => {
		const programme = await openCrediting({ url: null });
		for (const [path, form] of [
			["/hook", "json"],
			["/p?event={event}&commission={commission}&sentAt={sentAt}", "get"],
		] as const) {
			const partner = await addCalledPartner(running, programme);
			await partner.saveUrl(path, form);
			partner.server.answer = () => ({ status: partner.server.requests.length < 2 ? 503 : 204 });
			await programme.record(`S-${form}`, { clickId: await partner.click() });
			await partner.settled();
			const [attempt] = await attemptsOf(running, partner);
			const dueAtMs = (attempt?.started_at_ms ?? 0) + (attempt?.took_ms ?? 0) + MINUTE_MS;
			equal((await partner.deliveries())[0]?.due_at_ms, dueAtMs);
			await running.clock.moveTo(dueAtMs);
			await partner.settled();
			const [first, second] = await partner.received();
			ok(first?.["sentAt"] !== second?.["sentAt"]);
			deepEqual({ ...first, sentAt: "" }, { ...second, sentAt: "" });
			const [delivery] = await partner.deliveries();
			deepEqual([delivery?.state, delivery?.attempts, delivery?.last_http_status], ["delivered", 2, 204]);
		}
	});

	test("a 404 ends a partner's delivery, a redirect is not followed, and both raise a notice", async () => {
		const programme = await openCrediting({ url: null });
		const partner = await addCalledPartner(running, programme);
		await partner.saveUrl("/p?event={event}", "get");
		const elsewhere = partner.server.url("/elsewhere");
		partner.server.answer = () =>
			partner.server.requests.length === 1
				? { status: 404 }
				: { status: 302, headers: { location: elsewhere } };
		await programme.record("S-1", { clickId: await partner.click() });
		await partner.settled();
		await programme.approve("S-1");
		await partner.settled();
		deepEqual(
			(await partner.deliveries()).map(({ state, attempts }) => [state, attempts]),
			[
				["failed", 1],
				["failed", 1],
			],
		);
		ok(partner.server.requests.every(({ path }) => path.startsWith("/p?")));
		const notice = await running.service.store.db
			.selectFrom("notices")
			.select(["failures", "told_at_ms"])
			.where("receiver_id", "=", await partner.receiverId())
			.executeTakeFirst();
		equal(notice?.failures, 2);
		ok(notice?.told_at_ms);
	});

	test("a partner's server that never answers delays no shop", async () => {
		const programme = await openCrediting();
		const partner = await addCalledPartner(running, programme);
		await partner.saveUrl("/hook");
		partner.server.answer = () => "hang";
		for (let sale = 0; sale < 20; sale++) {
			await programme.record(`S-${sale}`, { clickId: await partner.click() });
		}
		await programme.settled();
		equal(programme.received.length, 20);
		expectValue(await removePostbackUrl(running.service, partner.partner.public_id, COMMAND_LINE));
	});

	test("bad URLs are refused at save with their codes, and nothing is changed", async () => {
		const programme = await openCrediting({ url: null });
		const partner = await addCalledPartner(running, programme);
		const { db } = running.service.store;
		const count = async () => (await db.selectFrom("endpoints").select("id").execute()).length;
		const before = await count();
		const codeOf = async (...[url, form, events]: Parameters<CalledPartner["trySaving"]>) => {
			const saved = await partner.trySaving(url, form, events);
			return saved.ok ? "saved" : saved.fault.code;
		};
		const bad = [
			[partner.server.url("/p?a={orderId}"), "get", "postback_url_unknown_macro"],
			[partner.server.url("/{sub1}?a=1"), "get", "postback_url_macro_place"],
			["https://{sub1}.example/?a=1", "get", "postback_url_macro_place"],
			[partner.server.url("/p?a={sub1}"), "json", "postback_url_malformed"],
			["https://10.0.0.1/p?a={sub1}", "get", "postback_url_forbidden_address"],
			["https://10.0.0.1/p", "json", "postback_url_forbidden_address"],
			["http://tracker.example/p?a={sub1}", "get", "postback_url_not_https"],
		] as const;
		for (const [url, form, code] of bad) equal(await codeOf(url, form), code, url);
		equal(await codeOf(partner.server.url("/p"), "json", []), "no_event_chosen");
		equal(await count(), before);
		const receiver = db.selectFrom("receivers").select("id").where("partner_id", "=", partner.partner.id);
		equal(await receiver.executeTakeFirst(), undefined, "no receiver was added");
	});

	test("a removed URL cancels what is pending, and a replaced secret signs the next callback", async () => {
		const programme = await openCrediting({ url: null });
		const partner = await addCalledPartner(running, programme);
		await partner.saveUrl("/hook");
		const { service } = running;
		partner.server.answer = () => ({ status: 503 });
		await programme.record("S-1", { clickId: await partner.click() });
		await partner.settled();
		equal((await partner.received()).length, 1);
		const [told] = await partner.received();
		const [failed] = await partner.deliveries();
		const logged = running.log.lines.find(
			({ fields }) => "delivery" in fields && fields.delivery === failed?.public_id,
		);
		const { nextAt, ...line } = { nextAt: null, ...logged?.fields };
		deepEqual(line, {
			...{ delivery: failed?.public_id, event: "conversion.recorded", receiver: "partner" },
			...{ conversion: told?.["conversionId"], programme: programme.programId },
			...{ partner: partner.partner.public_id, attempt: 1, verdict: "retry", cause: "HTTP 503" },
		});
		equal(nextAt, new Date(failed?.due_at_ms ?? 0).toISOString());
		expectValue(await removePostbackUrl(service, partner.partner.public_id, COMMAND_LINE));
		await partner.settled();
		deepEqual(
			(await partner.deliveries()).map(({ state }) => state),
			["cancelled"],
		);
		await programme.approve("S-1");
		equal((await partner.deliveries()).length, 1, "without a URL no event is written");
		const next = await addCalledPartner(running, programme);
		await next.saveUrl("/hook");
		next.secret = expectValue(await replaceSecret(service, next.partner.public_id));
		await programme.record("S-2", { clickId: await next.click() });
		await next.settled();
		deepEqual(await next.events(), ["conversion.recorded"]);
	});

	test("a test callback is sent without a conversion and without a notice, and can be resent", async () => {
		const programme = await openCrediting();
		const partner = await addCalledPartner(running, programme);
		await partner.saveUrl("/hook");
		partner.server.answer = () => ({ status: partner.server.requests.length < 2 ? 404 : 204 });
		const { service } = running;
		const publicId = expectValue(
			await sendTestCallback(service, partner.partner.public_id, "conversion.rejected", COMMAND_LINE),
		);
		await partner.settled();
		const [told] = await partner.received();
		deepEqual(
			[told?.["test"], told?.["reason"], told?.["programId"]],
			[true, "TEST_ORDER", programme.programId],
		);
		deepEqual(
			(await partner.deliveries()).map(({ state, set_aside }) => [state, set_aside]),
			[["failed", 1]],
		);
		const asked = {
			receiver: { receiver_id: await partner.receiverId(), partner: partner.partner },
			actor: COMMAND_LINE,
		};
		const sent = await sendSeen(service, asked, [{ publicId, run: 1, seq: 1 }]);
		equal(expectValue(sent).resent, 1);
		await partner.settled();
		deepEqual(
			(await partner.deliveries()).map(({ state, run }) => [state, run]),
			[["delivered", 2]],
		);
		equal(programme.received.length, 0, "the shop hears nothing of it");
	});

	test("a failed callback of a partner whose URL was removed is not resent, and stays failed", async () => {
		const programme = await openCrediting();
		const partner = await addCalledPartner(running, programme);
		const { service } = running;
		partner.server.answer = () => ({ status: 404 });
		await partner.saveUrl("/hook");
		await programme.record("R-1", { clickId: await partner.click() });
		await partner.settled();
		const [failed] = await partner.deliveries();
		equal(failed?.state, "failed");
		expectValue(await removePostbackUrl(service, partner.partner.public_id, COMMAND_LINE));
		const span = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER };
		const listed = await listFailedReceivers(service.store.db, span, partner.partner.public_id);
		deepEqual(listed, [], "it has no URL to which they could be sent");
		const asked = {
			receiver: { receiver_id: await partner.receiverId(), partner: partner.partner },
			actor: COMMAND_LINE,
		};
		await sendSeen(service, asked, [{ publicId: failed?.public_id ?? "", run: 1, seq: 1 }]);
		await partner.settled();
		deepEqual(
			(await partner.deliveries()).map(({ state }) => state),
			["failed"],
		);
	});
});

async function attemptsOf(running: RunningService, partner: CalledPartner) {
	const [delivery] = await partner.deliveries();
	const attempts = running.service.store.db.selectFrom("attempts").selectAll();
	return attempts
		.where("delivery_id", "=", delivery?.id ?? 0)
		.orderBy("seq")
		.execute();
}
