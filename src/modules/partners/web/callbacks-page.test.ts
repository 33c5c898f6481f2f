// Tests the pages about a partner's callbacks. The tests send plain forms, as a browser without scripts does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { decideConversion } from "#core/conversions/decide.ts";
import { LIMITS, testUseOf, useLimits } from "#core/people/limits.ts";
import { findPartnerReceiver } from "#core/store/queries/receivers.ts";
import { runCallbacks } from "#core/web/integration/callback-run.test-support.ts";
import { SECRET } from "#core/web/integration/integration-shop.test-support.ts";
import { START_MS } from "#core/web/test-site.test-support.ts";
import { addCredited, addPartner, openPartnerShop, type PartnerShop } from "./partner-shop.test-support.ts";

const TRACKER = "https://tracker.example/postback?cid={sub1}&payout={commission}&event={event}";
const ALL = { recorded: "on", approved: "on", rejected: "on", reversed: "on" };

async function saveUrl({ browser, base }: PartnerShop, fields: Record<string, string> = {}) {
	await browser.open(`${base}/callbacks`);
	return browser.submit(`${base}/callbacks/url`, { postbackUrl: TRACKER, form: "get", ...ALL, ...fields });
}

async function receiverOf({ site, partner }: PartnerShop) {
	const receiver = await findPartnerReceiver(site.store.db, partner.id);
	assert.ok(receiver);
	return receiver;
}

test("the first URL comes with a secret that is shown once, and the page keeps form and events", async (t) => {
	const shop = await openPartnerShop(t);
	const { browser, base, site } = shop;
	assert.doesNotMatch((await browser.open(`${base}/callbacks`)).text, /id="secret"|Remove URL/);
	const saved = await saveUrl(shop, { rejected: "", approved: "" });
	assert.equal(saved.status, 200, saved.text);
	const secret = SECRET.exec(saved.text)?.[0] ?? "";
	assert.notEqual(secret, "");
	assert.doesNotMatch([...saved.headers].join(), /rbs_/, "in no cookie and no address");
	const page = (await browser.open(`${base}/callbacks`)).text;
	assert.match(page, /<script src="[^"]*uplot[^"]*" defer>/, "the chart of attempts needs it");
	assert.doesNotMatch(page, SECRET);
	assert.match(page, /<option value="get" selected/);
	assert.match(page, /name="recorded"[^>]* checked/);
	assert.doesNotMatch(page, /name="approved"[^>]* checked/);
	const again = await saveUrl(shop, { postbackUrl: "https://partner.example/hook", form: "json" });
	assert.deepEqual([again.status, again.location], [303, `${base}/callbacks#callback`]);
	const audited = await site.store.db
		.selectFrom("audit_entries")
		.select(["action", "subject", "detail"])
		.where("action", "like", "partner.url%")
		.execute();
	assert.deepEqual(
		audited.map((row) => Object.values(row)),
		[
			["partner.url_saved", shop.partner.public_id, "https://tracker.example/postback?…"],
			["partner.url_saved", shop.partner.public_id, "https://partner.example/hook"],
		],
	);
});

test("a refused URL stays in its field with the reason, and the list of macros", async (t) => {
	const shop = await openPartnerShop(t);
	const refused = await saveUrl(shop, { postbackUrl: "https://tracker.example/?id={orderId}" });
	assert.equal(refused.status, 422);
	assert.match(refused.text, /“?"?{orderId}"?.* is not a macro\. These are: .*{sub3}|is not a macro/);
	assert.match(refused.text, /value="https:\/\/tracker\.example\/\?id={orderId}"/);
	const none = await saveUrl(shop, { recorded: "", approved: "", rejected: "", reversed: "" });
	assert.match(none.text, /Choose at least one event/);
	assert.equal(await findPartnerReceiver(shop.site.store.db, shop.partner.id), undefined);
});

test("a failed callback is listed with its cause and without the order, has a page with the request, and can be resent", async (t) => {
	const shop = await openPartnerShop(t);
	const { browser, base, site, partnership } = shop;
	await saveUrl(shop);
	const order = "ORDER-4711";
	const conversion = await addCredited(shop, partnership, { order_id: order }, { sub_1: "top banner" });
	await site.store.transact((trx) =>
		decideConversion(trx, site.deps, conversion, { move: "approve", decidedBy: "shop" }),
	);
	const receiver = await receiverOf(shop);
	const [sent] = await runCallbacks(site, receiver, { kind: "answered", status: 404 });
	assert.match(
		sent?.getTarget ?? "",
		/^\/postback\?cid=top%20banner&payout=[\d.]+&event=conversion\.approved$/,
	);
	const list = (await browser.open(`${base}/callbacks?state=failed`)).text;
	assert.match(list, /Callbacks sent to you/);
	assert.ok(list.includes(conversion.public_id) && list.includes("404"));
	const deliveryId = /deliveries\/(dlv_\w+)/.exec(list)?.[1] ?? "";
	const page = (await browser.open(`${base}/deliveries/${deliveryId}`)).text;
	assert.match(page, /GET \/postback\?cid=top%20banner&amp;payout=/);
	assert.ok(![list, page].join().includes(order), "a partner never sees the order");
	const signature = await browser.open(`${base}/callbacks/signature?delivery=${deliveryId}&attempt=1`);
	assert.equal(signature.status, 200);
	const seen = /name="delivery" value="([^"]+)"/.exec(page)?.[1] ?? "";
	const resent = await browser.submit(`${base}/deliveries/${deliveryId}/resend`, { delivery: seen });
	assert.equal(resent.status, 303);
	await runCallbacks(site, receiver, { kind: "answered", status: 204 });
	assert.match((await browser.open(`${base}/deliveries/${deliveryId}`)).text, /Delivered/);
});

test("staff see on a conversion's page how the partner was told, with a link to the callback, and the shop's owner does not", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, partnership, programme, partner } = shop;
	const [staff, owner] = [
		await site.signIn(await site.addStaff()),
		await site.signIn(await site.addOwner(programme)),
	];
	const conversion = await addCredited(shop, partnership);
	const path = `/programmes/${programme.public_id}/conversions/${conversion.public_id}`;
	const untold = (await staff.open(path)).text;
	assert.match(
		untold,
		/Callbacks to the partner.*The partner was not told.*\/callbacks"[^>]*>Callbacks of the partner/s,
	);
	await saveUrl(shop);
	await site.store.transact((trx) =>
		decideConversion(trx, site.deps, conversion, { move: "approve", decidedBy: "shop" }),
	);
	await runCallbacks(site, await receiverOf(shop), { kind: "answered", status: 500 });
	const [, section = ""] = (await staff.open(path)).text.split('id="partner-callbacks"');
	assert.match(section, /conversion\.approved<.*Blog<.*Retrying.*>1<.*500/s);
	const delivery =
		new RegExp(`href="(/partner/${partner.public_id}/deliveries/dlv_\\w+)"`).exec(section)?.[1] ?? "";
	const callback = await staff.open(delivery);
	assert.match(callback.text, /HTTP 500/);
	assert.ok(callback.text.includes(`href="${path}"`), "staff get back to the conversion");
	assert.ok(
		!(await shop.browser.open(delivery)).text.includes(path),
		"the partner does not see the shop's page",
	);
	const ofOwner = (await owner.open(path)).text;
	assert.match(ofOwner, /Callbacks for this conversion/);
	assert.doesNotMatch(ofOwner, /Callbacks to the partner|dlv_|tracker/);
	assert.equal((await owner.open(delivery)).status, 404);
});

test("a test callback and the steps of a new secret work from the page", async (t) => {
	const shop = await openPartnerShop(t);
	const { browser, base, site } = shop;
	await saveUrl(shop);
	const sent = await browser.submit(`${base}/callbacks/test`, { event: "conversion.reversed" });
	assert.equal(sent.location, `${base}/callbacks#test`);
	assert.match((await browser.open(`${base}/callbacks`)).text, /The test callback is being sent/);
	const [request] = await runCallbacks(site, await receiverOf(shop), { kind: "answered", status: 500 });
	assert.match(request?.getTarget ?? "", /cid=test-1&payout=10\.00&event=conversion\.reversed/);
	const prepared = await browser.submit(`${base}/callbacks/secret`, {});
	assert.match(prepared.text, SECRET);
	const secretId = /name="secretId" value="(sec_\w+)"/.exec(prepared.text)?.[1] ?? "";
	await browser.submit(`${base}/callbacks/secret/activate`, { secretId });
	assert.match((await browser.open(`${base}/callbacks`)).text, /The new secret is active/);
	await browser.submit(`${base}/callbacks/url/remove`, {});
	assert.match((await browser.open(`${base}/callbacks`)).text, /The callback URL is removed/);
});

test("a partner sends at most 60 test callbacks in ten minutes, and further ones are refused with the time", async (t) => {
	const shop = await openPartnerShop(t);
	const { browser, base, site, partner } = shop;
	await saveUrl(shop);
	const send = async () => {
		await browser.submit(`${base}/callbacks/test`, { event: "conversion.approved" });
		return (await browser.open(`${base}/callbacks`)).text;
	};
	assert.match(await send(), /The test callback is being sent/);
	for (let used = 1; used < LIMITS.tests.max; used++) {
		assert.equal(await useLimits(site.store.db, [testUseOf(partner.public_id)], START_MS), null);
	}
	assert.match(await send(), /60 tests were sent within ten minutes\. Send the next one in 10 minutes\./);
	assert.equal((await site.audit("partner.test_sent")).length, 1);
	site.moveClock(LIMITS.tests.windowMs);
	assert.match(await send(), /The test callback is being sent/);
});

test("another partner sees neither the page nor a callback, and cannot resend it", async (t) => {
	const shop = await openPartnerShop(t);
	const { browser, base, site } = shop;
	await saveUrl(shop);
	await browser.submit(`${base}/callbacks/test`, { event: "conversion.recorded" });
	const list = (await browser.open(`${base}/callbacks`)).text;
	const deliveryId = /deliveries\/(dlv_\w+)/.exec(list)?.[1] ?? "";
	assert.notEqual(deliveryId, "");
	const { partner, email } = await addPartner(site, "Other");
	const other = await site.signIn({ email });
	assert.equal((await other.open(`${base}/callbacks`)).status, 404);
	const own = `/partner/${partner.public_id}`;
	assert.equal((await other.open(`${own}/deliveries/${deliveryId}`)).status, 404);
	const stolen = await other.submit(`${own}/deliveries/${deliveryId}/resend`, {
		delivery: `${deliveryId}.1.0`,
	});
	assert.equal(stolen.status, 404);
});

test("failing callbacks are announced on the partner's other pages, and to staff on System, under Partners and by mail", async (t) => {
	const shop = await openPartnerShop(t, { hasMail: true });
	const { browser, base, site } = shop;
	await saveUrl(shop, { postbackUrl: "https://partner.example/hook", form: "json" });
	assert.doesNotMatch((await browser.open(`${base}/links`)).text, /Callbacks are failing/);
	const conversion = await addCredited(shop, shop.partnership);
	await site.store.transact((trx) =>
		decideConversion(trx, site.deps, conversion, { move: "approve", decidedBy: "shop" }),
	);
	await runCallbacks(site, await receiverOf(shop), { kind: "answered", status: 404 });
	const { text } = await browser.open(`${base}/links`);
	assert.match(text, /Callbacks are failing/);
	assert.match(text, /Callbacks<span class="badge badge-bad">1<span class="visually-hidden"> failed/);
	assert.match(text, new RegExp(`href="${base}/callbacks\\?state=failed#deliveries"`));
	const callbacks = (await browser.open(`${base}/callbacks`)).text;
	assert.equal(callbacks.match(/aria-label="Callbacks are failing"/g)?.length, 1, "the page has it once");

	const person = await site.addStaff();
	const staff = await site.signIn(person);
	assert.match((await staff.open("/system")).text, /Callbacks to 1 partner are failing\./);
	const partners = (await staff.open("/partners")).text;
	assert.match(partners, /Partners whose callbacks are failing/);
	assert.match(partners, new RegExp(`href="${base}/callbacks\\?state=failed#deliveries">1<`));
	await site.tellChanges();
	const mail = site.mailbox.find(({ to }) => to === person.email);
	assert.equal(mail?.subject, "Callbacks to 1 partner are failing");
	assert.ok(mail.text.includes(`${site.deps.publicUrl}${base}/callbacks`), mail.text);
});
