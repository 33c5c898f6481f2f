// Tests the documents on a desktop, on a phone, without scripts and in print.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

export function testDocs(browser: () => Browser): void {
	let setup: Setup;
	before(async () => {
		setup = await openSetup({ settings: { RINGBACK_ROLE: "web", RINGBACK_BRAND: "Acme" } });
	});
	after(() => setup.close());

	test("on a desktop the outline stays beside the text", async () => {
		const visitor = await openVisitor(browser(), setup.service.url, { viewport: DESK });
		const { page } = visitor;
		await page.goto("/docs/retries");
		const outline = page.getByRole("navigation", { name: "On this page" });
		await outline.getByRole("link", { name: "The retry calendar" }).click();
		ok(await isInSight(page, "#the-retry-calendar"));
		ok(await isInSight(page, ".docs-outline a[href='#the-retry-calendar']"));
		equal(await page.locator(".docs-outline-folded").isVisible(), false);
		await visitor.leave();
	});

	test("on a phone without scripts the outline unfolds, and links change the language", async () => {
		const visitor = await openVisitor(browser(), setup.service.url, {
			viewport: PHONE,
			javaScriptEnabled: false,
		});
		const { page } = visitor;
		await page.goto("/docs/rules");
		equal(await page.locator(".docs-outline").isVisible(), false);
		const folded = page.locator(".docs-outline-folded");
		equal(await folded.getByRole("link").first().isVisible(), false);
		await folded.getByText("On this page").click();
		await folded.getByRole("link", { name: "Receivers by language" }).click();
		match(page.url(), /#receivers-by-language$/);
		const tabs = page.getByRole("navigation", { name: "Language of the receiver" });
		await tabs.getByRole("link", { name: "PHP" }).click();
		match(page.url(), /\/docs\/rules\?lang=php#receiver-code$/);
		await page.getByRole("region", { name: "PHP, receiver" }).getByText("<?php").waitFor();
		equal(await page.locator("button:visible").count(), 1, "the search's, and none that does nothing");
		await visitor.leave();
	});

	test("without scripts the search finds a header and leads to its section, and finds a problem's page", async () => {
		const visitor = await openVisitor(browser(), setup.service.url, {
			viewport: PHONE,
			javaScriptEnabled: false,
		});
		const { page } = visitor;
		await page.goto("/docs");
		await page.getByRole("searchbox", { name: "Search the documentation" }).fill("X-Acme-Nonce");
		await page.keyboard.press("Enter");
		const found = page.locator(".docs-found");
		await found.locator("mark", { hasText: "X-Acme-Nonce" }).first().waitFor();
		await found.getByRole("link", { name: "Headers", exact: true }).click();
		match(page.url(), /\/docs\/callbacks#headers$/);
		await page.getByRole("searchbox").fill("stale_timestamp");
		await page.getByRole("button", { name: "Search" }).click();
		await found.getByRole("link").first().click();
		await page.getByRole("heading", { name: "Stale timestamp" }).waitFor();
		await page
			.getByRole("region", { name: "Code in “Example answer”" })
			.getByText('"stale_timestamp"')
			.waitFor();
		await visitor.leave();
	});

	test("a line of text has about seventy letters, and wide elements scroll on their own", async () => {
		const visitor = await openVisitor(browser(), setup.service.url, { viewport: DESK });
		const { page } = visitor;
		await page.goto("/docs/callbacks");
		const letters = await page.evaluate<number>(LETTERS_A_LINE);
		ok(letters >= 60 && letters <= 82, String(letters));
		await page.setViewportSize(PHONE);
		ok(await page.evaluate<boolean>("document.documentElement.scrollWidth <= innerWidth"));
		await visitor.leave();
	});

	test("the copy button of a code block copies the code", async () => {
		const permissions = ["clipboard-read", "clipboard-write"];
		const visitor = await openVisitor(browser(), setup.service.url, { viewport: DESK, permissions });
		const { page } = visitor;
		await page.goto("/docs/quick-start");
		const block = page.locator(".code").first();
		await block.getByRole("button").click();
		await block.getByText("Copied").waitFor();
		const copied = await page.evaluate<string>("navigator.clipboard.readText()");
		equal(copied, await block.locator("code").textContent());
		match(copied, /^RINGBACK_URL=http/);
		await visitor.leave();
	});

	test("only the text is printed, and nothing is cut off", async () => {
		const visitor = await openVisitor(browser(), setup.service.url, { viewport: DESK });
		const { page } = visitor;
		await page.goto("/docs/callbacks");
		await page.emulateMedia({ media: "print" });
		for (const gone of [".topbar", ".docs-side", ".docs-outline-folded", ".button", ".heading-link"]) {
			equal(await page.locator(gone).first().isVisible(), false, gone);
		}
		deepEqual(await page.evaluate<string[]>(CUT_OFF), []);
		await visitor.leave();
	});
}

/** Returns true if the element is below the bar at the top and above the end of the window. */
function isInSight(page: Page, selector: string): Promise<boolean> {
	return page.evaluate<boolean>(`(() => {
		const { top, bottom } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
		return top >= 50 && bottom <= innerHeight;
	})()`);
}

/** Script that returns the median number of letters per line of the longest paragraphs. */
const LETTERS_A_LINE = `(() => {
	const counts = [...document.querySelectorAll(".prose > p")].filter(({ textContent }) => textContent.length > 240).map((paragraph) => {
		const lines = Math.round(paragraph.getBoundingClientRect().height / parseFloat(getComputedStyle(paragraph).lineHeight));
		return paragraph.textContent.length / lines;
	});
	return counts.sort((a, b) => a - b)[Math.floor(counts.length / 2)];
})()`;

const CUT_OFF = `[...document.querySelectorAll("pre, .table-scroll")]
	.filter((part) => part.scrollHeight > part.clientHeight + 2 || part.scrollWidth > part.clientWidth + 2)
	.map((part) => part.getAttribute("aria-label"))`;
