// Tests the integration pages from the first key to the first callback. The tests send plain forms, as a
// browser without scripts does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { verifyPostback } from "@ringback/receiver";
import { signedRequest } from "../../../../test/support/signed-request.ts";
import { COMMAND_LINE } from "../../people/actor.ts";
import { savePostbackUrl } from "../../programmes/postback-url.ts";
import type { Browser, TestSite } from "../test-site.test-support.ts";
import { runCallbacks } from "./callback-run.test-support.ts";
import { issue, KEY, openShop, report, SECRET, URL_ENTERED } from "./integration-shop.test-support.ts";

test("the first key comes with the secret, both are shown once, and a second key comes without a secret", async (t) => {
	const { browser, path, keys, site } = await openShop(t);
	await browser.open(path);
	const shown = await browser.submit(keys, {});
	assert.equal(shown.status, 200);
	const [key, secret] = [KEY.exec(shown.text)?.[0] ?? "", SECRET.exec(shown.text)?.[0] ?? ""];
	assert.ok(key !== "" && secret !== "");
	assert.equal(shown.headers.get("cache-control"), "no-store");
	assert.doesNotMatch([...shown.headers].join(), /rb[ks]_/, "in no cookie and no address");
	const reloaded = await browser.open(keys);
	assert.doesNotMatch(reloaded.text, KEY);
	assert.doesNotMatch(reloaded.text, SECRET);
	assert.ok(reloaded.text.includes(`rbk_…${key.slice(-4)}`));
	const second = await browser.submit(keys, {});
	assert.match(second.text, KEY);
	assert.doesNotMatch(second.text, SECRET);
	await expectNowhere(site, browser, path, [key, secret], [reloaded]);
});

test("sending the form of the first key again issues no second key and says what to do", async (t) => {
	const { browser, path, keys } = await openShop(t);
	await browser.open(path);
	assert.match((await browser.submit(path, {})).text, KEY);
	const again = await browser.submit(path, {});
	assert.deepEqual([again.status, again.location], [303, keys]);
	assert.match((await browser.open(keys)).text, /A key was already issued/);
});

test("the snippet that keeps click IDs is shown as soon as there is a landing host, before sales are credited", async (t) => {
	const { browser, keys, site, programme } = await openShop(t);
	assert.doesNotMatch((await browser.open(keys)).text, /id="partner-links"/);
	const host = { programme_id: programme.id, host: "shop.example", with_subdomains: 0 } as const;
	await site.store.db.insertInto("landing_hosts").values(host).execute();
	assert.match((await browser.open(keys)).text, /id="partner-links"/);
});

test("requests with a revoked key are refused at once, and the page shows the key as revoked", async (t) => {
	const { browser, path, keys, site } = await openShop(t);
	const { key, secret } = await issue(browser, path);
	const keyId = /keys\/(key_\w+)\/revoke/.exec((await browser.open(`${keys}?lang=php`)).text)?.[1] ?? "";
	const revoked = await browser.submit(`${keys}/${keyId}/revoke?lang=php`, {});
	assert.equal(revoked.location, `${keys}?lang=php#keys`);
	assert.equal((await report(site, { key, secret }, "3")).status, 401);
	assert.match((await browser.open(keys)).text, /section-message[\s\S]*The key is revoked[\s\S]*Revoked/);
});

test("a refused URL is not saved, and stays in its field with the reason", async (t) => {
	const { browser, path, site } = await openShop(t, {
		transport: {
			lookUp: async (host: string) =>
				host === "inside.example" ? { ok: true, addresses: ["10.0.0.1"] } : { ok: false, code: "ENOTFOUND" },
		},
	});
	await browser.open(path);
	for (const [entered, reason] of [
		["http://shop.example/", "https://"],
		["https://shop.example/#x", "without that part"],
		["https://inside.example/x", "resolves to a private or internal address"],
		["https://nowhere.example/x", "No address was found for nowhere.example"],
		["https://127.0.0.1/x", "must point to a public address"],
		['https://shop.example/"><script>', "they are part of the signature"],
	] as const) {
		const page = await browser.submit(`${path}/postback-url`, { postbackUrl: entered });
		assert.equal(page.status, 422, entered);
		assert.ok(page.text.includes(`value="${writeMarkup(entered)}"`), entered);
		assert.match(page.text, new RegExp(`id="postbackUrl-error">[^<]*${reason}`), entered);
		assert.match(page.text, /aria-invalid="true"/);
	}
	assert.deepEqual(await site.store.db.selectFrom("endpoints").selectAll().execute(), []);
});

test("a test conversion goes through its statuses, and a reload shows the result of each callback", async (t) => {
	const { browser, path, site, programme } = await openShop(t);
	await issue(browser, path);
	await browser.submit(`${path}/test`, {});
	assert.match(
		(await browser.open(path)).text,
		/No callback is sent, because no Postback URL is saved and listen is not running\./,
	);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	await browser.submit(`${path}/test`, {});
	const [request] = await runCallbacks(site, programme, { kind: "answered", status: 204 });
	const body = JSON.parse(request?.body ?? "{}");
	assert.deepEqual([body.event, body.test, body.orderId.slice(0, 5)], ["conversion.recorded", true, "test-"]);
	const recorded = await browser.open(path);
	assert.match(recorded.text, /Callback answered 2xx<span class="visually-hidden">: done/);
	assert.match(recorded.text, /badge-good">Delivered/);
	const conversion = /integration\/test\/(cnv_\w+)/.exec(recorded.text)?.[1] ?? "";
	await browser.submit(`${path}/test/${conversion}`, { decision: "approve", reason: "RETURN" });
	await browser.submit(`${path}/test/${conversion}`, { decision: "reverse", reason: "RETURN" });
	const events = (await runCallbacks(site, programme, { kind: "answered", status: 204 })).map(({ body }) =>
		JSON.parse(body),
	);
	assert.deepEqual(
		events.map(({ event, reason }) => [event, reason]),
		[
			["conversion.approved", null],
			["conversion.reversed", "RETURN"],
		],
	);
	assert.match((await browser.open(path)).text, /This test is finished/);
	await browser.submit(`${path}/test/${conversion}`, { decision: "approve" });
	assert.match((await browser.open(path)).text, /is REVERSED and cannot be approved/);
});

test("the buttons of a test conversion cannot decide a real conversion", async (t) => {
	const { browser, path, site } = await openShop(t);
	const credentials = await issue(browser, path);
	await report(site, credentials, "real");
	const { public_id: real } = await site.store.db
		.selectFrom("conversions")
		.select("public_id")
		.executeTakeFirstOrThrow();
	await browser.submit(`${path}/test/${real}`, { decision: "reject", reason: "FRAUD" });
	assert.match((await browser.open(path)).text, /no such test conversion/);
	assert.equal(
		(await site.store.db.selectFrom("conversions").select("status").executeTakeFirstOrThrow()).status,
		"RECORDED",
	);
});

test("a callback's page shows each attempt, and the shown request has a valid signature", async (t) => {
	const { browser, path, site, programme } = await openShop(t);
	const { secret } = await issue(browser, path);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	await browser.submit(`${path}/test`, {});
	const [first] = await runCallbacks(site, programme, {
		kind: "network-error",
		stage: "connect",
		code: "ECONNREFUSED",
	});
	site.moveClock(60_100);
	await runCallbacks(site, programme, { kind: "answered", status: 401 });
	const deliveryPath =
		/\/programmes\/\w+\/deliveries\/dlv_\w+/.exec((await browser.open(path)).text)?.[0] ?? "";
	const page = await browser.open(deliveryPath);
	assert.match(page.text, /Connection refused/);
	assert.match(page.text, /Nothing listens at the address and port/);
	assert.match(page.text, /HTTP 401/);
	assert.match(page.text, /look-up 1\.5 ms · connect 12 ms · TLS 20 ms · answer 31 ms/);
	const requests = codeBlocks(page.text, /Request of attempt/);
	assert.equal(requests.length, 2);
	const [head = "", body = ""] = (requests[1] ?? "").split("\n\n");
	assert.equal(body, first?.body);
	const headers = Object.fromEntries(
		head
			.split("\n")
			.slice(1)
			.map((line) => line.split(/: (.*)/s).slice(0, 2)),
	);
	const verified = await verifyPostback({
		path: "/postback?shop=1",
		headers,
		rawBody: body,
		secret,
		now: site.deps.clock.nowMs() - 60_000,
	});
	assert.equal(verified.ok, true);
	assert.ok(codeBlocks(page.text, /as curl/)[0]?.startsWith(`curl -i -X POST '${URL_ENTERED}'`));
	assert.ok(!page.text.includes(secret));
	const press = async (run: number) => {
		const delivery = `${/dlv_\w+/.exec(deliveryPath)}.${run}.${run + 1}`;
		await browser.submit(`${deliveryPath}/resend`, { delivery });
		return (await browser.open(deliveryPath)).text;
	};
	assert.ok(page.text.includes(`name="delivery" value="${/dlv_\w+/.exec(deliveryPath)}.1.2"`));
	assert.match(await press(1), /1 callback is being sent again/);
	await runCallbacks(site, programme, { kind: "answered", status: 204 });
	const resent = await browser.open(deliveryPath);
	assert.match(resent.text, /resent by hand/);
	assert.match(resent.text, /badge-good">Delivered/);
	await press(2);
	assert.match(await press(2), /1 callback was skipped/);
});

test("the list of callbacks is filtered, searched and paged by plain links", async (t) => {
	const { browser, path, site, programme } = await openShop(t);
	await issue(browser, path);
	await savePostbackUrl(site.deps, programme.public_id, URL_ENTERED, COMMAND_LINE);
	for (let n = 0; n < 30; n++) await browser.submit(`${path}/test`, {});
	const first = await browser.open(path);
	const rows = (text: string) =>
		new Set(/id="deliveries-live"[\s\S]*/.exec(text)?.[0].match(/deliveries\/dlv_\w+/g));
	assert.equal(rows(first.text).size, 15);
	const older = /href="([^"]+)" rel="next"/.exec(first.text)?.[1] ?? "";
	const second = await browser.open(older.replaceAll("&amp;", "&"));
	assert.equal(rows(second.text).size, 15);
	assert.equal(rows(first.text).intersection(rows(second.text)).size, 0);
	const order = /title="(test-\w+)"/.exec(second.text)?.[1] ?? "";
	assert.equal(rows((await browser.open(`${path}?order=${order}`)).text).size, 1);
	assert.equal(rows((await browser.open(`${path}?event=conversion.reversed`)).text).size, 0);
	assert.equal(rows((await browser.open(`${path}?cursor=nonsense`)).text).size, 15);
	assert.ok(first.text.includes('id="refresher"'), "the newest are live");
	assert.ok(!second.text.includes('id="refresher"'), "a later page stands still");
});

test("a signature check uses the programme's secret, and the secret is neither shown nor stored", async (t) => {
	const { browser, path, site } = await openShop(t);
	const { key, secret } = await issue(browser, path);
	const body = JSON.stringify({ orderId: "1" });
	const signed = { body, nowMs: site.deps.clock.nowMs() };
	const paste = async (usedSecret: string) => {
		const request = signedRequest("POST", "/v1/conversions", { key, secret: usedSecret }, signed);
		const headers = [...request.headers].map(([name, value]) => `${name}: ${value}`).join("\r\n");
		const fields = { method: "POST", target: "/v1/conversions", headers, body };
		return (await browser.submit(`${path}/signature`, fields)).text;
	};
	assert.match(await paste(secret), /The signature is right/);
	assert.match(await paste(`${secret}\n`), /The secret was changed before it was used/);
	await expectNowhere(site, browser, path, [secret], []);
});

test("the inbound log shows why calls were refused, and what to check if an order is missing", async (t) => {
	const { browser, path, site } = await openShop(t);
	const { key, secret } = await issue(browser, path);
	await report(site, { key, secret }, "1001");
	await report(site, { key, secret }, "1002", "not an amount");
	await report(site, { key, secret: "rbs_wrong" }, "1003");
	const all = await browser.open(`${path}/inbound`);
	for (const word of ["RECORDED", "malformed_amount", "bad_signature", "does not match"])
		assert.ok(all.text.includes(word), word);
	const refused = await browser.open(`${path}/inbound?result=refused`);
	assert.ok(!refused.text.includes("RECORDED") && refused.text.includes("malformed_amount"));
	assert.match(refused.text, /<a href="\/problems\/malformed_amount"><span class="badge/);
	const why = async (order: string) => (await browser.open(`${path}/inbound?order=${order}`)).text;
	assert.match(await why("1002"), /malformed_amount[\s\S]*decimal/);
	assert.match(await why("1003"), /No call has mentioned this order[\s\S]*conversions\?orderId=1003/);
});

test("the inbound log explains in a sentence why a sale report credited nobody", async (t) => {
	const { browser, path, site, programme } = await openShop(t);
	const { key, secret } = await issue(browser, path);
	const crediting = site.store.db.updateTable("programmes").set({ credits_partners: 1 });
	await crediting.where("id", "=", programme.id).execute();
	assert.match(await (await report(site, { key, secret }, "1001")).text(), /"credit":"NO_SIGNAL"/);
	const { text } = await browser.open(`${path}/inbound`);
	assert.match(text, /sent neither a click ID nor a coupon code with the order\./);
	assert.doesNotMatch(text, /NO_SIGNAL/);
});

/** Checks that the secrets appear in no page, table, log line, address or unencrypted cookie. */
async function expectNowhere(
	site: TestSite,
	browser: Browser,
	path: string,
	secrets: readonly string[],
	answers: readonly { location: string | null; setCookies: readonly string[] }[],
): Promise<void> {
	const suffixes = [
		"",
		"/inbound",
		"/signature",
		...["", "?lang=php", "?lang=java"].map((lang) => `/keys${lang}`),
	];
	const pages = await Promise.all(suffixes.map(async (suffix) => (await browser.open(path + suffix)).text));
	const texts = [await site.storedText(), site.log.text(), ...pages, JSON.stringify(answers)];
	for (const secret of secrets) for (const text of texts) assert.ok(!text.includes(secret));
}

function codeBlocks(text: string, label: RegExp): string[] {
	return [...text.matchAll(/<pre[^>]*aria-label="([^"]*)"[^>]*><code>([\s\S]*?)<\/code>/g)]
		.filter((match) => label.test(match[1] ?? ""))
		.map((match) => readMarkup(match[2] ?? ""));
}

function writeMarkup(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;");
}

function readMarkup(text: string): string {
	return text
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&#39;", "'")
		.replaceAll("&amp;", "&");
}
