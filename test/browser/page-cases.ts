// Lists every page of the site for the page checks, with its reader, its address, and the action before it is
// checked.

import type { Page } from "playwright-core";
import {
	openConversion,
	refundPart,
	refundTooMuch,
	rejectOne,
	rejectTwo,
	tickTwo,
	uploadDecisions,
} from "./deciding-acts.ts";
import { PASSWORD } from "./first-steps.ts";
import { LONG_ORDER, MARKUP_ORDER, NAME } from "./hard-names.ts";
import type { SampleNetwork } from "./sample-network.ts";

export interface Case {
	what: string;
	path: string;
	status: number;
	/** True if the page may have at most a certain length. */
	isBounded: boolean;
	/** Action on the page before it is checked, or undefined if there is none. */
	act: ((page: Page) => Promise<void>) | undefined;
}

/** Declares a page, with an action before it is checked, and the expected status. */
export function look(what: string, path: string, act?: Case["act"], status = 200): Case {
	return { what, path, status, isBounded: false, act };
}

/** Declares a tab of Integration, whose length is limited. */
function bounded(what: string, path: string): Case {
	return { ...look(what, path), isBounded: true };
}

export const NOBODYS: readonly Case[] = [
	look("sign-in", "/sign-in"),
	look("sign-in, refused", "/sign-in", signInWrongly, 401),
	look("a sign-in code", "/sign-in/code"),
	look("the company's sign-in, which took too long", "/sign-in/company/return?state=old", undefined, 410),
	look("a forgotten password", "/forgot-password"),
	look("a forgotten password, asked for", "/forgot-password", askForLink),
	look("a link that has ended", "/welcome/nothing", undefined, 410),
	look("a page that is not there", "/nothing-here", undefined, 404),
	look("a link code that is not there", "/c/nothing-here", undefined, 404),
	look("the start of the documents", "/docs"),
	look("the quick start", "/docs/quick-start"),
	look("the rules for receivers", "/docs/rules"),
	look("the guide of owners", "/docs/owner"),
	look("the API reference", "/docs/api"),
	look("the guide about partners", "/docs/partners"),
	look("the network's API", "/docs/network-api"),
	look("the docs searched", "/docs/search?q=X-Service-Signature"),
	look("the docs searched, nothing found", "/docs/search?q=unicorn"),
	look("the problems", "/problems"),
	look("a problem", "/problems/bad_signature"),
	look("a problem of the pixel", "/problems/pixel_limited"),
	look("downloads", "/downloads"),
];

export function ownersPages({ main, fresh }: SampleNetwork): Case[] {
	const at = (path: string) => `${main}${path}`;
	return [
		look("overview", at("/overview")),
		look("overview, the numbers behind the chart", at("/overview"), openDetails),
		bounded("integration", at("/integration")),
		look("integration, everything unfolded", at("/integration"), openDetails),
		bounded("keys and snippets", at("/integration/keys")),
		look("keys and snippets, everything unfolded", at("/integration/keys"), openDetails),
		look(
			"keys and snippets, a key and nothing else shown once",
			at("/integration/keys?lang=php"),
			press("Issue API key"),
		),
		look(
			"keys and snippets, asked before a key is revoked",
			at("/integration/keys"),
			pressAndBeAsked(/^Revoke the key/),
		),
		look("integration, an URL that is refused", at("/integration"), saveWrongUrl, 422),
		bounded("postbacks, the failed ones", at("/integration?state=failed")),
		look("postbacks, an order that is not there", at("/integration?order=nothing")),
		look("postbacks, a filter that is not understood", at("/integration?state=lost"), undefined, 422),
		look("a delivery", at("/integration?state=failed"), openDelivery),
		look("a delivery that waits", at("/integration?state=pending"), openDelivery),
		bounded("inbound log", at("/integration/inbound")),
		look("inbound log, an order", at(`/integration/inbound?order=${encodeURIComponent(MARKUP_ORDER)}`)),
		look("inbound log, an order nobody reported", at("/integration/inbound?order=nothing")),
		bounded("check a signature", at("/integration/signature")),
		look("check a signature, the result", at("/integration/signature"), press("Check")),
		look("check a signature, a callback that was damaged", at("/integration?state=delivered"), checkDamaged),
		look("conversions", at("/conversions")),
		look("conversions, none found", at("/conversions?orderId=nothing")),
		look(
			"conversions, filters that are not understood",
			at("/conversions?status=BOGUS&from=tomorrow"),
			undefined,
			422,
		),
		look(
			"conversions, sorted and by the days of the sale",
			at("/conversions?sort=basket-desc&dates=sale&from=2020-01-01"),
		),
		look("conversions, by the days of the decision", at("/conversions?dates=decision&from=2020-01-01")),
		look("conversions, two ticked", at("/conversions"), tickTwo),
		look("conversions, the preview of two", at("/conversions?status=RECORDED"), rejectTwo),
		look("conversions, asked before rejecting", at("/conversions?status=RECORDED"), rejectOne),
		look("conversions, nothing is selected", at("/conversions"), press("Approve")),
		look("a conversion with a long order id", at(`/conversions?orderId=${LONG_ORDER}`), openConversion),
		look(
			"a conversion whose order id is markup",
			at(`/conversions?orderId=${encodeURIComponent(MARKUP_ORDER)}`),
			openConversion,
		),
		look("a conversion that waits", at("/conversions?status=PARKED"), openConversion),
		look("a conversion that was partly refunded", at("/conversions?status=APPROVED"), refundPart),
		look("a conversion, a refund that is refused", at("/conversions?status=APPROVED"), refundTooMuch, 409),
		look("deciding by CSV", at("/conversions/bulk")),
		look("deciding by CSV, the preview", at("/conversions/bulk"), uploadDecisions(LONG_ORDER)),
		look("partners", at("/partners")),
		look("a partner", at("/partners"), openPartner),
		look("a partner, a code that another has", at("/partners"), addTakenCode, 409),
		look("a partner, asked before it ends", at("/partners"), askToEndPartner),
		look("settings for partners", at("/partners/settings")),
		look("settings for partners, refused", at("/partners/settings"), allowSubdomains, 403),
		look("where partners apply", main.replace("/programmes/", "/join/")),
		look("where partners apply, refused", main.replace("/programmes/", "/join/"), applyWrongly, 422),
		look("people", at("/people")),
		look("people, an invitation", at("/people"), invite),
		look("settings", at("/settings")),
		look("the callback, signed in, its outline unfolded", "/docs/callbacks", unfoldOutline),
		look("the API reference, signed in, its outline unfolded", "/docs/api", unfoldOutline),
		look("account", "/account"),
		look("account, a wrong password", "/account", setUpAuthenticator("wrong password"), 422),
		look("account, an address that is refused", "/account", askForOwnAddress, 409),
		look("account, the authenticator", "/account", setUpAuthenticator(PASSWORD)),
		look("account, the authenticator after a wrong code", "/account", confirmWrongly, 401),
		look("account, the open menu", "/account", async (page) => page.getByText("Account").first().click()),
		look("somebody else's programme", `${fresh}/overview`, undefined, 404),
	];
}

/** Returns the pages of a viewer, which have no buttons. */
export function viewersPages({ main }: SampleNetwork): Case[] {
	const at = (path: string) => `${main}${path}`;
	return [
		bounded("integration", at("/integration")),
		look("keys and snippets", at("/integration/keys")),
		look("a delivery", at("/integration?state=failed"), openDelivery),
		look("conversions", at("/conversions")),
		look("partners", at("/partners")),
		look("a partner", at("/partners"), openPartner),
		look("people", at("/people")),
		look("people, before they leave", at("/people/leave")),
		look("settings", at("/settings")),
		look("what the role does not allow", at("/conversions/bulk"), undefined, 403),
	];
}

/** Returns the pages of a partner's person, who has no access to a programme. */
export function partnersPages({ partnerBase, main }: SampleNetwork): Case[] {
	const at = (path: string) => `${partnerBase}${path}`;
	return [
		look("people", at("/people")),
		look("people, an invitation", at("/people"), inviteColleague),
		look("earnings", at("/earnings")),
		look("earnings, the open menu", at("/earnings"), async (page) =>
			page.getByText("Account").first().click(),
		),
		look("links", at("/links")),
		look("links, one made", at("/links"), makeLink),
		look("links, one refused", at("/links"), makeForeignLink, 422),
		look("links, one with sub IDs", at("/links?link=gipfelpost-spring&s1=newsletter&s2=top"), undefined),
		look("conversions", at("/conversions")),
		look("conversions, none found", at("/conversions?to=2001-01-01")),
		look("conversions, a filter that is not understood", at("/conversions?status=BOGUS"), undefined, 422),
		look("callbacks, before the first URL", at("/callbacks")),
		look("callbacks, a macro refused", at("/callbacks"), saveUnknownMacro, 422),
		look("earnings by sub ID", at("/earnings?by=sub1")),
		look("programmes to apply for", at("/programmes")),
		look("apply for a programme", at(main)),
		look("API, a token just issued", at("/api"), issueToken),
		look("account, with API tokens that end with the password", "/account"),
		look("a programme's page", `${main}/overview`, undefined, 404),
	];
}

async function saveUnknownMacro(page: Page): Promise<void> {
	await page.getByLabel("Callback URL").fill("https://tracker.example/postback?id={orderId}");
	await page.getByLabel("Form", { exact: true }).selectOption("get");
	await press("Save")(page);
	await page.getByText("is not a macro").waitFor();
}

async function issueToken(page: Page): Promise<void> {
	await page.getByLabel("Name of the new token").fill("N".repeat(60));
	await page.getByLabel("Current password").fill(PASSWORD);
	await press("Issue token")(page);
	await page.getByText("Copy it now.").waitFor();
}

async function makeLink(page: Page): Promise<void> {
	await page.getByLabel("Target address").fill("https://shop.nordlicht.example/");
	await page.getByLabel("Name (optional)").fill("N".repeat(100));
	await press("Make link")(page);
	await page.getByText("is ready. Copy its address below.").waitFor();
}

async function makeForeignLink(page: Page): Promise<void> {
	await page.getByLabel("Target address").fill("https://elsewhere.example/");
	await press("Make link")(page);
	await page.locator("#target-error").waitFor();
}

export function staffPages({ main, fresh, failing, partnerPage: partner }: SampleNetwork): Case[] {
	const partnerAt = (page: string) => partner.replace("earnings", page);
	return [
		look("programmes", "/programmes"),
		look("programmes, none found", "/programmes?search=nothing"),
		look("a new programme", "/programmes/new"),
		look("keys for many programmes", "/programmes/keys"),
		look("a new programme, refused", "/programmes/new", createWrongly, 422),
		look("totals of the network", "/totals"),
		look("totals of the network, of a year, unfolded", "/totals?days=365", openDetails),
		look("conversions of all programmes", "/conversions?status=RECORDED"),
		look("conversions of all programmes, an order", `/conversions?orderId=${LONG_ORDER}`),
		look("conversions of all, a filter that is not understood", "/conversions?dates=sale", undefined, 422),
		look("conversions of all programmes, none found", "/conversions?to=2001-01-01"),
		look("partners", "/partners"),
		look("partners, none found", "/partners?search=nothing"),
		look("partners, an invitation", "/partners", invitePartner),
		look("a partner", partner),
		look("a partner, asked before the end", partner, pressAndBeAsked(/^End partner/)),
		look("a partner's people", partnerAt("people")),
		look("a partner's people, asked before one is removed", partnerAt("people"), pressAndBeAsked(/^Remove/)),
		look("a partner's links, for staff", partnerAt("links")),
		look("a partner's conversions, for staff", partnerAt("conversions")),
		look("a partner in a programme", partner, openPartnership),
		look("partners, of all days", "/partners?from=2020-01-01"),
		look("partners, a day that is none", "/partners?from=soon", undefined, 422),
		look("conversions of a partner", `${main}/conversions?partner=blog`),
		look("a conversion of a partner", `${main}/conversions?partner=blog&status=RECORDED`, openCredited),
		look("staff", "/people"),
		look("people, a link for a new password", `${main}/people`, makePasswordLink),
		look("a new password by that link", `${main}/people`, openPasswordLink),
		look("settings, for staff", `${main}/settings`),
		look("a programme, asked before it is archived", fresh.replace("/programmes/", "/archive/")),
		look("a programme that cannot be archived", main.replace("/programmes/", "/archive/")),
		look("programmes, archived ones", "/programmes?archived=yes"),
		look("a partner, asked before it is archived", partnerAt("archive")),
		look("partners, archived ones", "/partners?archived=yes"),
		look("a partner's data, not to be erased yet", partnerAt("personal-data")),
		look("a person's data, asked before they are erased", `${main}/people`, openPersonData),
		look("overview of a new programme", `${fresh}/overview`),
		bounded("integration of a new programme", `${fresh}/integration`),
		look("keys and snippets of a new programme", `${fresh}/integration/keys`),
		look("inbound log of a new programme", `${fresh}/integration/inbound`),
		look("conversions of a new programme", `${fresh}/conversions`),
		look("people of a new programme", `${fresh}/people`),
		look("partners of a new programme", `${fresh}/partners`),
		look("settings for partners of a new programme", `${fresh}/partners/settings`),
		look("overview, callbacks are failing", `${failing}/overview`),
		look("integration, callbacks are failing", `${failing}/integration`),
		look("programmes, with warnings", "/programmes", comeOverUnknownProxy),
		look("staff, with warnings folded", "/people"),
	];
}

/** Opens the page through a proxy that the service does not trust, so that staff see a warning. */
async function comeOverUnknownProxy(page: Page): Promise<void> {
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

async function openPersonData(page: Page): Promise<void> {
	await page
		.getByRole("link", { name: /^Personal data of / })
		.last()
		.click();
	await page.getByRole("heading", { name: "Erase", exact: true }).waitFor();
}

async function openPartner(page: Page): Promise<void> {
	await page.getByRole("link", { name: "Bergblog" }).click();
	await page.getByRole("heading", { name: "Partnership", exact: true }).waitFor();
}

async function addTakenCode(page: Page): Promise<void> {
	await openPartner(page);
	await page.getByLabel("Coupon codes").fill("gutschein");
	await press("Save")(page);
	await page.locator("#codes-error").waitFor();
}

async function askToEndPartner(page: Page): Promise<void> {
	await openPartner(page);
	await pressAndBeAsked(/^End partnership/)(page);
}

function pressAndBeAsked(name: RegExp): (page: Page) => Promise<void> {
	return async (page) => {
		await page.getByRole("button", { name }).first().click();
		await page.locator("dialog").waitFor();
	};
}

async function openPartnership(page: Page): Promise<void> {
	await page.locator("#programmes td a").first().click();
	await page.getByRole("heading", { name: "Partnership", exact: true }).waitFor();
}

async function allowSubdomains(page: Page): Promise<void> {
	await page.getByLabel("Shop addresses").fill("*.nordlicht.example");
	await press("Save")(page);
	await page.locator("#hosts-error").waitFor();
}

async function applyWrongly(page: Page): Promise<void> {
	await page.getByLabel("Your name or company").fill("A blog");
	await page.getByLabel("Email").fill("ann@blog.example");
	await page.getByLabel("How would you bring sales?").fill("Reviews");
	await press("Apply")(page);
	await page.locator("#acceptsTerms-error").waitFor();
}

async function saveWrongUrl(page: Page): Promise<void> {
	await page.getByLabel("Postback URL").fill("http://shop.example/postback");
	await press("Save URL")(page);
	await page.locator("#postbackUrl-error").waitFor();
}

async function openDelivery(page: Page): Promise<void> {
	await page.locator("#deliveries-live a").first().click();
	await page.getByRole("heading", { name: "Attempt 1" }).waitFor();
	await openDetails(page);
}

/** Checks the signature of a callback with the changes that a proxy and a framework make to it. */
async function checkDamaged(page: Page): Promise<void> {
	await page.locator("#deliveries-live a").first().click();
	await page.getByRole("heading", { name: "Attempt 1" }).waitFor();
	await page.getByRole("link", { name: "Check its signature" }).first().click();
	const body = page.getByLabel(/^Body/);
	await body.fill(JSON.stringify(JSON.parse(await body.inputValue()), null, 2));
	const target = page.getByLabel(/^Path and query/);
	await target.fill(`/api${await target.inputValue()}`);
	await press("Check")(page);
	await page.getByRole("heading", { name: "Result" }).waitFor();
	await openDetails(page);
}

async function invite(page: Page): Promise<void> {
	await page.getByLabel("Email").fill(`${"long".repeat(12)}@${"shop".repeat(12)}.example`);
	await page.getByLabel("Role", { exact: true }).selectOption("developer");
	await press("Invite")(page);
	await page.getByRole("heading", { name: /Invitation for/ }).waitFor();
}

async function inviteColleague(page: Page): Promise<void> {
	await page.getByLabel("Email").fill(`${"long".repeat(12)}@${"blog".repeat(12)}.example`);
	await press("Invite")(page);
	await page.getByRole("heading", { name: /Invitation for/ }).waitFor();
}

async function invitePartner(page: Page): Promise<void> {
	await page.getByLabel("Name", { exact: true }).fill(NAME);
	await page.getByLabel("Email").fill("somebody@blog.example");
	await press("Invite")(page);
	await page.getByRole("heading", { name: /Invitation for/ }).waitFor();
}

async function openCredited(page: Page): Promise<void> {
	await openConversion(page);
	await openDetails(page);
}

async function makePasswordLink(page: Page): Promise<void> {
	await page
		.getByRole("button", { name: /^Password link for/ })
		.first()
		.click();
	await page.getByRole("dialog").getByRole("button", { name: "Password link" }).click();
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
