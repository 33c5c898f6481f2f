// Actions on the pages about conversions, which bring a page into the state that a test looks at.

import type { Page } from "playwright-core";

export async function openConversion(page: Page): Promise<void> {
	await page.locator(".order-id").first().click();
	await page.getByRole("heading", { name: "History" }).waitFor();
}

/** Refunds a cent of the first conversion of the list, on its own page. */
export async function refundPart(page: Page): Promise<void> {
	await sendRefund(page, "0.01");
	await page.getByText(/was refunded/).waitFor();
}

/** Tries to refund more than the conversion's value. */
export async function refundTooMuch(page: Page): Promise<void> {
	await sendRefund(page, "999999999.00");
	await page.getByText(/is left of this conversion/).waitFor();
}

async function sendRefund(page: Page, amount: string): Promise<void> {
	await openConversion(page);
	await page.getByText("Refund a part").click();
	await page.getByLabel(/^Amount in/).fill(amount);
	await page.locator("#refund-reason").selectOption("RETURN");
	await page.getByRole("button", { name: "Refund", exact: true }).click();
}

export async function tickTwo(page: Page): Promise<void> {
	const boxes = page.locator("tbody input[type=checkbox]");
	await boxes.nth(0).check();
	await boxes.nth(1).check();
	await page.getByText(/^2 selected/).waitFor();
}

export async function rejectTwo(page: Page): Promise<void> {
	await tickTwo(page);
	await page.getByLabel(/^Reason/).selectOption("OUT_OF_STOCK");
	await page.getByRole("button", { name: "Reject" }).click();
	await page.getByRole("heading", { name: "Reject 2 conversions?" }).waitFor();
}

export async function rejectOne(page: Page): Promise<void> {
	await page.locator("tbody input[type=checkbox]").first().check();
	await page.getByLabel(/^Reason/).selectOption("OUT_OF_STOCK");
	await page.getByRole("button", { name: "Reject" }).click();
	await page.getByRole("heading", { name: /^Reject order/ }).waitFor();
}

/** Uploads a file that approves this order, and another order whose id looks like a formula. */
export function uploadDecisions(order: string) {
	return (page: Page) => upload(page, order);
}

async function upload(page: Page, order: string): Promise<void> {
	const csv = `orderId,decision,reason\n${order},approve,\n"=cmd|' /C calc'!A0",approve,\n`;
	const file = { name: "decisions.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
	await page.locator("input[type=file]").setInputFiles(file);
	await page
		.getByRole("button", { name: /upload|preview|check/i })
		.first()
		.click();
	await page.getByRole("heading", { name: "Preview, not confirmed yet" }).waitFor();
}
