// Tests the operations guide, both as pages for staff and as Markdown files.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { lexer, walkTokens } from "marked";
import { headingId } from "../../../../docs/markdown.ts";
import { GUIDE_PARTS, GUIDE_START } from "../../../operations-guide.ts";
import { openAsStaff, openTestSite } from "../test-site.test-support.ts";

const FILES = [GUIDE_START, ...GUIDE_PARTS].map(({ file }) => {
	const url = new URL(`../../../../${file}`, import.meta.url);
	const text = readFileSync(url, "utf8");
	return { file, url, text, ...read(text) };
});

test("staff can open every part from the first page and from each other part", async (t) => {
	const { browser: staff } = await openAsStaff(t);
	const start = await staff.open("/docs/operations");
	assert.match(start.text, /<h1>Operations guide<\/h1>/);
	assert.equal(start.headers.get("cache-control"), "no-store");
	for (const { name } of GUIDE_PARTS) {
		assert.ok(start.text.includes(`<td class=""><a href="/docs/operations/${name}">`), name);
		const { status, text } = await staff.open(`/docs/operations/${name}`);
		assert.equal(status, 200, name);
		assert.match(text, new RegExp(`<a href="/docs/operations/${name}" aria-current="true">`));
		assert.doesNotMatch(text, /href="[^"]*\.md|<!--|&lt;!--/, name);
	}
	assert.match((await staff.open("/system")).text, /href="\/docs\/operations"/);
	assert.equal((await staff.open("/docs/operations/nothing")).status, 404);
});

test("every link on the pages leads to an existing heading", async (t) => {
	const { browser: staff } = await openAsStaff(t);
	const pages = new Map<string, string>();
	const open = async (path: string) => {
		const text = pages.get(path) ?? (await staff.open(path)).text;
		pages.set(path, text);
		return text;
	};
	let followed = 0;
	for (const { name } of GUIDE_PARTS) {
		const here = `/docs/operations/${name}`;
		const [, article = ""] = /<article class="prose">(.*)<\/article>/s.exec(await open(here)) ?? [];
		for (const [, href = ""] of article.matchAll(/ href="((?:\/docs\/operations|#)[^"]*)"/g)) {
			const [path, id] = href.split("#");
			const text = await open(path === "" || path === undefined ? here : path);
			assert.ok(id === undefined || text.includes(` id="${id}"`), `${here} → ${href}`);
			followed++;
		}
	}
	assert.ok(followed > 150, String(followed));
});

test("shops and visitors cannot open the guide, and see neither its tab nor search results from it", async (t) => {
	const site = await openTestSite(t);
	const owner = await site.signIn(await site.addOwner(await site.addProgramme()));
	const staff = await site.signIn(await site.addStaff());
	const query = "/docs/search?q=RingbackChoreLate";
	assert.match((await staff.open(query)).text, /<a href="\/docs\/operations\/incidents#ringbackchorelate">/);
	for (const browser of [owner, site.browser()]) {
		assert.doesNotMatch((await browser.open("/docs")).text, /\/docs\/operations/);
		assert.doesNotMatch((await browser.open(query)).text, /\/docs\/operations/);
		const { status, text } = await browser.open("/docs/operations/settings");
		assert.notEqual(status, 200);
		assert.doesNotMatch(text, /RINGBACK_/);
	}
});

test("every link in the files leads to an existing file and heading, and headings are unique", () => {
	for (const { file, url, ids, hrefs } of FILES) {
		assert.equal(new Set(ids).size, ids.length, file);
		for (const href of hrefs.filter((each) => !each.startsWith("https://"))) {
			const [path = "", id] = href.split("#");
			const target = new URL(path === "" ? url : path, url);
			assert.ok(existsSync(target), `${file} → ${href}`);
			if (id === undefined) continue;
			const found =
				FILES.find((each) => each.url.href === target.href)?.ids ?? read(readFileSync(target, "utf8")).ids;
			assert.ok(found.includes(id), `${file} → ${href}`);
		}
	}
});

function read(text: string): { ids: string[]; hrefs: string[] } {
	const ids: string[] = [];
	const hrefs: string[] = [];
	walkTokens(lexer(text), (token) => {
		if (token.type === "heading") ids.push(headingId(String(token["text"]).replaceAll("`", "")));
		if (token.type === "link") hrefs.push(String(token["href"]));
	});
	return { ids, hrefs };
}
