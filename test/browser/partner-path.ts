// Tests the path from a partner's application to a sale in the earnings. Staff, owner, partner and buyer each
// have their own browser.

import { ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient } from "@ringback/receiver";
import type { Browser } from "playwright-core";
import { SHOP_NAME, type ShopPage, startShopPage } from "../../demo/shop-page.ts";
import { issueKey, linkFromMail, openFirstShop, PASSWORD, STAFF_EMAIL, signIn } from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const PARTNER = "zoe@blog.example";
/** User agent of a usual browser. The headless browser of the tests counts as a crawler. */
const BROWSER =
	"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36";
/** The first order of the demo's shop. */
const ORDER = "2001";
/** Time to wait for the new sum before the page is opened again. */
const RELOAD_MS = 250;
/** Commission of the sale: eight percent of 89.00. */
const COMMISSION = "7.12";

export function testPartnerPath(browser: () => Browser): void {
	let setup: Setup;
	let shopPage: ShopPage;
	before(async () => {
		shopPage = await startShopPage();
		setup = await openSetup();
	});
	after(async () => {
		shopPage.close();
		await setup.close();
	});

	test("a partner applies and is accepted, the link is clicked, and the sale is in the earnings", async () => {
		const { service, mail } = setup;
		let credentials = { key: "", secret: "" };
		const shop = await openFirstShop(browser(), service, "jonas@nordlicht.example", async (page) => {
			credentials = await issueKey(page);
		});

		const staff = await openVisitor(browser(), service.url);
		await signIn(staff.page, STAFF_EMAIL);
		await staff.page.goto(`${shop.path}/partners`);
		await staff.page.getByRole("link", { name: "Settings for partners" }).last().click();
		await staff.page.getByLabel("Credit sales to partners").check();
		await staff.page.getByLabel("Partners may apply").check();
		await staff.page.getByLabel("Shop addresses").fill(new URL(SHOP_NAME).hostname);
		await staff.page.getByRole("button", { name: "Save" }).click();
		const join = (await staff.page.locator("main code").first().textContent()) ?? "";
		await staff.leave();

		const partner = await openVisitor(browser(), service.url);
		await partner.page.goto(join);
		await partner.page.getByLabel("Your name or company").fill("Zelt & Co");
		await partner.page.getByLabel("Email").fill(PARTNER);
		await partner.page.getByLabel("How would you bring sales?").fill("Reviews");
		await partner.page.getByRole("button", { name: "Apply" }).click();
		await partner.page.getByRole("heading", { name: "Thank you" }).waitFor();

		const owner = await openVisitor(browser(), service.url, { storageState: shop.storageState });
		await owner.page.goto(`${shop.path}/partners`);
		const accept = owner.page.getByRole("button", { name: "Accept Zelt & Co" });
		await accept.click();
		await accept.waitFor({ state: "detached" });

		await partner.page.goto(await linkFromMail(mail, PARTNER, /partner/i));
		await partner.page.getByLabel("Your name").fill("Zoe");
		await partner.page.getByLabel("Password").fill(PASSWORD);
		await partner.page.getByRole("button", { name: "Continue" }).click();
		await partner.page.getByRole("link", { name: "Links", exact: true }).click();
		await partner.page.getByLabel("Target address").fill(`${SHOP_NAME}/tents`);
		await partner.page.getByRole("button", { name: "Make link" }).click();
		const link = (await partner.page.locator("#address code").textContent()) ?? "";

		const { key: apiKey, secret } = credentials;
		shopPage.shop = { serviceUrl: service.url, client: createClient({ url: service.url, apiKey, secret }) };
		const buyer = await openVisitor(browser(), shopPage.url, { userAgent: BROWSER });
		// In the demo the links start on the shop's page.
		await buyer.page.goto(`${link.replace(service.url, shopPage.url)}?s1=newsletter`);
		ok(new URL(buyer.page.url()).searchParams.has("rbclick"));
		await buyer.page.getByRole("button", { name: "Buy" }).click();
		await buyer.page.getByText("credit CLICK").waitFor();
		await buyer.leave();

		await owner.page.goto(`${shop.path}/conversions`);
		await owner.page.getByRole("link", { name: "Zelt & Co" }).waitFor();
		await owner.page.getByRole("link", { name: ORDER }).click();
		await owner.page.getByRole("button", { name: "Approve" }).click();
		await owner.page.getByText(`Order ${ORDER} is approved.`).waitFor();
		await owner.leave();

		await partner.page.getByRole("link", { name: "Conversions", exact: true }).click();
		await partner.page
			.getByRole("row")
			.filter({ hasText: "Approved" })
			.filter({ hasText: "s1: newsletter" })
			.waitFor();
		// A sum that was counted before the sale stays for a while, so the partner opens the page until it is counted again.
		const earned = partner.page.getByRole("row").filter({ hasText: COMMISSION });
		do {
			await partner.page.getByRole("link", { name: "Earnings", exact: true }).click();
			await partner.page.getByRole("heading", { name: "Earnings", level: 1 }).waitFor();
			await earned
				.first()
				.waitFor({ timeout: RELOAD_MS })
				.catch(() => undefined);
		} while ((await earned.count()) === 0);
		await partner.leave();
	});
}
