// Tests the integration pages of a shop with data. Markup is escaped, programmes are separated, and live
// parts are reloaded.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMITS, testUseOf, useLimits } from "../../people/limits.ts";
import { openFilledShop } from "../filled-shop.test-support.ts";

const FIELDS = { method: "POST", target: "/", headers: "", body: "", secret: "" };

test("an owner cannot reach another programme's key, test or callback below the address of their own programme", async (t) => {
	const { site, ids } = await openFilledShop(t);
	const ownProgramme = await site.addProgramme("Own");
	const browser = await site.signIn(await site.addOwner(ownProgramme));
	const path = `/programmes/${ownProgramme.public_id}`;
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
	const seen = { delivery: `${ids.deliveryId}.1.1` };
	await browser.submit(`${path}/deliveries/${ids.deliveryId}/resend`, seen);
	await browser.submit(`${path}/integration/keys/${ids.keyId}/revoke`, {});
	await browser.submit(`${path}/integration/test/${ids.conversionId}`, { decision: "approve" });
	const filled = await browser.open(`${path}/integration/signature?delivery=${ids.deliveryId}&attempt=1`);
	assert.ok(!filled.text.includes("X-Service-Signature:"));
	assert.equal(JSON.stringify(await rows()), before);
});

test("markup in names, orders, URLs, errors and calls is shown as text, and no page has inline script or style", async (t) => {
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
		`integration?cursor=${encodeURIComponent(evil)}&state=${encodeURIComponent(evil)}`,
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

test("a reload is answered with 304 until something changes, and then with every live part", async (t) => {
	const { site, programme, owner } = await openFilledShop(t);
	const browser = await site.signIn(owner);
	const path = `/programmes/${programme.public_id}/integration`;
	const { text } = await browser.open(path);
	const headersIn = (page: string) =>
		JSON.parse(/hx-headers="([^"]*)"/.exec(page)?.[1]?.replaceAll("&quot;", '"') ?? "") as Record<
			string,
			string
		>;
	const again = (page: string) => browser.send(path, { headers: headersIn(page) });
	const same = await again(text);
	assert.deepEqual([same.status, same.text], [304, ""]);
	await browser.submit(`${path}/test`, {});
	const changed = await again(text);
	assert.equal(changed.status, 200);
	for (const [, part = ""] of text.matchAll(/#([\w-]+):outerMorph/g)) {
		assert.ok(part === "listening-live" || changed.text.includes(`id="${part}"`), part);
	}
	assert.doesNotMatch(
		changed.text,
		/is recorded\.<\/div>/,
		"a message is left to the page that it is meant for",
	);
	assert.match((await browser.open(path)).text, /Test conversion test-\w+ is recorded\.<\/div>/);
	assert.equal((await again(changed.text)).status, 304);
});

test("a shop sends at most 60 test conversions in ten minutes, and further ones are refused with the time", async (t) => {
	const { site, programme, owner } = await openFilledShop(t);
	const browser = await site.signIn(owner);
	const path = `/programmes/${programme.public_id}/integration`;
	const uses = [testUseOf(programme.public_id)];
	for (let used = 0; used < LIMITS.tests.max; used++) {
		assert.equal(await useLimits(site.store.db, uses, site.deps.clock.nowMs()), null);
	}
	await browser.submit(`${path}/test`, {});
	assert.match(
		(await browser.open(path)).text,
		/60 tests were sent within ten minutes\. Send the next one in/,
	);
	assert.deepEqual(await site.audit("conversion.test_sent"), []);
});
