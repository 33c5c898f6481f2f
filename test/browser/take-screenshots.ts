// Pictures of a network that has been running for a month. `node test/browser/take-screenshots.ts` renews those of the
// README; with a folder behind it, every page is written there, to be looked at.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { findBrowser } from "../support/browser.ts";
import { comeOverUnknownProxy } from "./page-cases.ts";
import { fillSampleNetwork, type SampleNetwork } from "./sample-network.ts";
import { openSetup } from "./setup.ts";
import { shrinkPng } from "./shrink-png.ts";
import { openVisitor } from "./visitor.ts";

interface Shot {
	name: string;
	as: "owner" | "staff" | "nobody";
	path: (site: SampleNetwork) => string;
	isDark?: true;
	isNarrow?: true;
	/** What somebody does before the picture is taken. */
	act?: (page: Page) => Promise<void>;
}

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const IN_README = ["integration", "conversions-dark"];
const [folder = IMAGES] = process.argv.slice(2);

const SHOTS: readonly Shot[] = [
	{ name: "sign-in", as: "nobody", path: () => "/sign-in" },
	{ name: "guide", as: "nobody", path: () => "/docs" },
	{ name: "guide-narrow", as: "nobody", path: () => "/docs#the-retry-calendar", isNarrow: true },
	{ name: "api-reference", as: "nobody", path: () => "/docs/api#recordConversion" },
	{ name: "api-reference-dark", as: "nobody", path: () => "/docs/api", isDark: true },
	{ name: "integration", as: "owner", path: ({ main }) => `${main}/integration` },
	{ name: "integration-narrow", as: "owner", path: ({ main }) => `${main}/integration`, isNarrow: true },
	{ name: "integration-first-steps", as: "staff", path: ({ fresh }) => `${fresh}/integration` },
	{
		name: "postbacks",
		as: "owner",
		path: ({ main }) => `${main}/integration`,
		act: scrollTo("#deliveries"),
	},
	{ name: "health", as: "owner", path: ({ main }) => `${main}/integration`, act: scrollTo("#health-live") },
	{ name: "keys-and-snippets", as: "owner", path: ({ main }) => `${main}/integration/keys` },
	{
		name: "delivery",
		as: "owner",
		path: ({ main }) => `${main}/integration?state=failed`,
		act: openFirstDelivery,
	},
	{ name: "inbound-log", as: "owner", path: ({ main }) => `${main}/integration/inbound` },
	{
		name: "check-a-signature",
		as: "owner",
		path: ({ main }) => `${main}/integration/signature`,
		act: checkSignature,
	},
	{ name: "conversions", as: "owner", path: ({ main }) => `${main}/conversions` },
	{ name: "conversions-narrow", as: "owner", path: ({ main }) => `${main}/conversions`, isNarrow: true },
	{ name: "conversions-dark", as: "owner", path: ({ main }) => `${main}/conversions`, isDark: true },
	{
		name: "conversion",
		as: "owner",
		path: ({ main }) => `${main}/conversions?status=REVERSED`,
		act: openFirstConversion,
	},
	{
		name: "decide-by-csv",
		as: "owner",
		path: ({ main }) => `${main}/conversions/bulk`,
		act: uploadDecisions,
	},
	{ name: "overview", as: "owner", path: ({ main }) => `${main}/overview` },
	{ name: "overview-dark", as: "owner", path: ({ main }) => `${main}/overview`, isDark: true },
	{ name: "people", as: "owner", path: ({ main }) => `${main}/people` },
	{ name: "settings", as: "staff", path: ({ main }) => `${main}/settings` },
	{ name: "programmes", as: "staff", path: () => "/programmes" },
	{ name: "totals", as: "staff", path: () => "/totals", act: waitForCount },
	{ name: "totals-narrow", as: "staff", path: () => "/totals", act: waitForCount, isNarrow: true },
	{ name: "create-programme", as: "staff", path: () => "/programmes/new" },
	{ name: "all-conversions", as: "staff", path: () => "/conversions?status=RECORDED" },
	{ name: "staff", as: "staff", path: () => "/people" },
	{ name: "network", as: "staff", path: () => "/network" },
	{ name: "account", as: "owner", path: () => "/account" },
	// Last: staff are warned for an hour.
	{ name: "warnings", as: "staff", path: () => "/programmes", act: comeOverUnknownProxy },
	{ name: "warnings-dark", as: "staff", path: () => "/programmes", act: comeOverUnknownProxy, isDark: true },
	{
		name: "warnings-narrow",
		as: "staff",
		path: () => "/programmes",
		act: comeOverUnknownProxy,
		isNarrow: true,
	},
];

function scrollTo(selector: string) {
	return async (page: Page): Promise<void> => {
		await page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.scrollIntoView()`);
	};
}

async function waitForCount(page: Page): Promise<void> {
	await page.getByText(/^Counted/).waitFor();
}

async function openFirstDelivery(page: Page): Promise<void> {
	await page.locator("#deliveries-live a").first().click();
	await page.getByText("The request as it was sent").first().click();
}

async function openFirstConversion(page: Page): Promise<void> {
	await page.locator(".order-id").first().click();
	await page.getByRole("heading", { name: "History" }).waitFor();
}

async function checkSignature(page: Page): Promise<void> {
	const main = page.url().replace("/signature", "");
	await page.goto(`${main}?state=delivered`);
	await page.locator("#deliveries-live a").first().click();
	await page.getByRole("link", { name: "Check its signature" }).first().click();
	const body = page.getByLabel(/^Body/);
	await body.fill(`${await body.inputValue()} `);
	await page.getByRole("button", { name: "Check", exact: true }).click();
	await page.getByRole("heading", { name: "What we found" }).waitFor();
}

async function uploadDecisions(page: Page): Promise<void> {
	const main = page.url().replace("/bulk", "");
	await page.goto(main);
	const orders = (await page.locator(".order-id").allTextContents()).slice(3, 11);
	await page.goto(`${main}/bulk`);
	const rows = orders.map(
		(order, index) => `${order},${index % 3 === 2 ? "reject,OUT_OF_STOCK" : "approve,"}`,
	);
	const csv = ["orderId,decision,reason", ...rows, "NL-999999,approve,"].join("\n");
	const file = { name: "decisions.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
	await page.locator("input[type=file]").setInputFiles(file);
	await page
		.getByRole("button", { name: /upload|preview|check/i })
		.first()
		.click();
	await page.getByRole("button", { name: /^Decide/i }).waitFor();
}

async function takeShot(browser: Browser, url: string, site: SampleNetwork, shot: Shot): Promise<void> {
	const visitor = await openVisitor(browser, url, {
		viewport: shot.isNarrow === true ? { width: 390, height: 844 } : { width: 1440, height: 900 },
		colorScheme: shot.isDark === true ? "dark" : "light",
		...(shot.as === "nobody" ? {} : { storageState: site[shot.as] }),
	});
	await visitor.page.goto(shot.path(site));
	await shot.act?.(visitor.page);
	await visitor.page.mouse.move(0, 0);
	const picture = shrinkPng(await visitor.page.screenshot());
	writeFileSync(join(folder, `${shot.name}.png`), picture);
	console.log(`${shot.name}: ${Math.round(picture.length / 1_024)} KB`);
	await visitor.leave();
}

mkdirSync(folder, { recursive: true });
const found = await findBrowser();
if (!found.isThere) throw new Error(found.reason);
const { browser } = found;
// No engine: what waits for its next attempt goes on waiting. A port of its own, because it is in the pictures.
const setup = await openSetup({
	settings: { PORT: "8460", RINGBACK_ROLE: "web", RINGBACK_ALLOWED_PRIVATE_RANGES: "" },
});
try {
	const site = await fillSampleNetwork(browser, setup.service, { sales: 420 });
	const shots = folder === IMAGES ? SHOTS.filter(({ name }) => IN_README.includes(name)) : SHOTS;
	for (const shot of shots) await takeShot(browser, setup.service.url, site, shot);
} finally {
	await browser.close();
	await setup.close();
}
