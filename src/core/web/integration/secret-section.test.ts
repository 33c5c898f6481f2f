// Tests the replacement of the signing secret. After each step the tests ask the API which secrets it
// accepts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../../domain/time.ts";
import type { Browser, TestSite } from "../test-site.test-support.ts";
import { runCallbacks } from "./callback-run.test-support.ts";
import { issue, openShop, report, SECRET } from "./integration-shop.test-support.ts";

test("a prepared secret is shown once, both secrets are accepted, and the page shows the next step", async (t) => {
	const shop = await openShop(t);
	const { key, secret } = await issue(shop.browser, shop.path);
	const prepared = await prepare(shop.browser, shop.keys);
	assert.ok(prepared.secret !== "" && prepared.secret !== secret);
	assert.match(prepared.text, /prepared, not active/);
	assert.match(prepared.text, /Let your receiver accept both secrets/);
	const again = (await shop.browser.open(shop.keys)).text;
	assert.doesNotMatch(again, SECRET);
	assert.ok(
		again.includes(`rbs_…${secret.slice(-4)}`) && again.includes(`rbs_…${prepared.secret.slice(-4)}`),
	);
	assert.doesNotMatch(again, /Prepare new secret/);
	for (const used of [secret, prepared.secret]) {
		assert.equal((await report(shop.site, { key, secret: used }, used)).status, 201);
	}
	// A second click prepares no further secret, so the secret that was shown first stays valid.
	await shop.browser.submit(`${shop.keys}/secret`, {});
	assert.match((await shop.browser.open(shop.keys)).text, /A new secret is prepared already/);
	assert.equal((await report(shop.site, { key, secret: prepared.secret }, "again")).status, 201);
});

test("after the activation the old secret is accepted for 24 hours, or until it is ended", async (t) => {
	const shop = await openShop(t);
	const { key, secret } = await issue(shop.browser, shop.path);
	const prepared = await prepare(shop.browser, shop.keys);
	const activated = await shop.browser.submit(`${shop.keys}/secret/activate`, {
		secretId: prepared.secretId,
	});
	assert.equal(activated.status, 303);
	const page = (await shop.browser.open(shop.keys)).text;
	assert.match(page, /callbacks are signed with it/);
	assert.match(page, /Replaced/);
	shop.site.moveClock(23 * HOUR_MS);
	assert.equal((await report(shop.site, { key, secret }, "1")).status, 201);
	await shop.browser.submit(`${shop.keys}/secret/end`, {});
	assert.match((await shop.browser.open(shop.keys)).text, /The old secret has ended/);
	assert.equal((await report(shop.site, { key, secret }, "2")).status, 401);
	assert.equal((await report(shop.site, { key, secret: prepared.secret }, "3")).status, 201);
	assert.doesNotMatch((await shop.browser.open(shop.keys)).text, /End it now/);
	assert.deepEqual(await audited(shop.site), ["secret.prepared", "secret.activated", "secret.ended"]);
});

test("the receiver's step is done when it accepts a callback with the new secret, not by a click", async (t) => {
	const shop = await openShop(t);
	const { site, browser, programme, keys, path } = shop;
	await issue(browser, path);
	await browser.submit(`${path}/postback-url`, { postbackUrl: "https://shop.example/postback" });
	const sendTest = async (status: number) => {
		await browser.submit(`${path}/test`, {});
		await runCallbacks(site, programme, { kind: "answered", status });
	};
	const done = async () => {
		const { text } = await browser.open(keys);
		return [...text.matchAll(/<li><strong>([^<]+)<\/strong> <span class="badge badge-good">Done</g)].map(
			([, title]) => title,
		);
	};
	await sendTest(204);
	assert.deepEqual(await done(), []);
	const { secretId } = await prepare(browser, keys);
	assert.deepEqual(await done(), ["Prepare"]);
	await browser.submit(`${keys}/secret/activate`, { secretId });
	assert.deepEqual(await done(), ["Prepare", "Activate"]);
	site.moveClock(10_000);
	await sendTest(401);
	assert.deepEqual(await done(), ["Prepare", "Activate"]);
	assert.match(
		(await browser.open(keys)).text,
		/No callback signed with the new secret was answered 2xx yet/,
	);
	await sendTest(204);
	assert.deepEqual(await done(), ["Prepare", "Add it to your receiver", "Activate"]);
});

test("a discarded secret is refused at once and cannot be activated any more", async (t) => {
	const shop = await openShop(t);
	const { key, secret } = await issue(shop.browser, shop.path);
	const prepared = await prepare(shop.browser, shop.keys);
	await shop.browser.submit(`${shop.keys}/secret/discard`, { secretId: prepared.secretId });
	assert.equal((await report(shop.site, { key, secret: prepared.secret }, "1")).status, 401);
	await shop.browser.submit(`${shop.keys}/secret/activate`, { secretId: prepared.secretId });
	assert.match((await shop.browser.open(shop.keys)).text, /no longer prepared/);
	assert.equal((await report(shop.site, { key, secret }, "2")).status, 201);
	assert.deepEqual(await audited(shop.site), ["secret.prepared", "secret.discarded"]);
});

async function prepare(browser: Browser, path: string) {
	const { text } = await browser.submit(`${path}/secret`, {});
	return {
		text,
		secret: SECRET.exec(text)?.[0] ?? "",
		secretId: /value="(sec_\w+)"/.exec(text)?.[1] ?? "",
	};
}

async function audited({ store }: TestSite): Promise<string[]> {
	const rows = await store.db
		.selectFrom("audit_entries")
		.select(["action", "person_id"])
		.orderBy("id")
		.execute();
	const ofSecrets = rows.filter(({ action }) => action.startsWith("secret."));
	assert.ok(ofSecrets.every(({ person_id }) => person_id !== null));
	return ofSecrets.map(({ action }) => action);
}
