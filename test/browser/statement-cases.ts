// Lists the pages about statements for the page checks, as staff and as a partner see them.

import type { Page } from "playwright-core";
import { PASSWORD } from "./first-steps.ts";
import { type Case, look, press } from "./page-cases.ts";
import type { SampleNetwork } from "./sample-network.ts";

export function staffStatements({ partnerBase }: SampleNetwork): Case[] {
	const at = (path: string) => `${partnerBase}${path}`;
	return [
		look("statements", "/statements"),
		look("statements, a month that is not over", "/statements", prepareThisMonth, 409),
		look("statements, the preview", "/statements", prepareLastMonth),
		look("statements, those that are carried forward", "/statements?month=all&state=carried"),
		look("statements, all ticked", "/statements?month=all", tickStatements),
		look("statements, ticked without payment details", "/statements?month=all", payWithoutDetails, 409),
		look("statements, a filter that is not understood", "/statements?state=lost", undefined, 422),
		look("statements, a file of payments", "/statements/payments"),
		look("statements, the preview of payments", "/statements/payments", uploadPayments),
		look("statements of a partner, for staff", at("/statements")),
		look("a statement that is to be paid, for staff", at("/statements"), openStatement("To pay")),
		look("a statement that was paid, for staff", at("/statements"), openStatement("Paid")),
		look("entries of a partner, for staff", at("/entries")),
		look("entries of a partner, a bonus that is refused", at("/entries"), addWrongBonus, 422),
		look("payment details, for staff", at("/payment-details")),
	];
}

export function partnersStatements({ partnerBase }: SampleNetwork): Case[] {
	const at = (path: string) => `${partnerBase}${path}`;
	return [
		look("statements", at("/statements")),
		look("a statement", at("/statements"), openStatement("To pay")),
		look("a statement that was paid", at("/statements"), openStatement("Paid")),
		look("entries", at("/entries")),
		look("entries, none found", at("/entries?kind=CHANGED")),
		look("payment details", at("/payment-details")),
		look("payment details, a wrong IBAN", at("/payment-details"), saveWrongIban, 422),
		look("statements of all partners", "/statements", undefined, 404),
	];
}

async function prepareThisMonth(page: Page): Promise<void> {
	await page.locator("#prepare select").selectOption({ index: 0 });
	await press("Prepare statements")(page);
	await page.locator("#month-error").waitFor();
}

async function prepareLastMonth(page: Page): Promise<void> {
	await press("Prepare statements")(page);
	await page.getByRole("heading", { name: "Preview, not confirmed yet" }).waitFor();
}

async function tickStatements(page: Page): Promise<void> {
	for (const box of await page.locator('input[name="statement"]').all()) await box.check();
}

async function payWithoutDetails(page: Page): Promise<void> {
	await tickStatements(page);
	await press("Mark as paid")(page);
	await page.locator("#paidWithoutDetails-error").waitFor();
}

async function uploadPayments(page: Page): Promise<void> {
	const lines = "number,date,reference\n2000-0001,2026-01-01,unknown\n";
	const file = { name: "bank.csv", mimeType: "text/csv", buffer: Buffer.from(lines) };
	await page.locator("input[type=file]").setInputFiles(file);
	await press("Upload and check")(page);
	await page.getByRole("heading", { name: "Preview, not confirmed yet" }).waitFor();
}

export function openStatement(state: string): (page: Page) => Promise<void> {
	return async (page) => {
		await page.getByRole("row").filter({ hasText: state }).getByRole("link").first().click();
		await page.getByRole("heading", { name: /^Statement / }).waitFor();
	};
}

async function addWrongBonus(page: Page): Promise<void> {
	await page.getByLabel("Amount").fill("a lot");
	await page.getByLabel("Reason").fill("x");
	await press("Add entry")(page);
	await page.locator("#amount-error").waitFor();
}

async function saveWrongIban(page: Page): Promise<void> {
	await page.getByLabel("IBAN").fill("DE88 3704 0044 0532 0130 00");
	await page.getByLabel("Current password").fill(PASSWORD);
	await press("Save")(page);
	await page.locator("#iban-error").waitFor();
}
