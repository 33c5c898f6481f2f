// Tests pages that change while they are open, and sessions that end.

import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { openCuttableProxy } from "./cuttable-line.ts";
import { issueKey, openFirstShop, PASSWORD, reportSale, savePostbackUrl, signIn } from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const OWNER = "jonas@nordlicht.example";

export function testLive(browser: () => Browser): void {
	let setup: Setup;
	let main: string;
	let credentials: Awaited<ReturnType<typeof issueKey>>;
	before(async () => {
		setup = await openSetup();
		const { service, shop } = setup;
		({ path: main } = await openFirstShop(browser(), service, OWNER, async (page) => {
			credentials = await issueKey(page);
			await savePostbackUrl(page, shop.url("/ringback"));
		}));
	});
	after(() => setup.close());

	test("a callback's row changes from pending to failed, and after a resend to delivered, without a reload", async () => {
		const { service, shop } = setup;
		const watcher = await openVisitor(browser(), service.url);
		await signIn(watcher.page, OWNER);
		const storageState = await watcher.context.storageState();
		await watcher.page.goto(`${main}/integration`);
		await watcher.page.evaluate("window.isSamePage = true");
		const row = watcher.page.locator("#deliveries-live").getByRole("row").nth(1);

		// The delay is longer than the interval at which the page polls.
		shop.answer = () => ({ status: 410, delayMs: 3_500 });
		const other = await openVisitor(browser(), service.url, { storageState });
		await other.page.goto(`${main}/integration`);
		await reportSale(service, credentials);
		await row.getByText(/Pending|Sending/).waitFor();
		await row.getByText("Failed").waitFor();
		await row.getByText("410").waitFor();
		const chart = watcher.page.locator("#health-chart");
		await chart.locator("canvas").waitFor();
		await chart.getByText("The numbers behind").click();
		shop.answer = () => ({ status: 204 });
		await other.page.reload();
		await other.page.locator("#deliveries-live a").first().click();
		await other.page.getByRole("button", { name: "Resend" }).click();
		await row.getByText("Delivered").waitFor();
		await row.getByText("resent by hand").waitFor();
		const today = chart.getByRole("row").last();
		deepEqual(
			(await today.getByRole("cell").allTextContents()).slice(1),
			["1", "1"],
			"the chart has come along, unfolded",
		);
		equal(await watcher.page.evaluate("window.isSamePage"), true);
		await other.leave();
		await watcher.leave();
	});

	test("selected rows stay selected while new rows arrive, and the result of a button is visible", async () => {
		const { service, shop } = setup;
		const owner = await openVisitor(browser(), service.url);
		const { page } = owner;
		await signIn(page, OWNER);
		await page.goto(`${main}/integration`);
		shop.answer = () => ({ status: 410 });
		await page.getByRole("button", { name: "Send test conversion" }).click();
		await demandInSight(page, page.getByText(/^Test conversion test-\w+ is recorded\.$/));
		const list = page.locator("#deliveries-live");
		const first = list.getByRole("row").filter({ hasText: "Failed" }).first();
		await first.getByRole("checkbox").check();
		const ticked = (await first.getByRole("checkbox").getAttribute("value")) ?? "";
		const other = await openVisitor(browser(), service.url, {
			storageState: await owner.context.storageState(),
		});
		await other.page.goto(`${main}/integration`);
		const rows = await list.getByRole("row").count();
		await other.page.getByRole("button", { name: "Send test conversion" }).click();
		await list.getByRole("row").nth(rows).waitFor();
		deepEqual(await page.evaluate<string[]>(TICKED), [ticked], "the same one, a row further down");
		shop.answer = () => ({ status: 204 });
		await page.getByRole("button", { name: "Resend selected" }).click();
		await demandInSight(page, page.getByText("1 callback is being sent again."));

		await page.goto(`${main}/integration?state=failed`);
		await list.getByRole("row").nth(1).getByRole("checkbox").check();
		await page.getByRole("button", { name: "Resend selected" }).click();
		await demandInSight(page, page.getByText("1 callback is being sent again."));
		equal(await page.getByLabel("State").inputValue(), "failed");
		await other.leave();
		await owner.leave();
	});

	test("a page that lost its connection shows what it missed after it reconnects", async (t) => {
		const { service } = setup;
		const other = await openVisitor(browser(), service.url);
		await signIn(other.page, OWNER);
		await other.page.goto(`${main}/integration`);
		const line = await openCuttableProxy(service.url);
		t.after(() => line.close());
		let isOff = true;
		// Cookies ignore the port, so the session of the service is also valid through the proxy.
		const watcher = await openVisitor(browser(), line.url, {
			storageState: await other.context.storageState(),
			isOffNow: () => isOff,
		});
		await watcher.page.goto(`${main}/integration`);
		await watcher.page.evaluate("window.isSamePage = true");

		line.cut();
		await other.page.getByRole("button", { name: "Send test conversion" }).click();
		const said = other.page.getByText(/^Test conversion test-\w+ is recorded\.$/);
		const [missed = ""] = /test-\w+/.exec((await said.textContent()) ?? "") ?? [];
		await other.page.locator("#test-live").getByText(missed).waitFor();
		equal(await watcher.page.getByText(missed).count(), 0, "nothing comes over a cut line");
		line.mend();
		await watcher.page.locator("#test-live").getByText(missed).waitFor();
		equal(await watcher.page.evaluate("window.isSamePage"), true);
		isOff = false;
		await other.leave();
		await watcher.leave();
	});

	test("after a session was ended elsewhere, the next click leads to the sign-in and then back to the page", async () => {
		const { service } = setup;
		const here = await openVisitor(browser(), service.url);
		await signIn(here.page, OWNER);
		await here.page.goto(`${main}/settings`);
		const integration = await here.context.newPage();
		await integration.goto(`${main}/integration`);
		const there = await openVisitor(browser(), service.url);
		await signIn(there.page, OWNER);
		await there.page.goto("/account");
		await there.page.getByRole("button", { name: "Sign out everywhere else" }).click();
		await there.page.getByRole("cell", { name: "This one" }).waitFor();
		await integration.getByRole("button", { name: "Send test conversion" }).click();
		await integration.getByRole("heading", { name: "Sign in" }).waitFor();
		await here.page.getByRole("link", { name: "Conversions", exact: true }).click();
		await here.page.getByRole("heading", { name: "Sign in" }).waitFor();
		await here.page.getByLabel("Email").fill(OWNER);
		await here.page.getByLabel("Password").fill(PASSWORD);
		await here.page.getByRole("button", { name: "Sign in" }).click();
		await here.page.getByRole("heading", { name: "Conversions", level: 1 }).waitFor();
		await here.leave();
		await there.leave();
	});
}

const TICKED = `[...document.querySelectorAll("#deliveries-live tbody input:checked")].map(({ value }) => value)`;

/** Fails if the message is not visible without scrolling. */
async function demandInSight(page: Page, message: Locator): Promise<void> {
	await message.waitFor();
	const box = await message.boundingBox();
	const height = page.viewportSize()?.height ?? 0;
	ok(box !== null && box.y >= 0 && box.y + box.height <= height, `out of sight: ${JSON.stringify(box)}`);
}
