// "Check a signature" as a person without scripts uses it: from a delivery to the exact difference.

import assert from "node:assert/strict";
import { test } from "node:test";
import { runCallbacks } from "./callback-run.test-support.ts";
import { issue, openShop, type Shop, URL_ENTERED } from "./integration-shop.test-support.ts";

const EMPTY = { method: "POST", target: "/", headers: "", body: "", secret: "", computed: "" };

/** The callback of a test conversion, as our page shows it and as a form holds it. */
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

test("a damaged callback is compared with our own record: the cause, the byte, both texts, and the way to the attempt", async (t) => {
	const shop = await openShop(t);
	const { browser, path, programme } = shop;
	const { fields, secret } = await openCallback(shop);
	const form = await browser.open(`${path}/signature`);
	assert.match(form.text, /Include X-Service-Timestamp, X-Service-Nonce and X-Service-Signature\./);
	const damaged = { ...fields, target: "/postback", body: fields.body.replace(/}$/, "\u200b}") };
	const { status, text } = await browser.submit(`${path}/signature`, damaged);
	assert.equal(status, 200);
	assert.match(text, /What differs: path and query, body\./);
	assert.match(text, /The query string was dropped or added: by a proxy/);
	assert.match(text, /<mark>\[U\+200B\]<\/mark>/);
	assert.match(text, /We sent<\/span> <code>\/postback<mark>\?shop=1<\/mark><\/code>/);
	assert.match(text, /You pasted<\/span> <code>\/postback<mark>\(nothing\)<\/mark><\/code>/);
	assert.match(text, /From byte 10 on \(of 16 and 9 bytes\)/);
	assert.match(text, /<summary>Right: method, timestamp, nonce, signature, secret</);
	assert.match(text, new RegExp(`href="/programmes/${programme.public_id}/deliveries/dlv_\\w+#attempt-1"`));
	assert.ok(text.indexOf('id="findings"') < text.indexOf('id="paste"'), "the result comes before the form");
	assert.match(text, /action="[^"]*\/signature#findings"/);
	assert.ok(!text.includes(secret));
});

test("a value that the shop's own code computed is explained beside an undamaged callback", async (t) => {
	const shop = await openShop(t);
	const { fields } = await openCallback(shop);
	const { browser, path } = shop;
	await browser.open(`${path}/signature`);
	const { text } = await browser.submit(`${path}/signature`, { ...fields, computed: "0".repeat(64) });
	assert.match(text, /this is exactly what we sent\. What your own code made of it is below\./);
	assert.match(text, /<h3>The signature your code computed<\/h3>/);
	assert.match(text, /We do not know what your code signed/);
	assert.ok(/id="computed"[^>]*value="0{64}"/.test(text));
	const { text: without } = await browser.submit(`${path}/signature`, fields);
	assert.match(without, /If your server refuses it, compare its clock/, "said at once");
});

test("a pasted body that begins with a line break comes back with it", async (t) => {
	const { browser, path } = await openShop(t);
	await browser.open(`${path}/signature`);
	const { text } = await browser.submit(`${path}/signature`, { ...EMPTY, body: "\n{}" });
	// Browsers drop the first line break behind the tag.
	assert.match(text, /<textarea id="body"[^>]*>\n\n\{\}</);
});

test("more than any request has is refused, and not sent back", async (t) => {
	const { browser, path } = await openShop(t);
	await browser.open(`${path}/signature`);
	for (const field of ["target", "headers", "body", "secret", "computed"]) {
		const sent = { ...EMPTY, [field]: "x".repeat(65_537) };
		const { status, text } = await browser.submit(`${path}/signature`, sent);
		assert.equal(status, 422, field);
		assert.match(text, /has more than .* characters\. Paste less\./);
		assert.ok(!text.includes("xxxx"));
	}
});
