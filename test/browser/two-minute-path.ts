// From the first start to the first callback, for somebody who has never seen it.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import {
	becomeFirstStaff,
	fillProgramme,
	issueKey,
	joinAsOwner,
	linkFromMail,
	nameNetwork,
	PASSWORD,
	savePostbackUrl,
} from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const OWNER = "jonas@nordlicht.example";
/** Two minutes is for people who read; a program that takes a quarter of that has been waiting for us. */
const LONGEST_PATH_MS = 30_000;
/** The link, account, name and brand, the form, the programme, Integration, key, URL, test. */
const MOST_PAGES = 9;

export function testTwoMinutePath(browser: () => Browser): void {
	let setup: Setup;
	before(async () => {
		setup = await openSetup();
	});
	after(() => setup.close());

	test("from the link of the first start to a callback that arrives before the reader's eyes: one person, one browser", async (t) => {
		const startedAtMs = performance.now();
		const { service, shop } = setup;
		const newcomer = await openVisitor(browser(), service.url);
		const { page } = newcomer;
		let pages = 0;
		page.on("request", (request) => {
			if (request.isNavigationRequest() && request.redirectedFrom() === null) pages++;
		});
		await becomeFirstStaff(page, service.welcomeLink);
		await nameNetwork(page, "Acme Partners", "Acme");
		await page.getByRole("link", { name: "Create the first programme" }).click();
		await fillProgramme(page, { name: "Nordlicht Outdoor", ownerEmail: OWNER });
		await page.getByRole("link", { name: "Go to Integration" }).click();
		const { key, secret } = await issueKey(page);
		match(key, /^rbk_/);
		ok(secret.length > 30);
		await savePostbackUrl(page, shop.url("/ringback?shop=1"));
		const text = await page.content();
		ok(!text.includes(secret) && !text.includes(key), "shown once");

		// The shop waits with its answer until the page is there: what the page shows then has come to it.
		const isShown = Promise.withResolvers<void>();
		shop.answer = () => ({
			raw: (socket) =>
				void isShown.promise.then(() => socket.end("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")),
		});
		await page.getByRole("button", { name: "Send test conversion" }).click();
		await page.getByText("Its callback is being sent.").waitFor();
		// A mark that a reload would take away.
		await page.evaluate("window.isSamePage = true");
		equal(await deliveredRow(page, "conversion.recorded").count(), 0, "not there from the beginning");
		isShown.resolve();
		shop.answer = () => ({ status: 204 });
		await deliveredRow(page, "conversion.recorded").waitFor();
		equal(await page.evaluate("window.isSamePage"), true, "it arrived without a reload");
		const tookMs = performance.now() - startedAtMs;
		t.diagnostic(`first start to first callback: ${Math.round(tookMs)} ms, ${pages} pages opened or sent`);
		ok(tookMs < LONGEST_PATH_MS, `it took ${tookMs} ms`);
		ok(pages <= MOST_PAGES, `it took ${pages} pages`);
		for (const { rawHeaders } of shop.requests) ok(rawHeaders.includes("X-Acme-Signature"));
		await newcomer.leave();
	});

	test("the owner joins by the link in the mail, and walks the test through the rest of its life", async () => {
		const { service, shop, mail } = setup;
		const owner = await openVisitor(browser(), service.url);
		const { page } = owner;
		await joinAsOwner(page, await linkFromMail(mail, OWNER, /invited to manage/));
		await page.locator("#test").getByRole("button", { name: "Approve" }).click();
		await deliveredRow(page, "conversion.approved").waitFor();
		await page.locator("#test").getByRole("button", { name: "Reverse" }).click();
		await deliveredRow(page, "conversion.reversed").waitFor();
		deepEqual(
			shop.requests.map(({ body }) => [JSON.parse(String(body)).event, JSON.parse(String(body)).test]),
			[
				["conversion.recorded", true],
				["conversion.approved", true],
				["conversion.reversed", true],
			],
		);
		const list = page.getByRole("region", { name: "Callbacks, one per row" });
		equal(await list.getByRole("row").count(), 4, "a head and three deliveries");
		await page.getByRole("link", { name: "Conversions", exact: true }).click();
		await page.getByRole("heading", { name: "Conversions", level: 1 }).waitFor();
		await page.getByRole("cell", { name: /Reversed/ }).waitFor();
		await owner.leave();
	});

	test("a password that was forgotten is chosen anew by a link from the mail", async () => {
		const { service, mail } = setup;
		const owner = await openVisitor(browser(), service.url);
		const { page } = owner;
		await page.goto("/sign-in");
		await page.getByRole("link", { name: "Forgot your password?" }).click();
		await page.getByLabel("Email").fill(OWNER);
		await page.getByRole("button", { name: "Send the link" }).click();
		await page.getByRole("heading", { name: "Check your inbox" }).waitFor();
		await page.goto(await linkFromMail(mail, OWNER, /new password/));
		await page.getByLabel("New password").fill(`${PASSWORD} staple`);
		await page.getByRole("button", { name: "Change password" }).click();
		await page.getByText("Your password is changed.").waitFor();
		await page.getByRole("heading", { name: "Integration", level: 1 }).waitFor();
		await owner.leave();
	});
}

export function deliveredRow(page: Page, event: string) {
	return page
		.locator("#test-live")
		.getByRole("row")
		.filter({ hasText: event })
		.filter({ hasText: "Delivered" });
}
