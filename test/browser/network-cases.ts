// The network's own pages, and what staff do on them.

import type { Page } from "playwright-core";
import { pngOf } from "../support/images.ts";
import { type Case, press } from "./page-cases.ts";

export const NETWORK_PAGES: readonly Case[] = [
	{ what: "network", path: "/network" },
	{ what: "network, refused", path: "/network", status: 422, act: saveNetworkWrongly },
	{ what: "network, a logo that is none", path: "/network", status: 422, act: uploadWrongLogo },
	{ what: "network, a new logo", path: "/network", act: uploadLogo },
	{ what: "system", path: "/system" },
	{ what: "the operations guide", path: "/docs/operations" },
	{ what: "the operations guide, a part with code and tables", path: "/docs/operations/watching" },
	{ what: "the audit log", path: "/system/audit" },
	{ what: "the audit log, none found", path: "/system/audit?person=nobody@network.example" },
	{
		what: "the audit log, a filter that is not understood",
		path: "/system/audit?from=tomorrow",
		status: 422,
	},
];

async function saveNetworkWrongly(page: Page): Promise<void> {
	await page.getByLabel("Colour").fill("yellow");
	await page.getByLabel("Sender's name").fill("Acme <x>");
	await press("Save")(page);
	await page.locator(".field-error").first().waitFor();
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
