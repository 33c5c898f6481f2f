// Tests the site without a mouse. Every step uses the keyboard, and the focus is always visible.

import { equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startIdentityProvider, type TestProvider } from "../support/identity-provider.ts";
import { issueKey, openFirstShop, PASSWORD, STAFF_EMAIL } from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const OWNER = "jonas@nordlicht.example";
/** Maximum number of Tab presses. No page has that many elements that take the focus. */
const MOST_TABS = 60;

export function testKeyboard(browser: () => Browser): void {
	let setup: Setup;
	let provider: TestProvider;
	before(async () => {
		// For a browser, another host name is another site.
		provider = await startIdentityProvider({ host: "localhost" });
		setup = await openSetup({ settings: provider.settings });
		provider.register(`${setup.service.publicUrl}/sign-in/company/return`);
		await openFirstShop(browser(), setup.service, OWNER, issueKey);
	});
	after(async () => {
		await setup.close();
		await provider.close();
	});

	test("signing in with the company's account needs no mouse, and leads to the page that was asked for", async () => {
		provider.accounts.set("mira", { email: STAFF_EMAIL, email_verified: true });
		const staff = await openVisitor(browser(), setup.service.url);
		const { page } = staff;
		await page.goto("/system/audit");
		await tabTo(page, "Sign in with the company account");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Company account" }).waitFor();
		await page.getByLabel("Account").focus();
		await page.keyboard.type("mira");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor();
		await page.getByText(provider.issuer).first().waitFor();
		await page.goto("/account");
		await page.getByText("This one").waitFor();
		await staff.leave();
	});

	test("signing in, saving a URL and sending a test need no mouse", async () => {
		const { service, shop } = setup;
		const owner = await openVisitor(browser(), service.url);
		const { page } = owner;
		await page.goto("/sign-in");
		await tabTo(page, "Email");
		await page.keyboard.type(OWNER);
		await tabTo(page, "Password");
		await page.keyboard.type(PASSWORD);
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
		await tabTo(page, "Integration");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Integration", level: 1 }).waitFor();

		await page.keyboard.press("Tab");
		equal(await nameOfFocused(page), "Skip to content");
		await page.keyboard.press("Enter");
		await tabTo(page, "Inbound log");
		equal(await page.evaluate("document.querySelector('main').contains(document.activeElement)"), true);
		await tabTo(page, "Postback URL");
		await page.keyboard.type(shop.url("/ringback"));
		await page.keyboard.press("Enter");
		await page.getByText("The Postback URL is saved.").waitFor();
		await tabTo(page, "Send test conversion");
		await page.keyboard.press("Enter");
		await page.locator("#test-live").getByText("Delivered").waitFor();
		equal(shop.requests.length, 1);
		await owner.leave();
	});

	test("Enter opens the account menu, and Escape closes it and returns the focus", async () => {
		const owner = await openVisitor(browser(), setup.service.url);
		const { page } = owner;
		await page.goto("/sign-in");
		await page.getByLabel("Email").fill(OWNER);
		await page.getByLabel("Password").fill(PASSWORD);
		await page.keyboard.press("Enter");
		await page.locator("details.menu").waitFor();
		await tabTo(page, "Account");
		await page.keyboard.press("Enter");
		await tabTo(page, "Account settings");
		await page.keyboard.press("Escape");
		equal(await page.locator("details.menu").getAttribute("open"), null);
		equal(await nameOfFocused(page), "Account");
		await owner.leave();
	});
}

/**
 * Presses Tab until the named element has the focus. Every element on the way must be visible and show its
 * focus.
 */
async function tabTo(page: Page, name: string): Promise<void> {
	for (let tabs = 0; tabs < MOST_TABS; tabs++) {
		await page.keyboard.press("Tab");
		const { outline, isInView, label } = await page.evaluate<Focused>(FOCUSED);
		match(outline, /solid|auto/, `the focus on “${label}” cannot be seen`);
		ok(isInView, `“${label}” has the focus and is out of sight`);
		if (label === name) return;
	}
	throw new Error(`no way to “${name}” by Tab`);
}

async function nameOfFocused(page: Page): Promise<string> {
	return (await page.evaluate<Focused>(FOCUSED)).label;
}

interface Focused {
	label: string;
	outline: string;
	isInView: boolean;
}

const FOCUSED = `(() => {
	const element = document.activeElement;
	const { top, bottom, left, right, width } = element.getBoundingClientRect();
	return {
		label: (element.labels?.[0] ?? element).textContent.trim() || element.getAttribute("aria-label") || element.tagName,
		outline: getComputedStyle(element).outlineStyle,
		isInView: width > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth,
	};
})()`;
