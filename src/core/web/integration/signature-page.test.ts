// Tests the page "Check a signature" as a person without scripts uses it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { runCallbacks } from "./callback-run.test-support.ts";
import { issue, openShop, type Shop, URL_ENTERED } from "./integration-shop.test-support.ts";

const EMPTY = { method: "POST", target: "/", headers: "", body: "" };

/**
 * Sends the callback of a test conversion. Returns the request, as the values of the form's fields, and the
 * signing secret.
 */
async function openCallback(shop: Shop) {
	const { browser, path, site, programme } = shop;
	const { secret } = await issue(browser, path);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	await browser.submit(`${path}/test`, {});
	const [request] = await runCallbacks(site, programme, { kind: "answered", status: 401 });
	assert.ok(request !== undefined);
	const { pathname, search } = new URL(request.url);
	const lines: string[] = [];
	for (let at = 0; at < request.headers.length; at += 2) {
		lines.push(`${request.headers[at]}: ${request.headers[at + 1]}`);
	}
	return {
		secret,
		fields: { ...EMPTY, target: pathname + search, headers: lines.join("\n"), body: request.body },
	};
}

test("a damaged callback is compared with the attempt that the page was opened from", async (t) => {
	const shop = await openShop(t);
	const { browser, path, programme } = shop;
	const { fields, secret } = await openCallback(shop);
	const [, delivery = ""] = /deliveries\/(dlv_\w+)/.exec((await browser.open(path)).text) ?? [];
	const opened = `${path}/signature?delivery=${delivery}&attempt=1`;
	const form = await browser.open(opened);
	assert.match(form.text, /Include X-Service-Timestamp, X-Service-Nonce and X-Service-Signature\./);
	assert.match(form.text, new RegExp(`action="[^"]*/signature\\?delivery=${delivery}&amp;attempt=1#result"`));
	assert.match(
		form.text,
		new RegExp(`href="/programmes/${programme.public_id}/deliveries/${delivery}#attempt-1"`),
	);
	const { status, text } = await browser.submit(opened, { ...fields, target: "/postback" });
	assert.equal(status, 200);
	assert.match(
		text,
		/This is not the callback as we sent it\. The first difference is in the path and query\./,
	);
	assert.match(text, /First difference: path and query, at byte 10/);
	assert.match(text, /We sent<\/span> <code>\/postback<mark>\?shop=1<\/mark><\/code>/);
	assert.match(text, /You pasted<\/span> <code>\/postback<mark>\(nothing\)<\/mark><\/code>/);
	assert.match(text, /<h3>The text to sign<\/h3>/);
	assert.match(text, /The ten usual mistakes/);
	assert.ok(text.indexOf('id="result"') < text.indexOf('id="paste"'), "the result comes before the form");
	assert.ok(!text.includes(secret));
	const invisible = await browser.submit(opened, { ...fields, body: fields.body.replace(/}$/, "\u200b}") });
	assert.match(invisible.text, /<mark>\[U\+200B\]}<\/mark>/);
	assert.match((await browser.submit(opened, fields)).text, /The signature is right\./);
});

test("a callback is not compared with an attempt of another programme", async (t) => {
	const shop = await openShop(t);
	const { fields } = await openCallback(shop);
	const [, delivery = ""] = /deliveries\/(dlv_\w+)/.exec((await shop.browser.open(shop.path)).text) ?? [];
	const other = await shop.site.addProgramme();
	const staff = await shop.site.signIn(await shop.site.addStaff());
	const path = `/programmes/${other.public_id}/integration/signature?delivery=${delivery}&attempt=1`;
	const form = await staff.open(path);
	assert.doesNotMatch(form.text, /It is compared with|X-Service-Signature: /);
	const { text } = await staff.submit(path, { ...fields, target: "/postback" });
	assert.doesNotMatch(text, /as we sent it|\?shop=1<\/mark>/);
});

test("a pasted body that begins with a line break is shown with the line break", async (t) => {
	const { browser, path } = await openShop(t);
	await browser.open(`${path}/signature`);
	const { text } = await browser.submit(`${path}/signature`, { ...EMPTY, body: "\n{}" });
	// The markup has one more line break, because browsers drop the first one after the tag.
	assert.match(text, /<textarea id="body"[^>]*>\n\n\{\}</);
});

test("a field with more than 65,536 characters is refused and not shown again", async (t) => {
	const { browser, path } = await openShop(t);
	await browser.open(`${path}/signature`);
	for (const field of ["target", "headers", "body"]) {
		const sent = { ...EMPTY, [field]: "x".repeat(65_537) };
		const { status, text } = await browser.submit(`${path}/signature`, sent);
		assert.equal(status, 422, field);
		assert.match(text, /has more than .* characters\. Paste less\./);
		assert.ok(!text.includes("xxxx"));
	}
});
