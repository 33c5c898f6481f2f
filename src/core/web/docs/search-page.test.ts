// Tests /docs/search, the search of the documentation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestSite, type TestSite } from "../test-site.test-support.ts";

async function search(site: TestSite, typed: string) {
	const shown = await site.browser().open(`/docs/search?q=${encodeURIComponent(typed)}`);
	assert.equal(shown.status, 200, typed);
	const [, list = ""] = /<ol class="docs-found">(.*?)<\/ol>/s.exec(shown.text) ?? [];
	const hrefs = [...list.matchAll(/<li><a href="([^"]+)"/g)].map(([, href = ""]) => href);
	return { ...shown, list, hrefs };
}

test("the section that explains a word comes first", async (t) => {
	const site = await openTestSite(t, { brand: "Acme" });
	const cases: readonly (readonly [typed: string, first: string])[] = [
		["bad_signature", "/problems/bad_signature"],
		["stale_timestamp", "/problems/stale_timestamp"],
		["pixel_limited", "/problems/pixel_limited"],
		["retry calendar", "/docs/retries#the-retry-calendar"],
		["the pixel", "/docs/pixel#placing-the-pixel"],
		["replacing the secret without losing", "/docs/go-live#replacing-the-secret-without-losing-a-callback"],
	];
	for (const [typed, first] of cases) assert.equal((await search(site, typed)).hrefs[0], first, typed);
	for (const [typed, wanted] of [
		["X-Acme-Signature", "/docs/callbacks#headers"],
		["PARKED", "/docs/pixel#what-becomes-of-a-pixel-order"],
		["401", "/docs/troubleshooting#401-though-the-secret-is-right"],
		["basketValue", "/docs/api#calls"],
		["basketValue", "/docs/order-to-money#what-basketvalue-is"],
		["signature", "/docs/rules#2-check-the-signature"],
		["Check a signature", "/docs/troubleshooting#checking-a-signature"],
		["refund", "/docs/order-to-money#returns-and-partial-refunds"],
		["partial", "/docs/order-to-money#returns-and-partial-refunds"],
		["return", "/docs/order-to-money#returns-and-partial-refunds"],
		["shipping", "/docs/order-to-money#what-basketvalue-is"],
		["VAT", "/docs/order-to-money#what-basketvalue-is"],
		["discount", "/docs/order-to-money#what-basketvalue-is"],
		["cancel", "/docs/order-to-money#order-states-of-shop-systems"],
		["outbox", "/docs/report-sales#the-outbox"],
		["headless", "/docs/click-ids#headless-shops"],
		["EPC", "/docs/words"],
		["publisher", "/docs/words"],
		["clawback", "/docs/words"],
		["IBAN", "/docs/partner#what-to-do-first"],
		["payout", "/docs/manager#what-happens-to-the-money"],
		["when am I paid", "/docs/partner#what-happens-to-the-money"],
		["fraud", "/docs/manager#daily-work"],
	] as const) {
		const { hrefs, list } = await search(site, typed);
		assert.ok(hrefs.slice(0, 6).includes(wanted), `${typed}: ${hrefs.join(" ")}`);
		assert.doesNotMatch(list, /[a-z_]HTTP \d|[a-z]\.[A-Z][a-z]+ all/, "cells do not run into each other");
	}
});

test("results have this network's brand and address, and mark the words that were found", async (t) => {
	const site = await openTestSite(t, { brand: "Acme", publicUrl: "https://track.acme.example" });
	const { list, hrefs } = await search(site, "X-Acme-Signature");
	assert.ok(hrefs.length > 3);
	assert.match(list, /<mark>X-Acme-Signature<\/mark>/);
	assert.doesNotMatch(list, /X-Service|ringback\.example/);
});

test("every result leads to an existing heading", async (t) => {
	const site = await openTestSite(t);
	const pages = new Map<string, string>();
	const found = new Set<string>();
	for (const typed of [
		"signature",
		"callback",
		"order",
		"401",
		"pixel",
		"secret",
		"Idempotency retry",
		"json",
	]) {
		for (const href of (await search(site, typed)).hrefs) found.add(href);
	}
	assert.ok(found.size > 40, String(found.size));
	for (const href of found) {
		const [path = "", id] = href.split("#");
		if (!pages.has(path)) pages.set(path, (await site.browser().open(path)).text);
		assert.ok(id === undefined || pages.get(path)?.includes(` id="${id}"`), href);
	}
});

test("an empty search and a search without results suggest what to type", async (t) => {
	const site = await openTestSite(t);
	const nothing = await search(site, "zebra unicorn");
	assert.match(nothing.text, /Nothing found for “zebra unicorn”/);
	assert.match(nothing.text, /Type a header.*<a href="\/docs\/search\?q=bad_signature">/s);
	const empty = await search(site, "");
	assert.match(empty.text, /Type a header, an error code/);
	assert.doesNotMatch(empty.text, /Nothing found/);
});

test("the query is escaped, stays in the field, is cut at 100 characters, and sets no cookie", async (t) => {
	const site = await openTestSite(t);
	const hostile = `"><script>alert(1)</script>`;
	const { text, setCookies, headers } = await search(site, hostile);
	assert.doesNotMatch(text, /<script>alert/);
	assert.match(text, /value="&quot;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;"/);
	assert.deepEqual(setCookies, []);
	assert.equal(headers.get("cache-control"), "public, max-age=300");
	const long = await search(site, "x".repeat(10_000));
	assert.ok(long.text.includes(`value="${"x".repeat(100)}"`));
});

test("a question, a plural, one wrong word and pasted JSON find the section", async (t) => {
	const site = await openTestSite(t);
	for (const [typed, wanted] of [
		["How do I verify a signature in PHP?", "/docs/rules#2-check-the-signature"],
		["retries calendars", "/docs/retries#the-retry-calendar"],
		["stale timestmap", "/problems/stale_timestamp"],
		['"code": "bad_signature",', "/problems/bad_signature"],
	] as const) {
		const { hrefs } = await search(site, typed);
		assert.ok(hrefs.slice(0, 6).includes(wanted), `${typed}: ${hrefs.join(" ")}`);
	}
	assert.match((await search(site, " … ? ")).text, /Type a header, an error code/);
});
