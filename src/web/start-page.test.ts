import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { mountStartPage } from "./start-page.ts";

function open(allowsPrivateRanges: boolean, publicUrl = "https://ringback.example"): Hono {
	const app = new Hono();
	mountStartPage(app, { publicUrl, allowsPrivateRanges });
	return app;
}

test("the start page says what runs and where to go next", async () => {
	const response = await open(false).request("/");
	assert.equal(response.status, 200);
	assert.match(response.headers.get("content-type") ?? "", /^text\/html/);
	const page = await response.text();
	for (const text of ["Ringback", "/healthz", "/metrics", "user create", "programme create", "key issue"]) {
		assert.ok(page.includes(text), text);
	}
});

test("the page has no inline script or style, and its stylesheet is there", async () => {
	const app = open(false);
	const page = await (await app.request("/")).text();
	assert.doesNotMatch(page, /<script|<style|\sstyle=|\son\w+=/);
	const href = /<link rel="stylesheet" href="([^"]+)">/.exec(page)?.[1] ?? "";
	const style = await app.request(href);
	assert.equal(style.status, 200);
	assert.match(style.headers.get("content-type") ?? "", /^text\/css/);
	assert.match(await style.text(), /color-scheme: light dark/);
});

test("allowed private ranges are announced loudly, and only then", async () => {
	assert.match(await (await open(true).request("/")).text(), /role="alert"[\s\S]*private addresses/);
	assert.doesNotMatch(await (await open(false).request("/")).text(), /role="alert"|PRIVATE_RANGES/);
});

test("the public URL is escaped", async () => {
	const page = await (await open(false, "https://x.example/<script>").request("/")).text();
	assert.doesNotMatch(page, /<script>/);
});
