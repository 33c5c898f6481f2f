// The steps from the first start to the first callback, by the labels that people read on the pages.

import { equal, match, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Service } from "../../src/service.ts";
import type { MailServer } from "../support/mail-server.ts";
import { PATIENCE_MS } from "../support/patience.ts";
import { signedRequest } from "../support/signed-request.ts";
import { openVisitor } from "./visitor.ts";

export const PASSWORD = "correct horse battery";
export const STAFF_EMAIL = "mira@network.example";

/** Creates the first account. Afterwards the browser shows the set-up page. */
export async function becomeFirstStaff(
	page: Page,
	welcomeLink: string | null,
	name = "Mira Castellan",
): Promise<void> {
	ok(welcomeLink !== null, "a service that nobody can sign in to prints a link");
	await page.goto(welcomeLink);
	await page.getByLabel("Email").fill(STAFF_EMAIL);
	await page.getByLabel("Your name").fill(name);
	await page.getByLabel("Password").fill(PASSWORD);
	await page.getByRole("button", { name: "Continue" }).click();
	await page.getByRole("heading", { name: "Set up your network", level: 1 }).waitFor();
}

/** Goes from the set-up page to the form of the first programme. */
export async function nameNetwork(page: Page, name: string, brand: string): Promise<void> {
	await page.getByLabel("Network name").fill(name);
	await page.getByLabel("Brand in header names").fill(brand);
	await page.getByRole("button", { name: "Save and continue" }).click();
	await page.getByRole("heading", { name: "Create programme", level: 1 }).waitFor();
}

/** Goes from the set-up page to the Integration page of a sample programme, which shows its key. */
export async function trySample(page: Page, name: string): Promise<ShownKey> {
	await page.getByLabel("Network name").fill(name);
	await pressTwice(page, "Save and try it with a sample programme");
	return readShownKey(page);
}

/** Double-clicks a button. */
export async function pressTwice(page: Page, name: string): Promise<void> {
	await page.getByRole("button", { name }).focus();
	equal(await page.evaluate(PRESS_TWICE), 1, "it is sent once");
}

const PRESS_TWICE = `(() => {
	let sent = 0;
	addEventListener("submit", () => sent++);
	const button = document.activeElement;
	button.click();
	button.click();
	return sent;
})()`;

/**
 * Creates a programme and resolves to the owner's link. Afterwards the browser shows the page with that link.
 */
export async function createProgramme(page: Page, programme: ProgrammeForm): Promise<string> {
	await page.goto("/programmes/new");
	await fillProgramme(page, programme);
	const link = await page.locator("#invitation code").textContent();
	match(link ?? "", /\/welcome\//);
	return link ?? "";
}

interface ProgrammeForm {
	name: string;
	/** Email address of the owner. If it is missing, the programme is created without an owner. */
	ownerEmail?: string;
	commission?: string;
	fee?: string;
}

/**
 * Fills in and sends the form. Afterwards the browser shows the People page with the owner's link, or the
 * Integration page if the programme has no owner.
 */
export async function fillProgramme(
	page: Page,
	{ name, ownerEmail, commission = "8", fee = "2.5" }: ProgrammeForm,
): Promise<void> {
	await page.getByLabel("Name", { exact: true }).fill(name);
	if (ownerEmail !== undefined) await page.getByLabel("Owner's email").fill(ownerEmail);
	await page.getByLabel("Commission, %").fill(commission);
	await page.getByLabel("Network fee, %").fill(fee);
	await page.getByRole("button", { name: "Create programme" }).click();
	const next = ownerEmail === undefined ? "Integration" : "People";
	await page.getByRole("heading", { name: next, level: 1 }).waitFor();
}

/** Returns the link of the first mail to this address with this subject. */
export async function linkFromMail(mail: MailServer, to: string, subject: RegExp): Promise<string> {
	const giveUpAtMs = performance.now() + PATIENCE_MS;
	for (;;) {
		const mails = mail.mails.filter((candidate) => candidate.to.includes(to));
		const found = mails.find(({ headers }) => subject.test(headers.get("subject") ?? ""));
		const link = /^https?:\S+$/m.exec(found?.text ?? "")?.[0];
		if (link !== undefined) return link;
		if (performance.now() > giveUpAtMs)
			throw new Error(`no link in a mail to ${to}: ${JSON.stringify(mails.map(({ text }) => text))}`);
		await pause(10);
	}
}

/**
 * Joins by the link and resolves to the programme's path. Afterwards the browser shows the Integration page.
 */
export async function joinAsOwner(page: Page, link: string, name = "Jonas Brandt"): Promise<string> {
	await page.goto(link);
	await page.getByLabel("Your name").fill(name);
	await page.getByLabel("Password").fill(PASSWORD);
	await page.getByRole("button", { name: "Continue" }).click();
	await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
	await page.getByRole("link", { name: "Integration", exact: true }).click();
	await page.getByRole("heading", { name: "Integration", level: 1 }).waitFor();
	return new URL(page.url()).pathname.replace(/\/integration$/, "");
}

interface ShownKey {
	key: string;
	secret: string;
}

export async function issueKey(page: Page): Promise<ShownKey> {
	await page.getByRole("button", { name: "Issue API key" }).click();
	return readShownKey(page);
}

async function readShownKey(page: Page): Promise<ShownKey> {
	const shown = page.locator("#keys .message code:not(p code)");
	await shown.first().waitFor();
	const [key = "", secret = ""] = await shown.allTextContents();
	return { key, secret };
}

/** Reports a real sale, because charts and health do not count tests. */
export async function reportSale({ url }: Service, credentials: ShownKey, brand = "Service"): Promise<void> {
	const body = { orderId: "A-1", basketValue: "10.00" };
	const call = signedRequest("POST", "/v1/conversions", credentials, { body, nowMs: Date.now(), brand });
	const { headers } = call;
	const answer = await fetch(`${url}/v1/conversions`, { method: "POST", headers, body: await call.text() });
	equal(answer.status, 201);
}

export async function savePostbackUrl(page: Page, url: string): Promise<void> {
	await page.getByLabel("Postback URL").fill(url);
	await page.getByRole("button", { name: "Save", exact: true }).click();
	await page.getByText("The Postback URL is saved.").waitFor();
}

export async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
	await page.goto("/sign-in");
	await page.getByLabel("Email").fill(email);
	await page.getByLabel("Password").fill(password);
	await page.getByRole("button", { name: "Sign in" }).click();
	await page.locator("details.menu").waitFor();
}

/** A shop whose owner has joined, and the owner's cookies. */
export interface FirstShop {
	/** Path of the programme's pages. */
	path: string;
	storageState: Awaited<ReturnType<BrowserContext["storageState"]>>;
}

/** Sets up staff, a programme and its owner. `prepare` runs in the owner's browser before it is closed. */
export async function openFirstShop(
	browser: Browser,
	{ url, welcomeLink }: Service,
	ownerEmail: string,
	prepare: (page: Page) => Promise<unknown> = async () => undefined,
): Promise<FirstShop> {
	const staff = await openVisitor(browser, url);
	await becomeFirstStaff(staff.page, welcomeLink);
	const link = await createProgramme(staff.page, { name: "Nordlicht Outdoor", ownerEmail });
	await staff.leave();
	const owner = await openVisitor(browser, url);
	const path = await joinAsOwner(owner.page, link);
	await prepare(owner.page);
	const storageState = await owner.context.storageState();
	await owner.leave();
	return { path, storageState };
}
