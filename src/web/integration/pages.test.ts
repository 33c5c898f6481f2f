// The integration pages of a shop in which something has happened: what strangers write becomes no markup there, what
// is another shop's stays unknown, and what changes is pushed.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type FilledShop, openFilledShop } from "../filled-shop.test-support.ts";
import { MAX_STREAMS_A_PERSON } from "../live-page.ts";

const FIELDS = { method: "POST", target: "/", headers: "", body: "", secret: "" };

test("under the owner's own programme, another shop's key, test and delivery are as unknown as none", async (t) => {
	const { site, ids } = await openFilledShop(t);
	const own = await site.addProgramme("Own");
	const browser = await site.signIn(await site.addOwner(own));
	const path = `/programmes/${own.public_id}`;
	await browser.open(`${path}/integration`);
	const rows = () =>
		Promise.all([
			site.store.db.selectFrom("api_keys").selectAll().execute(),
			site.store.db.selectFrom("conversions").selectAll().execute(),
			site.store.db.selectFrom("deliveries").selectAll().execute(),
		]);
	const before = JSON.stringify(await rows());
	const unknown = await browser.open(`${path}/deliveries/dlv_00000000000000000000000000`);
	const theirs = await browser.open(`${path}/deliveries/${ids.deliveryId}`);
	assert.deepEqual([theirs.status, theirs.text], [404, unknown.text]);
	assert.equal((await browser.submit(`${path}/deliveries/${ids.deliveryId}/resend`, {})).status, 404);
	await browser.submit(`${path}/integration/keys/${ids.keyId}/revoke`, {});
	await browser.submit(`${path}/integration/test/${ids.conversionId}`, { decision: "approve" });
	const filled = await browser.open(`${path}/integration/signature?delivery=${ids.deliveryId}&attempt=1`);
	assert.ok(!filled.text.includes("X-Service-Signature:"));
	assert.equal(JSON.stringify(await rows()), before);
});

test("markup in names, orders, URLs, errors and calls is shown as text; no page has inline script or style", async (t) => {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
	const { site, programme, owner, ids } = await openFilledShop(t, { name: evil, order: evil });
	const browser = await site.signIn(owner);
	const shown = [
		...["integration", "integration/keys", "integration/inbound", "integration/signature"],
		`deliveries/${ids.deliveryId}`,
		`integration?order=${encodeURIComponent(evil)}`,
		`integration/inbound?order=${encodeURIComponent(evil)}`,
		`integration/inbound?order=${encodeURIComponent(`${evil}?`)}`,
		`integration/keys?lang=${encodeURIComponent(evil)}`,
		`integration?after=${encodeURIComponent(evil)}&state=${encodeURIComponent(evil)}`,
	];
	let times = 0;
	for (const page of shown) {
		const { status, text, headers } = await browser.open(`/programmes/${programme.public_id}/${page}`);
		assert.equal(status, page.includes("&state=") ? 422 : 200, page);
		assert.doesNotMatch(text, /<script(?![^>]* src=)|<img|<style|\sstyle=/i, page);
		assert.match(headers.get("content-security-policy") ?? "", /script-src 'self'/, page);
		assert.ok(!text.includes(evil.slice(0, 12)), page);
		times += text.split("&lt;script&gt;").length - 1;
	}
	assert.ok(times > 10, "it is there, as text");
	const refused = await browser.submit(`/programmes/${programme.public_id}/integration/postback-url`, {
		postbackUrl: evil,
	});
	assert.doesNotMatch(refused.text, /<script(?![^>]* src=)|<img/);
	const fields = { ...FIELDS, method: evil, target: evil, headers: evil, body: evil };
	const checked = await browser.submit(`/programmes/${programme.public_id}/integration/signature`, fields);
	assert.doesNotMatch(checked.text, /<script(?![^>]* src=)|<img/);
});

test("a live page is pushed its parts over a stream, to those who may see it", async (t) => {
	const { site, programme, owner, ids, timers, stop } = await openWatchedShop(t);
	const browser = await site.signIn(owner);
	const stopping = browser.open(`/programmes/${programme.public_id}/integration/live?seen=old`);
	// The first look, and then the service stops.
	while (timers.length === 0) await site.deps.clock.yieldLoop();
	timers.shift()?.();
	while (timers.length === 0) await site.deps.clock.yieldLoop();
	stop();
	const { status, text, headers } = await stopping;
	assert.deepEqual([status, headers.get("content-type")], [200, "text/event-stream; charset=utf-8"]);
	for (const part of [
		"checks-live",
		"waiting-live",
		"test-live",
		"deliveries-live",
		"health-live",
		"health-chart-live",
	]) {
		assert.ok(text.includes(`<hx-partial hx-target="#${part}"`), part);
	}
	assert.ok(text.includes(ids.deliveryId));
	assert.ok(
		text.split("\n").every((line) => /^(data:|id: |event: |: |$)/.test(line)),
		"nothing but event lines",
	);
});

test("asking for a stream's headers alone opens none, so that it takes nobody's slot", async (t) => {
	const { site, programme, owner, timers, stop } = await openWatchedShop(t);
	const browser = await site.signIn(owner);
	const live = `/programmes/${programme.public_id}/integration/live`;
	for (let asked = 0; asked < MAX_STREAMS_A_PERSON; asked += 1) {
		assert.equal((await browser.send(live, { method: "HEAD" })).status, 405);
	}
	assert.equal(timers.length, 0);
	const watching = browser.open(live);
	while (timers.length === 0) await site.deps.clock.yieldLoop();
	stop();
	assert.equal((await watching).status, 200);
});

/** With a clock in the test's hand, and a service that can be stopped. */
async function openWatchedShop(
	t: TestContext,
): Promise<FilledShop & { timers: (() => void)[]; stop(): void }> {
	const stopping = new AbortController();
	const timers: (() => void)[] = [];
	const shop = await openFilledShop(t, { change: { stopSignal: stopping.signal } });
	const { clock } = shop.site.deps;
	clock.yieldLoop = () => new Promise((resolve) => setImmediate(resolve));
	clock.after = (_, run) => {
		timers.push(run);
		return () => undefined;
	};
	return { ...shop, timers, stop: () => stopping.abort() };
}
