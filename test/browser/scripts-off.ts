// Tests that everything works with scripts off. Live parts of pages then need a reload.

import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { PATIENCE_MS } from "../support/patience.ts";
import {
	becomeFirstStaff,
	createProgramme,
	issueKey,
	joinAsOwner,
	linkFromMail,
	nameNetwork,
	reportSale,
	savePostbackUrl,
} from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const OWNER = "jonas@nordlicht.example";

export function testScriptsOff(browser: () => Browser): void {
	let setup: Setup;
	before(async () => {
		setup = await openSetup();
	});
	after(() => setup.close());

	test("without scripts, the path from the first key to a callback works with reloads", async () => {
		const { service, shop, mail } = setup;
		const off = { javaScriptEnabled: false };
		const staff = await openVisitor(browser(), service.url, off);
		await becomeFirstStaff(staff.page, service.welcomeLink);
		await nameNetwork(staff.page, "Acme Partners", "Acme");
		await staff.page.goto("/network");
		await staff.page.getByRole("button", { name: "Send a test mail to me" }).click();
		await staff.page.getByText("Your mail server accepted the test mail").waitFor();
		await createProgramme(staff.page, { name: "Nordlicht Outdoor", ownerEmail: OWNER });
		const owner = await openVisitor(browser(), service.url, off);
		const { page } = owner;
		const main = await joinAsOwner(page, await linkFromMail(mail, OWNER, /invited to manage/));
		const credentials = await issueKey(page);
		ok(credentials.secret.length > 30);
		equal(await page.locator("button[data-copy]:visible").count(), 0, "no button that does nothing");
		await savePostbackUrl(page, shop.url("/ringback"));
		await page.getByRole("button", { name: "Send test conversion" }).click();
		const inTest = page.locator("#test-live");
		await reloadUntil(page, inTest.getByText("Delivered"));
		await inTest.getByRole("button", { name: "Approve" }).click();
		await reloadUntil(
			page,
			inTest.getByRole("row").filter({ hasText: "conversion.approved" }).getByText("Delivered"),
		);
		await inTest.getByLabel("Reason", { exact: true }).selectOption("RETURN");
		await inTest.getByRole("button", { name: "Reverse" }).click();
		await reloadUntil(
			page,
			inTest.getByRole("row").filter({ hasText: "conversion.reversed" }).getByText("Delivered"),
		);
		deepEqual(
			shop.requests.map(({ body }) => JSON.parse(String(body)).event),
			["conversion.recorded", "conversion.approved", "conversion.reversed"],
		);

		await page.goto(`${main}/conversions`);
		await page.getByLabel("Status").selectOption("REVERSED");
		await page.getByText("More", { exact: true }).click();
		await page.getByLabel("Tests").selectOption("all");
		await page.getByRole("button", { name: "Apply filters" }).click();
		await page.locator(".order-id").click();
		await page.getByRole("heading", { name: "History" }).waitFor();
		await page.goto(`${main}/integration`);
		await reportSale(service, credentials, "Acme");
		await reloadUntil(page, page.getByText("The numbers behind"));
		await page.getByText("The numbers behind").click();
		await page.getByRole("region", { name: /as a table/ }).waitFor();
		await page.locator("details.menu > summary").click();
		await page.getByRole("button", { name: "Sign out" }).click();
		await page.getByRole("heading", { name: "Sign in" }).waitFor();
		await page.goto(`${main}/overview`);
		await page.getByRole("heading", { name: "Sign in" }).waitFor();
		await staff.leave();
		await owner.leave();
	});
}

async function reloadUntil(page: Page, wanted: Locator): Promise<void> {
	const giveUpAtMs = performance.now() + PATIENCE_MS;
	while ((await wanted.count()) === 0) {
		ok(performance.now() < giveUpAtMs, `it never came: ${wanted}`);
		await page.goto(page.url().replace(/#.*/, ""));
	}
}
