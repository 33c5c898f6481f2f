// Tests that the integration page shows the right next step in each state of the set-up.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseEnv } from "node:util";
import type { LocalAnswer } from "../../domain/local-answer.ts";
import { insertLocalAnswers, storeListener, storeListenerEnd } from "../../store/queries/local-answers.ts";
import { downloadUrl } from "../downloads.ts";
import { runCallbacks } from "./callback-run.test-support.ts";
import { issue, KEY, openShop, report, SECRET, URL_ENTERED } from "./integration-shop.test-support.ts";

test("only the button of the next step is highlighted", async (t) => {
	const { browser, path } = await openShop(t);
	const standsOut = async () => {
		const { text } = await browser.open(path);
		return [...text.matchAll(/button-primary"[^>]*>([^<]+)</g)].map((match) => match[1]);
	};
	assert.deepEqual(await standsOut(), ["Issue API key"]);
	await issue(browser, path);
	assert.deepEqual(await standsOut(), ["Save"]);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	assert.deepEqual(await standsOut(), ["Send test conversion"]);
	await browser.submit(`${path}/test`, {});
	assert.deepEqual(await standsOut(), ["Approve"]);
});

test("without a Postback URL the page shows the command to listen, with this network's address and brand", async (t) => {
	for (const [brand, brandSetting] of [
		["Service", false],
		["Acme", true],
	] as const) {
		const { browser, path, site } = await openShop(t, {}, brand);
		await issue(browser, path);
		const { publicUrl } = site.deps;
		const command = [
			`RINGBACK_URL=${publicUrl}`,
			...(brandSetting ? ["RINGBACK_BRAND=Acme"] : []),
			"RINGBACK_API_KEY=rbk_…",
			"RINGBACK_SIGNING_SECRET=rbs_…",
			`npx --yes -p ${downloadUrl(publicUrl)} ringback listen`,
		].join(" \\\n");
		const before = await browser.open(path);
		assert.ok(before.text.includes(`<code>${command}</code>`));
		assert.ok(before.text.includes('href="/docs/quick-start"'));
		assert.match(before.text, /No callback can be sent yet\. Paste the command/);
		assert.doesNotMatch(before.text, /something to watch/);
		assert.doesNotMatch(before.text, /<summary>Listen on your own/, "plain to see while there is none");
		await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
		const after = await browser.open(path);
		assert.match(after.text, /<summary>Listen on your own machine<\/summary>/, "out of the way");
		assert.ok(after.text.includes(command));
		assert.doesNotMatch(after.text, /No callback would be sent yet/);
	}
});

test("the first key is shown with a command and lines for .env that contain it, also if the service runs on the developer's machine", async (t) => {
	for (const publicUrl of ["https://ringback.example", "http://127.0.0.1:8080"]) {
		const { browser, path } = await openShop(t, { publicUrl });
		await browser.open(path);
		const { text } = await browser.submit(path, {});
		const [, line = ""] = /aria-label="the command"><code>([^<]*)</.exec(text) ?? [];
		const key = KEY.exec(text)?.[0];
		const secret = SECRET.exec(text)?.[0];
		assert.deepEqual(line.split(" \\\n"), [
			`RINGBACK_URL=${publicUrl}`,
			`RINGBACK_API_KEY=${key}`,
			`RINGBACK_SIGNING_SECRET=${secret}`,
			`npx --yes -p ${downloadUrl(publicUrl)} ringback listen`,
		]);
		assert.equal(text.split('aria-label="the command"').length, 2, "once on the page");
		const [, file = ""] = /aria-label="the lines for \.env"><code>([^<]*)</.exec(text) ?? [];
		assert.deepEqual(
			{ ...parseEnv(file) },
			{
				RINGBACK_URL: publicUrl,
				RINGBACK_BRAND: "Service",
				RINGBACK_API_KEY: key,
				RINGBACK_SIGNING_SECRET: secret,
			},
		);
		assert.doesNotMatch((await browser.open(path)).text, new RegExp(`${key}|${secret}`));
	}
});

test("the result of `listen` is shown with the test, and does not count as a working Postback URL", async (t) => {
	const { browser, path, site, programme } = await openShop(t);
	const { db } = site.store;
	await issue(browser, path);
	assert.match((await browser.open(path)).text, /id="listening-live"[^>]*>Not connected\./);
	await storeListener(db, programme.receiver_id, site.deps.clock.nowMs());
	const connected = await browser.open(path);
	assert.match(connected.text, /id="listening-live"[^>]*><span[^>]*>Connected</);
	assert.match(connected.text, /button-primary"[^>]*>Send test conversion</);
	await browser.submit(`${path}/test`, {});
	const sent = await browser.open(path);
	assert.match(sent.text, /Test conversion test-\w+ is recorded\.<\/div>/, "and nothing that will be untrue");
	assert.match(sent.text, /On its way.*If nothing comes, send a new test conversion/s);
	assert.doesNotMatch(sent.text, /No callback was sent for it/);
	await storeListenerEnd(db, programme.receiver_id, site.deps.clock.nowMs());
	assert.match((await browser.open(path)).text, /id="listening-live"[^>]*>Not connected\./, "at once");
	await storeListener(db, programme.receiver_id, site.deps.clock.nowMs());
	const { public_id: conversionId } = await db
		.selectFrom("conversions")
		.selectAll()
		.executeTakeFirstOrThrow();
	const tell = async (answer: LocalAnswer) => {
		const reported = { ...answer, conversionId, event: "conversion.recorded" } as const;
		await insertLocalAnswers(db, programme.receiver_id, [reported], site.deps.clock.nowMs());
		const { text } = await browser.open(path);
		return text
			.slice(text.indexOf("<main"))
			.replace(/<[^>]+>/g, " ")
			.replace(/\s+/g, " ");
	};
	const nothing = { httpStatus: null, code: null, tookMs: null };
	const refused = await tell({ ...nothing, outcome: "no_connection", code: "ECONNREFUSED" });
	assert.match(refused, /No connection listen found no receiver at its --to address\. \(ECONNREFUSED\)/);
	assert.match(refused, /Callback answered 2xx : to do/);
	assert.doesNotMatch(refused, /No callback was sent for it/);
	const failed = await tell({ ...nothing, outcome: "answered", httpStatus: 401 });
	assert.match(failed, /Answered 401 Answered by your machine, through listen \./);
	assert.match(failed, /Callback answered 2xx : to do/);
	const verified = await tell({ ...nothing, outcome: "verified" });
	assert.match(verified, /Signature valid Checked on your machine by listen , with your secret\./);
	assert.match(
		verified,
		/Callback verified : done On a developer's machine, through listen \. Next, for your real server: save a Postback URL \./,
	);
	const answered = await tell({ ...nothing, outcome: "answered", httpStatus: 204, tookMs: 12 });
	assert.match(answered, /Answered 204 Answered by your machine, through listen \. 12 ms\./);
	assert.match(answered, /Callback answered 2xx : done On a developer's machine, through listen \./);
	for (const worse of [
		{ ...nothing, outcome: "answered", httpStatus: 500 },
		{ ...nothing, outcome: "not_verified" },
		{ ...nothing, outcome: "timeout" },
	] as const) {
		assert.match(await tell(worse), /Callback answered 2xx : to do/, "it worked once, and fails now");
	}
	assert.match(await tell({ ...nothing, outcome: "verified" }), /Callback verified : done/);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	const saved = (await browser.open(path)).text.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
	assert.match(saved, /Callback answered 2xx : to do/, "the saved URL has not answered");
});

test("a viewer is never asked to do something that the role does not allow", async (t) => {
	const { browser, path, site, programme } = await openShop(t);
	const viewer = await site.signIn(await site.addPerson(programme, "viewer"));
	const look = async () => {
		const { text } = await viewer.open(path);
		const main = text.slice(text.indexOf("<main"), text.indexOf("</main>"));
		assert.doesNotMatch(
			main.replace(/<[^>]+>/g, " "),
			/Issue an API key|Save a |save one|If you (save|remove)|after saving|Send a test|Send one|ready snippet|place the|your own machine/,
		);
		assert.doesNotMatch(main, /href="#(keys|callback|test)"/);
		return main;
	};
	assert.match(await look(), /Not yet\.[\s\S]*Nothing is sent yet, because there is no signing secret\./);
	await issue(browser, path);
	assert.match(await look(), /Pending callbacks: 0\.[\s\S]*Owners and developers can send one\./);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	assert.match(await look(), /Callbacks appear here as they are sent\./);
	await browser.submit(`${path}/test`, {});
	assert.match(await look(), /Pending callbacks: 1\./);
});

test("an invalid filter is explained at its field, and nothing is listed", async (t) => {
	const { browser, path, site, programme } = await openShop(t);
	const credentials = await issue(browser, path);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	await report(site, credentials, "1001");
	await runCallbacks(site, programme, { kind: "answered", status: 204 });
	for (const [query, field] of [
		["state=BOGUS", "delivery-state"],
		["event=conversion.lost", "delivery-event"],
		[`order=${"x".repeat(129)}`, "delivery-order"],
	] as const) {
		const { status, text } = await browser.open(`${path}?${query}`);
		assert.equal(status, 422, query);
		assert.match(text, new RegExp(`id="${field}"[^>]*aria-invalid="true"`), query);
		assert.match(text, new RegExp(`id="${field}-error"`), query);
		assert.match(text, /This filter is not understood/);
		assert.doesNotMatch(text.slice(text.indexOf('id="deliveries-live"')), /deliveries\/dlv_/, query);
		assert.ok(!text.includes("refresher"), "nothing to be live");
	}
	for (const [query, field] of [
		["kind=carrier-pigeon", "kind"],
		["result=maybe", "result"],
		[`order=${"x".repeat(129)}`, "order"],
		["order=%E2%80%8B1001", "order"],
	] as const) {
		const { status, text } = await browser.open(`${path}/inbound?${query}`);
		assert.equal(status, 422, query);
		assert.match(text, new RegExp(`id="${field}-error"`), query);
		assert.doesNotMatch(text, /<td/, query);
	}
	// Spaces around a pasted id are ignored.
	for (const order of ["1001", "+1001", "1001%C2%A0"]) {
		assert.match((await browser.open(`${path}/inbound?order=${order}`)).text, /<td/, order);
	}
});
