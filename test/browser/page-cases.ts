// Every page and what can be seen on it: who looks, where, and what they do before.

import type { Page } from "playwright-core";
import { openConversion, rejectOne, rejectTwo, tickTwo, uploadDecisions } from "./deciding-acts.ts";
import { PASSWORD } from "./first-steps.ts";
import { LONG_ORDER, MARKUP_ORDER, NAME } from "./hard-names.ts";
import type { SampleNetwork } from "./sample-network.ts";

export interface Case {
	what: string;
	path: string;
	status?: number;
	/** A tab of Integration: no longer than people scroll. */
	isBounded?: true;
	/** What somebody does before the page is looked at. */
	act?: (page: Page) => Promise<void>;
}

export const NOBODYS: readonly Case[] = [
	{ what: "sign-in", path: "/sign-in" },
	{ what: "sign-in, refused", path: "/sign-in", status: 401, act: signInWrongly },
	{ what: "a sign-in code", path: "/sign-in/code" },
	{ what: "a forgotten password", path: "/forgot-password" },
	{ what: "a forgotten password, asked for", path: "/forgot-password", act: askForLink },
	{ what: "a link that has ended", path: "/welcome/nothing", status: 410 },
	{ what: "a page that is not there", path: "/nothing-here", status: 404 },
	{ what: "the receiver guide", path: "/docs" },
	{ what: "the API reference", path: "/docs/api" },
	{ what: "the docs searched", path: "/docs/search?q=X-Service-Signature" },
	{ what: "the docs searched, nothing found", path: "/docs/search?q=unicorn" },
	{ what: "the problems", path: "/problems" },
	{ what: "a problem", path: "/problems/bad_signature" },
	{ what: "a problem of the pixel", path: "/problems/pixel_limited" },
	{ what: "downloads", path: "/downloads" },
];

export function ownersPages({ main, fresh }: SampleNetwork): Case[] {
	const at = (path: string) => `${main}${path}`;
	return [
		{ what: "overview", path: at("/overview") },
		{ what: "overview, the numbers behind the chart", path: at("/overview"), act: openDetails },
		{ what: "integration", path: at("/integration"), isBounded: true },
		{ what: "integration, everything unfolded", path: at("/integration"), act: openDetails },
		{ what: "keys and snippets", path: at("/integration/keys"), isBounded: true },
		{ what: "keys and snippets, everything unfolded", path: at("/integration/keys"), act: openDetails },
		{
			what: "keys and snippets, a key and nothing else shown once",
			path: at("/integration/keys?lang=php"),
			act: press("Issue API key"),
		},
		{
			what: "integration, an URL that is refused",
			path: at("/integration"),
			status: 422,
			act: saveWrongUrl,
		},
		{ what: "postbacks, the failed ones", path: at("/integration?state=failed"), isBounded: true },
		{ what: "postbacks, an order that is not there", path: at("/integration?order=nothing") },
		{ what: "postbacks, a filter that is not understood", path: at("/integration?state=lost"), status: 422 },
		{ what: "a delivery", path: at("/integration?state=failed"), act: openDelivery },
		{ what: "a delivery that waits", path: at("/integration?state=pending"), act: openDelivery },
		{ what: "inbound log", path: at("/integration/inbound"), isBounded: true },
		{
			what: "inbound log, an order",
			path: at(`/integration/inbound?order=${encodeURIComponent(MARKUP_ORDER)}`),
		},
		{ what: "inbound log, an order nobody reported", path: at("/integration/inbound?order=nothing") },
		{ what: "check a signature", path: at("/integration/signature"), isBounded: true },
		{ what: "check a signature, the result", path: at("/integration/signature"), act: press("Check") },
		{
			what: "check a signature, a callback that was damaged",
			path: at("/integration?state=delivered"),
			act: checkDamaged,
		},
		{ what: "conversions", path: at("/conversions") },
		{ what: "conversions, none found", path: at("/conversions?orderId=nothing") },
		{
			what: "conversions, filters that are not understood",
			path: at("/conversions?status=BOGUS&from=tomorrow"),
			status: 422,
		},
		{
			what: "conversions, sorted and by the days of the sale",
			path: at("/conversions?sort=basket-desc&dates=sale&from=2020-01-01"),
		},
		{ what: "conversions, two ticked", path: at("/conversions"), act: tickTwo },
		{ what: "conversions, the preview of two", path: at("/conversions?status=RECORDED"), act: rejectTwo },
		{ what: "conversions, asked before rejecting", path: at("/conversions?status=RECORDED"), act: rejectOne },
		{
			what: "conversions, nothing is selected",
			path: at("/conversions"),
			act: press("Approve"),
		},
		{
			what: "a conversion with a long order id",
			path: at(`/conversions?orderId=${LONG_ORDER}`),
			act: openConversion,
		},
		{
			what: "a conversion whose order id is markup",
			path: at(`/conversions?orderId=${encodeURIComponent(MARKUP_ORDER)}`),
			act: openConversion,
		},
		{ what: "a conversion that waits", path: at("/conversions?status=PARKED"), act: openConversion },
		{ what: "approve or reject by CSV", path: at("/conversions/bulk") },
		{
			what: "approve or reject by CSV, the preview",
			path: at("/conversions/bulk"),
			act: uploadDecisions(LONG_ORDER),
		},
		{ what: "people", path: at("/people") },
		{ what: "people, an invitation", path: at("/people"), act: invite },
		{ what: "settings", path: at("/settings") },
		{ what: "the receiver guide, signed in, its outline unfolded", path: "/docs", act: unfoldOutline },
		{ what: "the API reference, signed in, its outline unfolded", path: "/docs/api", act: unfoldOutline },
		{ what: "account", path: "/account" },
		{
			what: "account, a wrong password",
			path: "/account",
			status: 422,
			act: setUpAuthenticator("wrong password"),
		},
		{ what: "account, an address that is refused", path: "/account", status: 409, act: askForOwnAddress },
		{ what: "account, the authenticator", path: "/account", act: setUpAuthenticator(PASSWORD) },
		{
			what: "account, the authenticator after a wrong code",
			path: "/account",
			status: 401,
			act: confirmWrongly,
		},
		{
			what: "account, the open menu",
			path: "/account",
			act: async (page) => page.getByText("Account").first().click(),
		},
		{ what: "somebody else's programme", path: `${fresh}/overview`, status: 404 },
	];
}

/** Whoever may only look: the same pages without a button. */
export function viewersPages({ main }: SampleNetwork): Case[] {
	const at = (path: string) => `${main}${path}`;
	return [
		{ what: "integration", path: at("/integration"), isBounded: true },
		{ what: "keys and snippets", path: at("/integration/keys") },
		{ what: "a delivery", path: at("/integration?state=failed"), act: openDelivery },
		{ what: "conversions", path: at("/conversions") },
		{ what: "people", path: at("/people") },
		{ what: "settings", path: at("/settings") },
		{ what: "what the role does not allow", path: at("/conversions/bulk"), status: 403 },
	];
}

export function staffPages({ main, fresh, failing }: SampleNetwork): Case[] {
	return [
		{ what: "programmes", path: "/programmes" },
		{ what: "programmes, none found", path: "/programmes?search=nothing" },
		{ what: "a new programme", path: "/programmes/new" },
		{ what: "a new programme, refused", path: "/programmes/new", status: 422, act: createWrongly },
		{ what: "totals of the network", path: "/totals" },
		{ what: "totals of the network, of a year, unfolded", path: "/totals?days=365", act: openDetails },
		{ what: "conversions of all programmes", path: "/conversions?status=RECORDED" },
		{ what: "conversions of all programmes, an order", path: `/conversions?orderId=${LONG_ORDER}` },
		{
			what: "conversions of all, a filter that is not understood",
			path: "/conversions?dates=sale",
			status: 422,
		},
		{ what: "conversions of all programmes, none found", path: "/conversions?to=2001-01-01" },
		{ what: "staff", path: "/people" },
		{ what: "people, a link for a new password", path: `${main}/people`, act: makePasswordLink },
		{ what: "a new password by that link", path: `${main}/people`, act: openPasswordLink },
		{ what: "settings, for staff", path: `${main}/settings` },
		{ what: "overview of a new programme", path: `${fresh}/overview` },
		{ what: "integration of a new programme", path: `${fresh}/integration`, isBounded: true },
		{ what: "keys and snippets of a new programme", path: `${fresh}/integration/keys` },
		{ what: "inbound log of a new programme", path: `${fresh}/integration/inbound` },
		{ what: "conversions of a new programme", path: `${fresh}/conversions` },
		{ what: "people of a new programme", path: `${fresh}/people` },
		{ what: "overview, callbacks are failing", path: `${failing}/overview` },
		{ what: "integration, callbacks are failing", path: `${failing}/integration` },
		{ what: "programmes, with warnings", path: "/programmes", act: comeOverUnknownProxy },
		{ what: "staff, with warnings folded", path: "/people" },
	];
}

/** As if through a proxy that the service does not trust: staff are warned of it. */
export async function comeOverUnknownProxy(page: Page): Promise<void> {
	await page.setExtraHTTPHeaders({ "x-forwarded-for": "203.0.113.9" });
	await page.reload();
	await page.getByText("about this installation").waitFor();
}

export function press(name: string) {
	return async (page: Page): Promise<void> => {
		await page.getByRole("button", { name, exact: true }).click();
		await page.waitForLoadState();
	};
}

async function openDetails(page: Page): Promise<void> {
	await page.evaluate(`for (const more of document.querySelectorAll("details.more")) more.open = true`);
}

async function unfoldOutline(page: Page): Promise<void> {
	await page.evaluate(`document.querySelector(".docs-outline-folded").open = true`);
}

async function signInWrongly(page: Page): Promise<void> {
	await page.getByLabel("Email").fill("nobody@network.example");
	await page.getByLabel("Password").fill("not the password");
	await press("Sign in")(page);
	await page.getByRole("alert").waitFor();
}

async function askForLink(page: Page): Promise<void> {
	await page.getByLabel("Email").fill("nobody@network.example");
	await press("Send the link")(page);
	await page.getByRole("heading", { name: "Check your inbox" }).waitFor();
}

async function saveWrongUrl(page: Page): Promise<void> {
	await page.getByLabel("Postback URL").fill("http://shop.example/postback");
	await press("Save URL")(page);
	await page.locator("#postbackUrl-error").waitFor();
}

async function openDelivery(page: Page): Promise<void> {
	await page.locator("#deliveries-live a").first().click();
	await page.getByRole("heading", { name: "Attempt 1 of 7" }).waitFor();
	await openDetails(page);
}

/** As a proxy and a framework would leave it: two differences, and a value that another secret gives. */
async function checkDamaged(page: Page): Promise<void> {
	await page.locator("#deliveries-live a").first().click();
	await page.getByRole("heading", { name: "Attempt 1" }).waitFor();
	await page.getByRole("link", { name: "Check its signature" }).first().click();
	const body = page.getByLabel(/^Body/);
	await body.fill(JSON.stringify(JSON.parse(await body.inputValue()), null, 2));
	const target = page.getByLabel(/^Path and query/);
	await target.fill(`/api${await target.inputValue()}`);
	await page.getByLabel(/^Signature your code computed/).fill("0".repeat(64));
	await press("Check")(page);
	await page.getByRole("heading", { name: "What we found" }).waitFor();
	await openDetails(page);
}

async function invite(page: Page): Promise<void> {
	await page.getByLabel("Email").fill(`${"long".repeat(12)}@${"shop".repeat(12)}.example`);
	await page.getByLabel("Role", { exact: true }).selectOption("developer");
	await press("Invite")(page);
	await page.getByRole("heading", { name: /Invitation for/ }).waitFor();
}

async function makePasswordLink(page: Page): Promise<void> {
	page.once("dialog", (dialog) => dialog.accept());
	const button = page.getByRole("button", { name: /^Password link for/ }).first();
	await button.click();
	await page.getByRole("heading", { name: /New password for/ }).waitFor();
}

async function openPasswordLink(page: Page): Promise<void> {
	await makePasswordLink(page);
	await page.goto((await page.locator("#invitation code").textContent()) ?? "");
	await page.getByRole("heading", { name: "Choose a new password" }).waitFor();
}

async function confirmWrongly(page: Page): Promise<void> {
	await setUpAuthenticator(PASSWORD)(page);
	await page.getByLabel("Code", { exact: true }).fill("000000");
	await press("Turn on")(page);
	await page.locator("#code-error").waitFor();
}

async function askForOwnAddress(page: Page): Promise<void> {
	await page.getByLabel("New email").fill("jonas@nordlicht.example");
	await page.locator("#email-current").fill(PASSWORD);
	await press("Change email")(page);
	await page.locator("#email-error").waitFor();
}

function setUpAuthenticator(password: string) {
	return async (page: Page): Promise<void> => {
		await page.locator("#authenticator-current").fill(password);
		await press("Set up")(page);
		await page.locator("#scan, .field-error").first().waitFor();
	};
}

async function createWrongly(page: Page): Promise<void> {
	await page.getByLabel("Name", { exact: true }).fill(NAME);
	await page.getByLabel("Owner's email").fill("nobody@shop.example");
	await page.getByLabel("Commission, %").fill("a lot");
	await page.getByLabel("Network fee, %").fill("101");
	await press("Create programme")(page);
	await page.locator(".field-error").first().waitFor();
}
