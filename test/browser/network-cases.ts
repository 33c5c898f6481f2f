// Lists the network's own pages for the page checks, with the actions of staff on them.

import type { Page } from "playwright-core";
import { pngOf } from "../support/images.ts";
import { type Case, look, press } from "./page-cases.ts";

export const NETWORK_PAGES: readonly Case[] = [
	look("network", "/network"),
	look("network, refused", "/network", saveNetworkWrongly, 422),
	look("network, a logo that is none", "/network", uploadWrongLogo, 422),
	look("network, a new logo", "/network", uploadLogo),
	look("network, a minimum payout that is refused", "/network", savePayoutsWrongly, 422),
	look("API tokens", "/network/tokens"),
	look("system", "/system"),
	look("the operations guide", "/docs/operations"),
	look("the operations guide, a part with code and tables", "/docs/operations/watching"),
	look("failed callbacks", "/system/resend"),
	look("failed callbacks, a preview", "/system/resend?from=2020-01-01T00:00"),
	look(
		"failed callbacks, times that are not understood",
		"/system/resend?from=2020-01-02T00:00&to=2020-01-01T00:00",
		undefined,
		422,
	),
	look("the audit log", "/system/audit"),
	look("the audit log, none found", "/system/audit?from=2099-01-01"),
	look("personal data", "/system/personal-data"),
	look("personal data, nobody found", "/system/personal-data?who=nobody@network.example", undefined, 404),
	look("the audit log, a filter that is not understood", "/system/audit?from=tomorrow", undefined, 422),
];

async function saveNetworkWrongly(page: Page): Promise<void> {
	await page.getByLabel("Colour").fill("yellow");
	await page.getByLabel("Sender's name").fill("Acme <x>");
	await press("Save")(page);
	await page.locator(".field-error").first().waitFor();
}

async function savePayoutsWrongly(page: Page): Promise<void> {
	await page.getByLabel("Minimum payout, EUR").fill("a lot");
	await page.getByRole("button", { name: "Save payouts" }).click();
	await page.locator("#minimumEUR-error").waitFor();
}

async function uploadWrongLogo(page: Page): Promise<void> {
	const file = { name: "logo.png", mimeType: "image/png", buffer: Buffer.from("<svg/>") };
	await page.locator("input[type=file]").setInputFiles(file);
	await press("Upload")(page);
	await page.locator("#file-error").waitFor();
}

async function uploadLogo(page: Page): Promise<void> {
	const file = { name: "logo.png", mimeType: "image/png", buffer: pngOf(64, 48) };
	await page.locator("input[type=file]").setInputFiles(file);
	await press("Upload")(page);
	await page.getByText("The logo is saved.").waitFor();
}
