// What changes by itself while somebody looks, and what ends while they look.

import { equal } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import {
	becomeFirstStaff,
	createProgramme,
	issueKey,
	joinAsOwner,
	PASSWORD,
	savePostbackUrl,
	signIn,
} from "./first-steps.ts";
import { openStage, type Stage } from "./stage.ts";
import { openVisitor } from "./visitor.ts";

const OWNER = "jonas@nordlicht.example";

export function testLive(browser: () => Browser): void {
	let stage: Stage;
	let main: string;
	before(async () => {
		stage = await openStage();
		const { service, shop } = stage;
		const staff = await openVisitor(browser(), service.url);
		await becomeFirstStaff(staff.page, service.welcomeLink);
		const link = await createProgramme(staff.page, { name: "Nordlicht Outdoor", ownerEmail: OWNER });
		await staff.leave();
		const owner = await openVisitor(browser(), service.url);
		main = await joinAsOwner(owner.page, link);
		await issueKey(owner.page);
		await savePostbackUrl(owner.page, shop.url("/ringback"));
		await owner.leave();
	});
	after(() => stage.close());

	test("a delivery's row goes on from sending to failed, and to delivered after a resend, without a reload", async () => {
		const { service, shop } = stage;
		const watcher = await openVisitor(browser(), service.url);
		await signIn(watcher.page, OWNER);
		const storageState = await watcher.context.storageState();
		await watcher.page.goto(`${main}/integration`);
		await watcher.page.evaluate("window.isSamePage = true");
		const row = watcher.page.locator("#deliveries-live").getByRole("row").nth(1);

		shop.answer = () => ({ status: 410, delayMs: 1_500 });
		const other = await openVisitor(browser(), service.url, { storageState });
		await other.page.goto(`${main}/integration`);
		await other.page.getByRole("button", { name: "Send test conversion" }).click();
		await row.getByText(/Waiting|Sending/).waitFor();
		await row.getByText("Failed").waitFor();
		await row.getByText("410").waitFor();
		shop.answer = () => ({ status: 204 });
		await other.page.locator("#deliveries-live a").first().click();
		await other.page.getByRole("button", { name: "Resend" }).click();
		await row.getByText("Delivered").waitFor();
		await row.getByText("resent by hand").waitFor();
		equal(await watcher.page.evaluate("window.isSamePage"), true);
		await other.leave();
		await watcher.leave();
	});

	test("a session that was ended elsewhere: the next click leads to sign-in, and from there back", async () => {
		const { service } = stage;
		const here = await openVisitor(browser(), service.url);
		await signIn(here.page, OWNER);
		await here.page.goto(`${main}/settings`);
		const there = await openVisitor(browser(), service.url);
		await signIn(there.page, OWNER);
		await there.page.goto("/account");
		await there.page.getByRole("button", { name: "End all others" }).click();
		await there.page.getByRole("cell", { name: "This one" }).waitFor();
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
