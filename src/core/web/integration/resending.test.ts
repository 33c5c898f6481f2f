// Tests sending callbacks again, or at once, from the list and from the page of a callback.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { addPending } from "../../../../test/support/pending-rows.ts";
import { failDeliveries } from "../../../../test/support/undelivered.ts";
import { runCallbacks } from "./callback-run.test-support.ts";
import { issue, openShop, report, type Shop, URL_ENTERED } from "./integration-shop.test-support.ts";

const REFUSED = { kind: "answered", status: 404 } as const;
const DOWN = { kind: "answered", status: 503 } as const;
const FINE = { kind: "answered", status: 204 } as const;

test("one button resends all failed callbacks, says how many there are, and disappears when none is left", async (t) => {
	const shop = await openSending(t, 3, REFUSED);
	const { browser, path } = shop;
	assert.match(await listOf(shop), />Resend 3 failed</);
	assert.match(await listOf(shop, "?state=failed"), />Resend 3 failed</, "where the notice leads");
	const sent = await browser.submit(`${path}/resend-failed?state=failed`, {});
	assert.equal(sent.location, `${path}?state=failed#deliveries`);
	assert.match(await listOf(shop, "?state=failed"), /section-message[\s\S]*3 callbacks are being sent again/);
	assert.equal((await runCallbacks(shop.site, shop.programme, FINE)).length, 3);
	assert.doesNotMatch(await listOf(shop), /Resend \d+ failed/);
	await browser.submit(`${path}/resend-failed`, {});
	assert.match(await listOf(shop), /Nothing has failed, so nothing was sent/);
});

test("of the selected callbacks, finished ones are sent again, waiting ones are sent at once, and the rest is reported as skipped", async (t) => {
	const shop = await openSending(t, 2, REFUSED);
	const { browser, path, site, programme } = shop;
	await browser.submit(`${path}/test`, {});
	await runCallbacks(site, programme, DOWN);
	site.moveClock(1_000);
	const boxes = ticks(await listOf(shop));
	assert.equal(boxes.length, 3);
	const press = (ticked: readonly string[]) =>
		browser.submitForm(
			`${path}/resend?state=&order=`,
			new URLSearchParams(ticked.map((box) => ["delivery", box])),
		);
	assert.equal((await press([])).location, `${path}#deliveries`);
	assert.match(await listOf(shop), /Nothing is selected/);
	await press(["dlv_unknown.1.1", "nonsense", ...boxes]);
	const section = await listOf(shop);
	assert.match(
		section,
		/2 callbacks are being sent again\. 1 waiting callback is being sent now\. 1 callback was skipped/,
	);
	await press(boxes);
	assert.match(await listOf(shop), /3 callbacks were skipped/, "nobody sends it twice");
	assert.equal((await runCallbacks(site, programme, FINE)).length, 3);
	await browser.submit(`${path}/postback-url/remove`, {});
	const removed = await listOf(shop);
	assert.doesNotMatch(removed, /Resend|name="delivery"/, "nowhere to send to");
});

test("a waiting callback is sent once from its own page, which shows the result", async (t) => {
	const shop = await openSending(t, 1, DOWN);
	const { browser, site, programme, path } = shop;
	const delivery = /\/programmes\/\w+\/deliveries\/dlv_\w+/.exec(await listOf(shop))?.[0] ?? "";
	const page = (await browser.open(delivery)).text;
	assert.match(page, /button-primary"[^>]*>Send now</);
	assert.doesNotMatch(page, />Resend</);
	const press = async (seq: number) => {
		await browser.submit(`${delivery}/resend`, { delivery: `${/dlv_\w+/.exec(delivery)}.1.${seq}` });
		return (await browser.open(delivery)).text;
	};
	const pressed = await press(1);
	assert.match(pressed, /1 waiting callback is being sent now\./);
	assert.doesNotMatch(pressed, />Send now</, "it is due");
	assert.match(await press(1), /1 callback was skipped\. .* being sent right now/);
	assert.equal((await runCallbacks(site, programme, DOWN)).length, 1);
	site.moveClock(1_000);
	assert.match(await press(1), /1 callback was skipped\. .* sent since you opened the page/);
	const waiting = await listOf(shop, "?state=pending");
	assert.match(waiting, />Send 1 waiting now</);
	const all = await browser.submit(`${path}/send-waiting?state=pending`, {});
	assert.equal(all.location, `${path}?state=pending#deliveries`);
	assert.match(await listOf(shop, "?state=pending"), /1 callback is being sent now/);
	assert.equal((await runCallbacks(site, programme, FINE)).length, 1);
	assert.match(await press(2), /1 callback was skipped/, "it has finished since");
	await browser.submit(`${path}/send-waiting`, {});
	assert.match(await listOf(shop), /No callback is waiting for a later attempt/);
	assert.deepEqual(await audited(shop), ["delivery.sent_now", "deliveries.sent_now"]);
});

test("removing the URL says how many callbacks were cancelled, and that some of very many may still show as pending", async (t) => {
	const { browser, path, site, programme } = await openSending(t, 1, DOWN);
	const remove = async () => {
		await browser.submit(`${path}/postback-url/remove`, {});
		return (await browser.open(path)).text;
	};
	assert.match(await remove(), /Nothing more is sent\. Pending callbacks cancelled: 1\.</);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	await addPending(site.store, programme, 1_000);
	assert.match(await remove(), /Pending callbacks cancelled: 1,000\+\.</);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	await addPending(site.store, programme, 4_000);
	const dueAtMs = site.deps.clock.nowMs() + 60_000;
	await site.store.db.updateTable("queue").set({ due_at_ms: dueAtMs }).execute();
	slowDown(site);
	assert.match(await remove(), /Pending callbacks cancelled: 1,000\+\. Some may show as pending until/);
});

test("a form handles part of a very long list and says how many callbacks are left", async (t) => {
	const shop = await openSending(t, 0, FINE);
	const { browser, path, site, programme } = shop;
	await addPending(site.store, programme, 4_000);
	const dueAtMs = site.deps.clock.nowMs() + 60_000;
	await site.store.db.updateTable("queue").set({ due_at_ms: dueAtMs }).execute();
	slowDown(site);
	const press = async (form: string) => {
		const { location = "" } = await browser.submit(form, {});
		return (await browser.open(location ?? "")).text;
	};
	const sent = await press(`${path}/send-waiting`);
	assert.match(
		sent,
		/2,500 callbacks are being sent now\. 1,500 callbacks are left: press the button again\./,
	);
	assert.match(await press(`${path}/send-waiting`), /1,500 callbacks are being sent now\.</);
	const fail = () => site.store.transact((trx) => failDeliveries(trx, 1));
	await fail();
	const resent = await press(`${path}/resend-failed`);
	assert.match(
		resent,
		/2,500 callbacks are being sent again\. 1,500 callbacks are left: press the button again\./,
	);
	assert.match(await press(`${path}/resend-failed`), /1,500 callbacks are being sent again\.</);
	await fail();
	const aside = async () => {
		const overview = path.replace("integration", "overview");
		await browser.submit(`${overview}/set-aside`, { until: String(site.deps.clock.nowMs()) });
		return (await browser.open(overview)).text;
	};
	assert.match(
		await aside(),
		/2,500 callbacks are set aside.* 1,500 callbacks are left: press the button again\./,
	);
	assert.match(await aside(), /1,500 callbacks are set aside/);
	await fail();
	const staff = await site.signIn(await site.addStaff());
	const span = { from: "1970-01-01T00:00", to: "", programme: "", zone: "UTC" };
	const { location } = await staff.submit("/system/resend", {
		...span,
		asOfMs: String(site.deps.clock.nowMs()),
	});
	assert.match(
		(await staff.open(location ?? "")).text,
		/2,500 callbacks are being sent again\. 1,500 callbacks are left: press the button again\.[\s\S]*Send 1,500 callbacks of 1 receiver again/,
	);
});

/** Makes each batch take one second, so that a form runs out of time before it has handled a long list. */
function slowDown({ deps, moveClock }: Shop["site"]): void {
	deps.clock.yieldLoop = async () => moveClock(1_000);
}

test("the list has the same filters after every form, and after a callback was opened and left again", async (t) => {
	const shop = await openSending(t, 1, REFUSED);
	const { browser, path } = shop;
	const filtered = await listOf(shop, "?state=failed&event=conversion.recorded");
	const filterQuery = "?state=failed&amp;event=conversion.recorded";
	assert.ok(filtered.includes(`action="${path}/resend${filterQuery}"`));
	const link = /href="([^"]*deliveries\/dlv_[^"]*)"/.exec(filtered)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const page = (await browser.open(link)).text;
	assert.ok(page.includes(`href="${path}${filterQuery}#deliveries"`), "back to the list");
	const back = "?state=failed&event=conversion.recorded";
	const resent = await browser.submit(link.replace("?", "/resend?"), {});
	assert.equal(resent.location, link);
	for (const [form, part, fields] of [
		["test", "test", {}],
		["postback-url", "callback", { postbackUrl: URL_ENTERED }],
		["postback-url/remove", "callback", {}],
		["test/cnv_x", "test", { decision: "approve" }],
		["resend", "deliveries", {}],
		["resend-failed", "deliveries", {}],
		["send-waiting", "deliveries", {}],
	] as const) {
		const { location } = await browser.submit(`${path}/${form}${back}`, fields);
		assert.equal(location, `${path}${back}#${part}`, form);
		const { text } = await browser.open(location ?? "");
		const section =
			new RegExp(`<section class="card" id="${part}"[\\s\\S]*?</section>`).exec(text)?.[0] ?? "";
		assert.match(
			section,
			/section-message"><div class="message/,
			`the result of ${form} is shown in its section`,
		);
		assert.equal(text.match(/class="message message-\w+" role="(?:status|alert)"/g)?.length, 1, form);
	}
	const refused = await browser.submit(`${path}/postback-url${back}`, { postbackUrl: "http://x" });
	assert.match(refused.text, /<option value="failed" selected>/);
});

async function openSending(
	t: TestContext,
	sales: number,
	outcome: Parameters<typeof runCallbacks>[2],
): Promise<Shop> {
	const shop = await openShop(t);
	const { browser, path, site, programme } = shop;
	const credentials = await issue(browser, path);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	for (let n = 0; n < sales; n++) await report(site, credentials, `A-${n}`);
	await browser.open(path);
	await runCallbacks(site, programme, outcome);
	site.moveClock(1_000);
	return shop;
}

/** Returns the section with the list of callbacks, including the message of the last form. */
async function listOf({ browser, path }: Shop, query = ""): Promise<string> {
	const { text } = await browser.open(`${path}${query}`);
	return /<section class="card" id="deliveries"[\s\S]*?<\/section>/.exec(text)?.[0] ?? "";
}

function ticks(list: string): string[] {
	return [...list.matchAll(/name="delivery" value="([^"]+)"/g)].map(([, value = ""]) => value);
}

async function audited({ site }: Shop): Promise<string[]> {
	const rows = site.store.db.selectFrom("audit_entries").select("action").orderBy("id");
	const actions = (await rows.execute()).map(({ action }) => action);
	return actions.filter((action) => action.includes("sent_now"));
}
