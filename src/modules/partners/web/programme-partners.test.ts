// Tests a programme's Partners page, its settings for partners, and the public page on which strangers apply.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { HOUR_MS, QUARTER_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeProgramme, type TermsInput } from "#core/programmes/programme-terms.ts";
import { addPartnerPerson } from "#core/store/queries/partner-people.ts";
import { findProgramme } from "#core/store/queries/programmes.ts";
import { plain } from "#core/web/conversions/shop.test-support.ts";
import {
	type Browser,
	LINK,
	openAsOwner,
	START_MS,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { setPartnership, setProgramme } from "../../../../test/support/change-rows.ts";
import { landingUrl } from "../domain/click.ts";
import { addClicks, findLinks } from "../store/clicks.ts";
import { listLandingHosts } from "../store/landing-hosts.ts";
import { insertPartnerLink } from "../store/partner-links.ts";
import { invitePartner, withScheme } from "../use-cases/partners.ts";
import { addCredited, addPartner, join as joinAs } from "./partner-shop.test-support.ts";

const SETTINGS = {
	clickDays: "45",
	clickParameter: "via",
	hosts: "shop.example",
	takesApplications: "on",
	isListed: "on",
	terms: "Be honest.\r\nNo spam.",
};
const APPLICANT = {
	name: "Blog & Söhne",
	email: "ann@blog.example",
	site: "https://blog.example",
	about: "Reviews",
	acceptsTerms: "on",
};

async function openWithPartners(t: TestContext, names: readonly string[] = ["Anna's Blog"], hasMail = true) {
	const shop = await openAsOwner(t, { hasMail });
	const { site, programme } = shop;
	await setProgramme(site.store.db, programme.id, { credits_partners: 1 });
	const partnerships = [];
	for (const name of names)
		partnerships.push(await joinAs(site, programme, (await addPartner(site, name)).partner, "12.5000"));
	return { ...shop, path: `/programmes/${programme.public_id}/partners`, partnerships };
}

test("if the programme does not credit partners, the page tells owners whom to ask, and staff where to turn it on", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const path = `/programmes/${programme.public_id}/partners`;
	const shown = await owner.open(path);
	assert.match(shown.text, /does not credit sales to partners\. Ask the network&#39;s staff to turn it on/);
	const staff = await site.signIn(await site.addStaff());
	assert.match((await staff.open(path)).text, /Turn it on under <a href="[^"]+\/partners\/settings"/);
});

test("a partner is shown with rate, clicks, codes and links, and only in its own programme", async (t) => {
	const { site, path, partnerships, browser: owner } = await openWithPartners(t);
	const [partnership] = partnerships;
	assert.ok(partnership);
	const { db } = site.store;
	const row = { partnership_id: partnership.id, name: "Top", created_at_ms: START_MS };
	const link = await insertPartnerLink(db, { ...row, code: "abc", target: "https://shop.example/" });
	const quarter = Math.floor(START_MS / QUARTER_MS);
	const clicks = { linkId: link?.id ?? 0, kind: "click" } as const;
	await addClicks(db, [
		{ ...clicks, quarter, clicks: 3 },
		{ ...clicks, quarter: quarter - 31 * 96, clicks: 1_200 },
		{ ...clicks, kind: "crawler", quarter, clicks: 77 },
	]);
	const sold = { status: "APPROVED", commission: "1234.50", occurred_at_ms: START_MS } as const;
	for (const test of [0, 0, 1] as const) await addCredited({ site }, partnership, { ...sold, test });
	const list = await owner.open(path);
	assert.match(list.text, /data-label="Approved"><div><span class="number">2,469\.00/);
	assert.match(list.text, /2 sales/);
	assert.match(list.text, /Anna&#39;s Blog/);
	assert.match(list.text, /12\.5 %/);
	assert.match(list.text, /data-label="Clicks">3</);
	const older = await owner.open(`${path}?from=2026-01-01&to=2026-02-28`);
	assert.match(older.text, /data-label="Clicks">1,200</);
	assert.doesNotMatch(older.text, /2,469/);
	const page = await owner.open(`${path}/${partnership.public_id}`);
	assert.equal(page.status, 200);
	assert.match(page.text, /https:\/\/ringback\.example\/c\/abc/);
	assert.match(page.text, /data-label="Clicks">3<span class="secondary">1,203 in total</);
	assert.match(page.text, /data-label="Other visits"><div>Crawlers: 77 </);
	const other = await site.addProgramme("Other");
	const stranger = await site.signIn(await site.addOwner(other));
	const foreign = `/programmes/${other.public_id}/partners/${partnership.public_id}`;
	assert.equal((await stranger.open(foreign)).status, 404);
	assert.equal((await stranger.submit(foreign, { codes: "X" })).status, 404);
	assert.equal((await stranger.submit(`${foreign}/change`, { to: "ended" })).status, 404);
	assert.doesNotMatch((await stranger.open(`/programmes/${other.public_id}/partners`)).text, /Anna/);
});

test("a partnership is ended and resumed after a confirmation, and repeating the form changes nothing", async (t) => {
	const { site, path, partnerships, browser: owner } = await openWithPartners(t);
	const at = `${path}/${partnerships[0]?.public_id}`;
	assert.match((await owner.open(at)).text, /data-confirm="End the partnership\?/);
	assert.equal((await owner.submit(`${at}/change`, { to: "ended" })).location, at);
	assert.match((await owner.open(at)).text, /The partnership has ended/);
	await owner.submit(`${at}/change`, { to: "ended" });
	assert.equal((await site.audit("partnership.ended")).length, 1);
	assert.match((await owner.open(at)).text, /data-confirm="Resume the partnership\?/);
	await owner.submit(`${at}/change`, { to: "active" });
	assert.match((await owner.open(at)).text, /The partnership is active again/);
});

test("only staff can resume a partnership that staff ended", async (t) => {
	const { site, path, partnerships, browser: owner } = await openWithPartners(t, ["First", "Second"]);
	const staff = await site.signIn(await site.addStaff());
	const [first, second] = partnerships.map(({ public_id }) => `${path}/${public_id}`);
	assert.ok(first && second);
	// The owner ends the second partnership before staff do. Even then only staff can resume it.
	await owner.submit(`${second}/change`, { to: "ended" });
	await staff.submit(`${first}/change`, { to: "ended" });
	await staff.submit(`${second}/change`, { to: "ended" });
	for (const at of [first, second]) {
		const shown = (await owner.open(at)).text;
		assert.doesNotMatch(shown, /Resume partnership/);
		assert.match(shown, /Ended by the network/);
		const refused = await owner.submit(`${at}/change`, { to: "active" });
		assert.equal(refused.status, 409);
		assert.match(refused.text, /The network ended this partnership\. Ask its staff to resume it/);
		assert.match((await staff.open(at)).text, /Resume partnership/);
		await staff.submit(`${at}/change`, { to: "active" });
		assert.match((await owner.open(at)).text, /End partnership/);
	}
});

test("staff can end a partnership with its clicks, at once or later, and an owner cannot", async (t) => {
	const { site, path, partnerships, browser: owner } = await openWithPartners(t, ["First", "Second"]);
	const staff = await site.signIn(await site.addStaff());
	const [first, second] = partnerships.map(({ public_id }) => `${path}/${public_id}`);
	assert.ok(first && second);
	assert.doesNotMatch((await owner.open(first)).text, /name="clicks"/);
	assert.equal((await owner.submit(`${first}/change`, { to: "ended", clicks: "on" })).status, 403);
	assert.match(
		(await staff.open(first)).text,
		/name="clicks"[^>]*><span>Also credit no more sales from clicks/,
	);
	await staff.submit(`${first}/change`, { to: "ended", clicks: "on" });
	await staff.submit(`${second}/change`, { to: "ended" });
	assert.match((await owner.open(first)).text, /Its clicks credit nobody any more/);
	assert.doesNotMatch((await staff.open(first)).text, /Credit no more clicks/);
	const later = await staff.open(second);
	assert.doesNotMatch(later.text, /Its clicks credit nobody/);
	assert.match(later.text, /Credit no more clicks/);
	for (let n = 0; n < 2; n++) await staff.submit(`${second}/change`, { to: "ended", clicks: "on" });
	assert.match((await staff.open(second)).text, /Its clicks credit nobody any more/);
	assert.equal((await site.audit("partnership.clicks_ended")).length, 2);
	assert.equal((await site.audit("partnership.ended")).length, 2);
});

test("a click with three orders or more is listed, and tests do not count", async (t) => {
	const { site, path, partnerships, browser: owner } = await openWithPartners(t);
	const [partnership] = partnerships;
	assert.ok(partnership);
	const row = { partnership_id: partnership.id, name: "Top", created_at_ms: START_MS };
	const target = "https://shop.example/";
	const link = await insertPartnerLink(site.store.db, { ...row, code: "shared", target });
	const clicked = { link_id: link?.id ?? 0, clicked_at_ms: START_MS };
	const sell = (test: 0 | 1) => addCredited({ site }, partnership, { test }, clicked);
	for (const test of [0, 0, 1] as const) await sell(test);
	const at = `${path}/${partnership.public_id}`;
	assert.doesNotMatch((await owner.open(at)).text, /Clicks with several orders/);
	await sell(0);
	assert.match(
		(await owner.open(at)).text,
		/Clicks with several orders[\s\S]+<code>shared<\/code>[\s\S]+data-label="Orders">3</,
	);
});

test("coupon codes are saved as a list, each belongs to one partner, and only staff change the rate", async (t) => {
	const { site, path, partnerships, browser: owner } = await openWithPartners(t, ["First", "Second"]);
	const [first, second] = partnerships.map(({ public_id }) => `${path}/${public_id}`);
	assert.ok(first && second);
	await owner.submit(first, { codes: "SUMMER,\r\n winter ; ;\r\n\r\nSummer", rate: "many" });
	assert.match((await owner.open(first)).text, />\nSummer\nwinter<\/textarea>/);
	assert.match((await owner.open(first)).text, /12\.5 %/);
	assert.match((await owner.open(first)).text, /Terms when it began/);
	assert.doesNotMatch((await owner.open(first)).text, /name="rate"/);
	const refused = await owner.submit(second, { codes: "fresh\nsummer" });
	assert.equal(refused.status, 409);
	assert.match(refused.text, /id="codes-error">The code summer belongs to another partner of this programme/);
	assert.match((await owner.submit(second, { codes: "x".repeat(65) })).text, /id="codes-error">/);
	assert.doesNotMatch((await owner.open(path)).text, /fresh|xxx/);
	await owner.submit(first, { codes: "WINTER" });
	assert.match((await owner.open(first)).text, />\nWINTER<\/textarea>/, "another spelling is saved");
	const shownCodes = String(new URLSearchParams({ codes: "winter" }));
	await owner.submit(first, { codes: "winter", shown: shownCodes });
	assert.match((await owner.open(first)).text, />\nWINTER<\/textarea>/, "an unchanged field changes nothing");
	assert.equal((await owner.submit(second, { codes: "summer" })).status, 303);
	const staff = await site.signIn(await site.addStaff());
	assert.match((await staff.submit(first, { codes: "summer" })).text, /The code summer belongs to Second/);
	assert.equal((await staff.submit(first, { codes: "winter", rate: "200" })).status, 422);
	await staff.submit(first, { codes: "WINTER", rate: "" });
	assert.match((await owner.open(first)).text, /<dd><div>8 % of the basket</);
	assert.deepEqual(
		(await site.audit("partnership.changed")).map(({ detail }) => detail),
		[
			"First; code added: Summer; code added: winter",
			"First; code removed: Summer; code now written: WINTER",
			"Second; code added: summer",
			"First; rate: 12.5 % → the programme's",
		],
	);
});

test("staff agree on a commission with a fixed amount and for event types, which all pages show in words", async (t) => {
	const { site, path, programme, partnerships, browser: owner } = await openWithPartners(t);
	await setProgramme(site.store.db, programme.id, { event_rates: "LEAD=0+5.00 0+1.00" });
	const [partnership] = partnerships;
	assert.ok(partnership);
	const at = `${path}/${partnership.public_id}`;
	const staff = await site.signIn(await site.addStaff());
	const form = (await staff.open(at)).text;
	assert.match(form, /The programme&#39;s commission: 8 % of the basket; 5\.00 EUR for each lead\./);
	for (const [wrong, field, sentence] of [
		[{ fixed: "-1" }, "fixed", "The fixed amount must not be negative"],
		[{ fixed: "0.001" }, "fixed", "The fixed amount has too many decimals"],
		[{ rate: "101" }, "rate", "Rate must be a percentage from 0 to 100"],
		[{ eventRates: "LEADS: 5 EUR" }, "eventRates", "“LEADS” is not an event type"],
		[{ eventRates: "LEAD: 5 EUR\nlead: 6 EUR" }, "eventRates", "LEAD has two rates"],
		[{ eventRates: "LEAD: 5" }, "eventRates", "LEAD: “5” is not a rate"],
	] as const) {
		const refused = await staff.submit(at, { rate: "", fixed: "", eventRates: "", codes: "", ...wrong });
		assert.equal(refused.status, 422);
		assert.ok(refused.text.includes(`id="${field}-error">${sentence}`), sentence);
	}
	const fields = { rate: "7,5", fixed: "1", eventRates: "signup: 2 EUR", codes: "" };
	assert.equal((await staff.submit(at, fields)).status, 303);
	const words =
		"<div>7.5 % of the basket + 1.00 EUR</div><div>5.00 EUR for each lead</div><div>2.00 EUR for each sign-up</div>";
	for (const page of [at, path]) assert.ok((await owner.open(page)).text.includes(words), page);
	const shown = (await staff.open(at)).text;
	assert.match(shown, /name="fixed" [^>]*value="1\.00"[\s\S]+>\nSIGNUP: 2\.00 EUR<\/textarea>/);
	assert.equal((await staff.submit(at, { ...fields, rate: "", fixed: "" })).status, 303);
	const programmes =
		"<div>8 % of the basket</div><div>5.00 EUR for each lead</div><div>2.00 EUR for each sign-up</div>";
	assert.ok((await owner.open(at)).text.includes(programmes));
	assert.deepEqual(
		(await site.audit("partnership.changed")).map(({ detail }) => detail),
		[
			"Anna's Blog; rate: 12.5 % → 7.5 % + 1.00 EUR; rates for event types: none → SIGNUP: 2.00 EUR",
			"Anna's Blog; rate: 7.5 % + 1.00 EUR → the programme's",
		],
	);
});

/** Returns the cells of the table "Commission by event type", one text for each row. */
function commissionsIn(page: string): string[] {
	const table = /<section[^>]* id="commission"[\s\S]*?<\/section>/.exec(page)?.[0] ?? "";
	const rows = [...table.matchAll(/<tr[\s\S]*?<\/tr>/g)].map(([row]) => row).slice(1);
	return rows.map((row) =>
		[...row.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)]
			.map(([, cell = ""]) => cell.replace(/<[^>]*>/g, ""))
			.join(" | "),
	);
}

async function setRates(site: TestSite, programmeId: number, change: Partial<TermsInput>): Promise<void> {
	assert.ok((await changeProgramme(site.deps, COMMAND_LINE, programmeId, change)).ok);
}

test("a partner who gets a percentage keeps the programme's amount for leads, and staff see both before and after saving", async (t) => {
	const { site, path, programme, partnerships, browser: owner } = await openWithPartners(t);
	await setProgramme(site.store.db, programme.id, { event_rates: "LEAD=0+5.00 0+1.00" });
	const [partnership] = partnerships;
	assert.ok(partnership);
	await setPartnership(site.store.db, partnership.id, { commission_rate: null });
	const at = `${path}/${partnership.public_id}`;
	const staff = await site.signIn(await site.addStaff());
	const lead = "Lead | 5.00 EUR for each conversion | The programme&#39;s, for this event type";
	assert.deepEqual(commissionsIn((await staff.open(at)).text), [
		lead,
		"All other event types | 8 % of the basket | The programme&#39;s general one",
	]);
	const typed = { rate: "10", fixed: "", eventRates: "", codes: "", shown: "" };
	const preview = await staff.submit(at, { ...typed, preview: "yes" });
	assert.equal(preview.status, 200);
	const same = "5.00 EUR for each conversion";
	assert.deepEqual(commissionsIn(preview.text), [
		`Lead | ${same} | ${same} no change | The programme&#39;s, for this event type`,
		"All other event types | 8 % of the basket | 10 % of the basket | This partner&#39;s general one",
	]);
	assert.match(preview.text, /name="rate" [^>]*value="10"/, "the form keeps what was typed");
	const wrong = await staff.submit(at, { ...typed, rate: "101", preview: "yes" });
	assert.match(wrong.text, /id="rate-error">Rate must be a percentage from 0 to 100/);
	assert.deepEqual(await site.audit("partnership.changed"), [], "a look saves nothing");
	assert.equal((await staff.submit(at, typed)).status, 303);
	const saved = (await staff.open(at)).text;
	assert.match(saved, /Saved\. All other event types: 8 % of the basket → 10 % of the basket\./);
	assert.deepEqual(commissionsIn(saved), [
		lead,
		"All other event types | 10 % of the basket | This partner&#39;s general one",
	]);
	assert.deepEqual(commissionsIn((await owner.open(at)).text), commissionsIn(saved), "owners read it, too");
	site.moveClock(60_000);
	await setRates(site, programme.id, { feeRate: "3" });
	await setRates(site, programme.id, { eventRates: "LEAD: 6.00 EUR, fee 0" });
	const over = plain((await owner.open(at)).text).replaceAll(/\s+/g, " ");
	assert.match(
		over,
		/Rates over time .* From To Commission 2026-03-01 12:01:00 UTC now 10 % of the basket 6\.00 EUR for each lead 2026-03-01 12:00:00 UTC 2026-03-01 12:01:00 UTC 10 % of the basket 5\.00 EUR for each lead /,
		"a change of the fee is no change for the partner",
	);
	await setRates(site, programme.id, { eventRates: "LEAD: 5.00 EUR, fee 0" });
	const sly = await owner.submit(at, { ...typed, rate: "90", preview: "yes" });
	assert.equal(sly.status, 303);
	assert.deepEqual(commissionsIn((await owner.open(at)).text), commissionsIn(saved));
});

/** Returns the hidden values with which a form was opened, as a browser would send them back. */
async function shownIn(browser: Browser, path: string): Promise<string> {
	const { text } = await browser.open(path);
	return /name="shown" value="([^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
}

test("if another person saves while a form is open, the form changes only the fields that were edited in it", async (t) => {
	const { site, path, partnerships, browser: owner } = await openWithPartners(t);
	const at = `${path}/${partnerships[0]?.public_id}`;
	const staff = await site.signIn(await site.addStaff());
	await owner.submit(at, { codes: "FIRST\nSECOND" });
	const shown = await shownIn(staff, at);
	assert.equal(shown, "rate=12.5&fixed=&eventRates=&codes=FIRST%0ASECOND");
	await owner.submit(at, { codes: "SECOND\nTHIRD", shown: await shownIn(owner, at) });
	await staff.submit(at, { codes: "FIRST\nSECOND\nFOURTH", rate: "12.5", shown });
	assert.match((await owner.open(at)).text, />\nFOURTH\nSECOND\nTHIRD<\/textarea>/);
	await staff.submit(at, { codes: "", rate: "15", shown: "" });
	const late = await staff.submit(at, { codes: "FIFTH", rate: "14", shown });
	assert.equal(late.status, 409);
	assert.match(late.text, /id="rate-error">Another person changed the rate to 15 % while this page was open/);
	assert.match(late.text, /name="rate" [^>]*value="15"/, "the form shows what the other person saved");
	assert.doesNotMatch((await owner.open(at)).text, /FIFTH/);
	await staff.submit(at, { codes: "", rate: "12.5", shown });
	assert.match((await owner.open(at)).text, /15 %/, "an untouched rate is not written back");
});

test("a form does not write back settings for partners that another person changed, and the audit log names each change", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const path = `/programmes/${programme.public_id}/partners/settings`;
	const staff = await site.signIn(await site.addStaff());
	const fields = { clickDays: "30", clickParameter: "rbclick", hosts: "", terms: "" };
	const shown = await shownIn(owner, path);
	await staff.submit(path, { ...fields, clickDays: "45", creditsPartners: "on", shown });
	await owner.submit(path, { ...fields, hosts: "shop.example", terms: "Be fair.", shown });
	const saved = await findProgramme(site.store.db, programme.public_id);
	assert.deepEqual([saved?.click_days, saved?.credits_partners, saved?.partner_terms], [45, 1, "Be fair."]);
	const late = await owner.submit(path, { ...fields, clickDays: "60", shown });
	assert.equal(late.status, 409);
	assert.match(late.text, /id="clickDays-error">Another person changed this setting/);
	assert.match(late.text, /name="clickDays" [^>]*value="45"/);
	assert.equal((await owner.submit(path, { ...fields, shown })).status, 303, "nothing to save");
	assert.deepEqual(
		(await site.audit("programme.changed")).map(({ detail }) => detail),
		[
			"credits partners: no → yes; days for which a click counts: 30 → 45",
			"shop addresses: none → shop.example (waits for staff); terms for partners: 0 characters → 8 characters",
		],
	);
});

test("an owner can save all settings except crediting and subdomains, and each fault is shown at its field", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const path = `/programmes/${programme.public_id}/partners/settings`;
	for (const [change, id] of [
		[{ clickDays: "0" }, "clickDays"],
		[{ clickParameter: "1 2" }, "clickParameter"],
		[{ hosts: "127.0.0.1" }, "hosts"],
		[{ hosts: "*.shop.example" }, "hosts"],
		[{ terms: "x".repeat(20_001) }, "terms"],
	] as const) {
		const refused = await owner.submit(path, { ...SETTINGS, ...change });
		assert.ok(refused.status >= 400, id);
		assert.match(refused.text, new RegExp(`<p class="field-error" id="${id}-error">`), id);
	}
	const wrong = await owner.submit(path, {
		...SETTINGS,
		clickDays: "0",
		clickParameter: "?",
		hosts: "10.0.0.1",
	});
	assert.deepEqual(errorsIn(wrong.text), ["clickDays", "clickParameter", "hosts"]);
	assert.doesNotMatch((await owner.open(path)).text, /name="creditsPartners"/);
	assert.equal((await owner.submit(path, { ...SETTINGS, creditsPartners: "on" })).status, 303);
	const saved = await findProgramme(site.store.db, programme.public_id);
	assert.deepEqual(
		[saved?.credits_partners, saved?.click_days, saved?.click_parameter, saved?.partner_terms],
		[0, 45, "via", "Be honest.\nNo spam."],
	);
	const staff = await site.signIn(await site.addStaff());
	const opened = { ...SETTINGS, creditsPartners: "on", hosts: "*.shop.example" };
	assert.equal((await staff.submit(path, opened)).status, 303);
	assert.equal((await findProgramme(site.store.db, programme.public_id))?.credits_partners, 1);
	assert.match((await owner.open(path)).text, /\*\.shop\.example<\/textarea>/);
});

function errorsIn(text: string): readonly (string | undefined)[] {
	return [...text.matchAll(/class="field-error" id="(\w+)-error"/g)].map(([, id]) => id);
}

test("shop addresses are merged regardless of case, and an entry with subdomains replaces the one without", async (t) => {
	const { site, programme } = await openAsOwner(t);
	const staff = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/partners/settings`;
	const hosts = "shop.example\r\nSHOP.example\r\n*.shop.example\r\nother.example";
	assert.equal((await staff.submit(path, { ...SETTINGS, hosts })).status, 303);
	assert.match(
		(await staff.open(path)).text,
		/>\n\*\.shop\.example\nother\.example<\/textarea>|>\nother\.example\n\*\.shop\.example<\/textarea>/,
	);
});

test("a shop address has a port only in development, where a link can lead to a local shop", async (t) => {
	for (const allowsPrivateRanges of [false, true]) {
		const { site, programme } = await openAsOwner(t, { change: { allowsPrivateRanges } });
		const staff = await site.signIn(await site.addStaff());
		const path = `/programmes/${programme.public_id}/partners/settings`;
		const saved = await staff.submit(path, { ...SETTINGS, hosts: "localhost:3443\r\nshop.example:8443" });
		if (!allowsPrivateRanges) {
			assert.equal(saved.status, 422);
			const ported = await staff.submit(path, { ...SETTINGS, hosts: "shop.example:8443" });
			assert.match(
				ported.text,
				/“shop\.example:8443” has a port\. Enter the name without it, such as shop\.example/,
			);
			continue;
		}
		assert.equal(saved.status, 303, saved.text);
		const hosts = await listLandingHosts(site.store.db, programme.id);
		assert.equal(landingUrl("https://localhost:3443/cart", hosts)?.href, "https://localhost:3443/cart");
		assert.equal(landingUrl("https://localhost/cart", hosts), null);
		const typed = landingUrl(withScheme("localhost:3443/shoes"), hosts);
		assert.equal(typed?.href, "https://localhost:3443/shoes", "a port is not mistaken for a scheme");
		for (const scheme of ["mailto:a@b.example", "http://localhost:3443/", "javascript:alert(1)"]) {
			assert.equal(withScheme(scheme), scheme);
		}
	}
});

test("turning crediting on without a shop address warns that partners cannot make links", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const staff = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/partners/settings`;
	const warning = /Saved\.[\s\S]+Partners cannot create links, because the shop's addresses are missing/;
	const save = async (browser: Browser, change: object) => {
		const saved = await browser.submit(path, { ...SETTINGS, ...change });
		return (await browser.open(saved.location ?? "")).text;
	};
	assert.doesNotMatch(await save(staff, { hosts: "" }), warning);
	assert.match(await save(staff, { hosts: "", creditsPartners: "on" }), warning);
	assert.match(await save(owner, { hosts: "" }), warning);
});

test("a shop address that an owner enters leads nowhere until staff confirm it", async (t) => {
	const { site, programme, path, partnerships, browser: owner } = await openWithPartners(t);
	const staff = await site.signIn(await site.addStaff());
	const settings = `${path}/settings`;
	await staff.submit(settings, { ...SETTINGS, creditsPartners: "on", hosts: "shop.example" });
	await owner.submit(settings, { ...SETTINGS, hosts: "shop.example\nevil.example" });
	const state =
		/<strong class="break">evil\.example<\/strong> waits for confirmation\. No partner's link leads there/;
	for (const at of [path, settings]) assert.match((await owner.open(at)).text, state);
	const [partnership] = partnerships;
	assert.ok(partnership);
	const links = `/partner/${partnership.partner_public_id}/links`;
	const blog = await site.signIn({ email: "annasblog@blog.example" });
	const link = { partnership: partnership.public_id, name: "", code: "anna" };
	const refused = await blog.submit(links, { ...link, target: "https://evil.example/" });
	assert.match(refused.text, /must begin with https:\/\/ and one of these hosts: shop\.example\./);
	assert.doesNotMatch((await blog.open(links)).text, /evil/);
	await blog.submit(links, { ...link, target: "https://shop.example/" });
	const click = async () => {
		const [found] = await findLinks(site.store.db, ["anna"]);
		return landingUrl("https://evil.example/steal", found?.hosts ?? []);
	};
	assert.equal(await click(), null);
	// Saving other settings does not confirm the waiting addresses, even if staff save them.
	await staff.submit(settings, {
		...SETTINGS,
		creditsPartners: "on",
		clickDays: "20",
		hosts: "shop.example\nevil.example\nmore.example",
	});
	assert.equal(await click(), null);
	const answer = { programme: programme.public_id, host: "evil.example", answer: "confirm" };
	assert.equal((await owner.submit("/partners/addresses", answer)).status, 404);
	const list = (await staff.open("/partners")).text;
	assert.match(list, /<span class="badge badge-info">1<span class="visually-hidden"> to confirm/);
	assert.match(list, /evil\.example[\s\S]+>Shop</);
	assert.doesNotMatch(list, /more\.example/, "staff entered it");
	assert.equal((await staff.submit("/partners/addresses", answer)).location, "/partners");
	assert.equal((await click())?.href, "https://evil.example/steal");
	assert.equal((await staff.submit("/partners/addresses", answer)).status, 409);
	assert.doesNotMatch((await owner.open(settings)).text, /waits for confirmation/);
	assert.deepEqual(
		(await site.audit("landing_host.confirmed")).map(({ subject }) => subject),
		["evil.example"],
	);
});

test("a declined shop address is removed, and a host that is entered again waits again", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const staff = await site.signIn(await site.addStaff());
	const settings = `/programmes/${programme.public_id}/partners/settings`;
	const answer = { programme: programme.public_id, host: "shop.example" };
	await owner.submit(settings, { ...SETTINGS, hosts: "shop.example" });
	await staff.submit("/partners/addresses", { ...answer, answer: "decline" });
	assert.deepEqual(await listLandingHosts(site.store.db, programme.id), []);
	assert.equal((await site.audit("landing_host.declined")).length, 1);
	await owner.submit(settings, { ...SETTINGS, hosts: "shop.example" });
	await staff.submit("/partners/addresses", { ...answer, answer: "confirm" });
	await owner.submit(settings, { ...SETTINGS, hosts: "" });
	await owner.submit(settings, { ...SETTINGS, hosts: "shop.example" });
	const [host] = await listLandingHosts(site.store.db, programme.id);
	assert.notEqual(host?.waitingSinceMs, null);
});

test("nobody can apply to a programme that does not take applications", async (t) => {
	const { site, programme } = await openAsOwner(t);
	const stranger = site.browser();
	for (const id of [programme.public_id, "prg_none"]) {
		assert.equal((await stranger.open(`/join/${id}`)).status, 404);
		assert.equal((await stranger.submit(`/join/${id}`, APPLICANT)).status, 404);
	}
	assert.deepEqual(await site.store.db.selectFrom("applications").selectAll().execute(), []);
});

async function openJoin(t: TestContext, hasMail = true) {
	const shop = await openWithPartners(t, [], hasMail);
	await shop.browser.submit(`${shop.path}/settings`, SETTINGS);
	const join = `/join/${shop.programme.public_id}`;
	const shown = await shop.site.browser().open(join);
	const [, seenTerms = ""] = /name="seenTerms" value="([^"]+)"/.exec(shown.text) ?? [];
	return { ...shop, join, shown, fields: { ...APPLICANT, seenTerms } };
}

/** Returns the address of the form that answers the newest application. */
async function applicationAt(browser: Browser, path: string): Promise<string> {
	const [, at = ""] = /action="([^"]+\/applications\/apl_[^"]+)"/.exec((await browser.open(path)).text) ?? [];
	return at;
}

test("an applicant who is accepted can sign in as a partner", async (t) => {
	const { site, join, shown, fields, owner: person, browser: owner, path } = await openJoin(t);
	assert.match(shown.text, /Be honest\.\nNo spam\./);
	assert.match(shown.text, /<li>8 % of the basket<\/li><li>A click on your link counts for 45 days\.<\/li>/);
	const answer = await site.browser().submit(join, fields);
	assert.equal(answer.status, 200);
	// An applicant whose email address has an account gets the same answer.
	const answerToAccount = await site.browser().submit(join, { ...fields, email: person.email });
	assert.equal(answerToAccount.text.replaceAll(person.email, fields.email), answer.text);
	const list = await owner.open(path);
	assert.match(list.text, /Blog &amp; Söhne/);
	const [second, first] = [...list.text.matchAll(/action="([^"]+\/applications\/apl_[^"]+)"/g)].map(
		([, at = ""]) => at,
	);
	assert.ok(first && second);
	assert.equal((await owner.submit(second, { answer: "decline" })).location, path);
	assert.match((await owner.open(path)).text, /Declined\. No mail is sent/);
	const accepted = await owner.submit(first, { answer: "accept" });
	assert.match(accepted.text, /A mail is on its way to ann@blog\.example/);
	assert.doesNotMatch(accepted.text, LINK);
	assert.match(accepted.text, /partners\/pts_\w+">Blog &amp; Söhne/);
	assert.equal((await owner.submit(first, { answer: "accept" })).status, 409);
	const partnership = await site.store.db.selectFrom("partnerships").selectAll().executeTakeFirstOrThrow();
	assert.equal(partnership.terms, "Be honest.\nNo spam.");
	const [mail, ...others] = site.mailbox.filter(({ to }) => to === fields.email);
	assert.deepEqual(others, []);
	assert.match(mail?.text ?? "", /Your application to the programme "Shop" was accepted/);
	assert.match(
		mail?.text ?? "",
		/Your commission in the programme "Shop":\n- 8 % of the basket\nA click on your link counts for 45 days\.\n/,
	);
	assert.match(mail?.text ?? "", /ignore it: nothing happens unless you open the link/);
});

test("an application is mailed to owners at once, and counted beside Partners until it is answered", async (t) => {
	const { site, join, fields, programme, owner: person, browser: owner, path } = await openJoin(t);
	const waiting = /Partners<span class="badge badge-info">(\d+)<span class="visually-hidden"> to answer/;
	assert.doesNotMatch((await owner.open(path)).text, waiting);
	await owner.submit(`/programmes/${programme.public_id}/integration/keys`, { name: "Shop server" });
	await site.tellChanges();
	const before = site.mailbox.length;
	await site.browser().submit(join, fields);
	await site.tellChanges();
	const [mail, ...others] = site.mailbox.slice(before);
	assert.deepEqual([mail?.to, others], [person.email, []]);
	assert.equal(mail?.subject, 'Partner application: "Shop"');
	assert.match(mail?.text ?? "", /"Blog & Söhne" applied as a partner/);
	assert.ok(mail?.text.includes(`https://ringback.example${path}\n`), mail?.text);
	assert.doesNotMatch(mail?.text ?? "", /command line|Revoke|password/);
	await site.browser().submit(join, { ...fields, email: "bea@blog.example" });
	const staff = await site.signIn(await site.addStaff());
	for (const browser of [owner, staff]) {
		const [, count] =
			waiting.exec((await browser.open(`/programmes/${programme.public_id}/overview`)).text) ?? [];
		assert.equal(count, "2");
	}
});

test("a second application from the same address is refused and does not replace the first", async (t) => {
	const { site, join, fields, browser: owner, path } = await openJoin(t);
	await site.browser().submit(join, fields);
	const again = await site.browser().submit(join, { ...fields, name: "Ann's new blog" });
	assert.equal(again.status, 409);
	assert.match(again.text, /id="email-error">An application from this address is waiting already/);
	const { text } = await owner.open(path);
	assert.match(text, /Blog &amp; Söhne/);
	assert.doesNotMatch(text, /Ann&#39;s new blog/);
	assert.equal((await site.audit("application.made")).length, 1);
});

test("a programme has at most 200 waiting applications, listed with the newest first", async (t) => {
	const { site, join, fields, browser: owner, path, programme } = await openJoin(t);
	const row = { programme_id: programme.id, site: "", about: "x", terms: "", created_at_ms: START_MS };
	const waiting = Array.from({ length: 199 }, (_, n) => ({ public_id: `apl_${n}`, email: `${n}@x.example` }));
	await site.store.db
		.insertInto("applications")
		.values(waiting.map((applicant) => ({ ...row, ...applicant, name: applicant.email })))
		.execute();
	assert.equal((await site.browser().submit(join, fields)).status, 200);
	const listed = (await owner.open(path)).text.match(/aria-label="Accept [^"]+"/g) ?? [];
	assert.deepEqual([listed[0], listed.length], ['aria-label="Accept Blog &amp; Söhne"', 200]);
	const full = await site.browser().submit(join, { ...fields, email: "late@blog.example" });
	assert.equal(full.status, 429);
	assert.match(full.text, /Many applications to this programme are waiting\. Try again later/);
});

test("an applicant who signs in for a partner of this programme is refused, even after the partnership ended", async (t) => {
	const { site, join, fields, browser: owner, path, programme } = await openJoin(t);
	const { partner, email } = await addPartner(site, "Ann");
	const partnership = await joinAs(site, programme, partner);
	await site.browser().submit(join, { ...fields, email });
	const at = await applicationAt(owner, path);
	const refused = await owner.submit(at, { answer: "accept" });
	assert.equal(refused.status, 409);
	const cure = "Decline the application, or change the partnership with Ann";
	assert.match(refused.text, new RegExp(`${email} signs in for Ann, a partner of this programme\\. ${cure}`));
	await owner.submit(`${path}/${partnership.public_id}/change`, { to: "ended" });
	assert.match((await owner.submit(at, { answer: "accept" })).text, new RegExp(cure));
	assert.equal((await site.store.db.selectFrom("partners").select("id").execute()).length, 1);
});

test("an accepted partner of another programme joins this one too, and gets no one-time link", async (t) => {
	const { site, join, fields, browser: owner, path } = await openJoin(t);
	const { partner, email } = await addPartner(site, "Ann");
	const before = site.mailbox.length;
	await site.browser().submit(join, { ...fields, email });
	const accepted = await owner.submit(await applicationAt(owner, path), { answer: "accept" });
	assert.match(accepted.text, new RegExp(`${email} signs in for it`));
	assert.doesNotMatch(accepted.text, LINK);
	const rows = await site.store.db.selectFrom("partnerships").select("partner_id").execute();
	assert.deepEqual(
		rows.map((row) => row.partner_id),
		[partner.id],
	);
	assert.equal((await site.store.db.selectFrom("partners").select("id").execute()).length, 1);
	const mails = site.mailbox.slice(before).filter(({ subject }) => subject.includes("accepted"));
	assert.deepEqual(
		mails.map(({ to }) => to),
		[email],
	);
	assert.match(mails[0]?.text ?? "", /Your partner account is "Ann"/);
	assert.match(mails[0]?.text ?? "", /Sign in as usual/);
	assert.match(mails[0]?.text ?? "", /If you did not expect this mail, ask the network's staff/);
	assert.doesNotMatch(mails[0]?.text ?? "", /ignore|welcome\//);
});

test("an applicant who has not joined another partner yet, or joined several, becomes a new partner", async (t) => {
	const { site, join, fields, browser: owner, path } = await openJoin(t);
	const invited = await invitePartner(site.deps, COMMAND_LINE, {
		name: "Ann",
		site: "",
		email: fields.email,
	});
	assert.ok(invited.ok);
	const { email } = await addPartner(site, "Bea");
	assert.ok((await invitePartner(site.deps, COMMAND_LINE, { name: "Bea 2", site: "", email })).ok);
	for (const applicant of [fields.email, email]) {
		await site.browser().submit(join, { ...fields, email: applicant, name: `New ${applicant}` });
		assert.equal((await owner.submit(await applicationAt(owner, path), { answer: "accept" })).status, 200);
	}
	const partners = await site.store.db.selectFrom("partners").select("name").orderBy("id").execute();
	assert.deepEqual(
		partners.map(({ name }) => name),
		["Ann", "Bea", "Bea 2", `New ${fields.email}`, `New ${email}`],
	);
});

test("without mail, staff see the link of an accepted applicant, and owners are asked to get it from staff", async (t) => {
	const { site, join, fields, browser: owner, path } = await openJoin(t, false);
	const staff = await site.signIn(await site.addStaff());
	const accept = async (browser: typeof owner, email: string) => {
		const applied = await site.browser().submit(join, { ...fields, email });
		assert.match(applied.text, /If it is accepted, the network gets in touch with you, at/);
		return browser.submit(await applicationAt(browser, path), { answer: "accept" });
	};
	const byOwner = await accept(owner, "ann@blog.example");
	assert.match(byOwner.text, /Ask the network's staff for it/);
	assert.doesNotMatch(byOwner.text, LINK);
	// An applicant who already has an account is handled in the same way.
	const { email } = await addPartner(site, "Cleo");
	assert.equal(cardOf((await accept(owner, email)).text, email), cardOf(byOwner.text, "ann@blog.example"));
	const [, link = ""] = LINK.exec((await accept(staff, "bea@blog.example")).text) ?? [];
	const welcome = (await site.browser().open(link)).text;
	assert.match(welcome, /You are invited as the partner/);
	assert.doesNotMatch(
		welcome,
		/The invitation comes from/,
		"partners do not learn which member of staff it was",
	);
	assert.doesNotMatch((await staff.open(path)).text, LINK);
});

function cardOf(text: string, email: string): string | undefined {
	return /<section[^>]+id="invitation"[\s\S]+?<\/section>/.exec(text)?.[0].replaceAll(email, "…");
}

test("an owner cannot accept a person of the programme, or a partner with such a person, but staff can", async (t) => {
	const { site, programme, join, fields, owner: person, browser: owner, path } = await openJoin(t);
	const staff = await site.signIn(await site.addStaff());
	const colleague = await addPartner(site, "Cleo");
	await addPartnerPerson(site.store.db, colleague.partner.id, person.id);
	await owner.submit(`/programmes/${programme.public_id}/people/invite`, {
		email: "new@shop.example",
		role: "viewer",
	});
	for (const email of [person.email, colleague.email, "new@shop.example"]) {
		await site.browser().submit(join, { ...fields, email });
		const at = await applicationAt(owner, path);
		const refused = await owner.submit(at, { answer: "accept" });
		assert.equal(refused.status, 403, email);
		assert.match(refused.text, /Only the network&#39;s staff can accept the application/);
		assert.deepEqual(await site.store.db.selectFrom("partnerships").selectAll().execute(), []);
		assert.equal((await owner.submit(at, { answer: "decline" })).location, path);
	}
	await site.browser().submit(join, { ...fields, email: person.email });
	assert.equal((await staff.submit(await applicationAt(staff, path), { answer: "accept" })).status, 200);
	assert.equal((await site.store.db.selectFrom("partnerships").selectAll().execute()).length, 1);
});

for (const hasMail of [true, false]) {
	test(`accepting an application leaves a valid invitation of that person as it is, ${hasMail ? "with" : "without"} mail`, async (t) => {
		const { site, join, fields, browser: owner, path } = await openJoin(t, hasMail);
		const staff = await site.signIn(await site.addStaff());
		const other = await site.addProgramme("Other");
		const invitation = { email: fields.email, role: "owner" };
		const invited = await staff.submit(`/programmes/${other.public_id}/people/invite`, invitation);
		const [, link = ""] = LINK.exec(invited.text) ?? [];
		assert.notEqual(link, "");
		// An address may get five invitations an hour. Applications do not use up this limit.
		for (let n = 0; n < 5; n++) {
			const name = `Blog ${n}`;
			await site.browser({ address: `198.51.${n}.1` }).submit(join, { ...fields, name });
			const at = await applicationAt(owner, path);
			const accepted = await owner.submit(at, { answer: "accept" });
			assert.equal(accepted.status, n === 0 ? 200 : 409);
			if (n > 0) await owner.submit(at, { answer: "decline" });
		}
		assert.equal((await site.browser().open(link)).status, 200, "the invitation still works");
		const renewed = await staff.submit(`/programmes/${other.public_id}/people/invite`, invitation);
		assert.equal(renewed.status, 200, "and another may be sent");
		if (!hasMail) return;
		const mails = site.mailbox.filter(({ subject }) => subject.includes("accepted"));
		assert.equal(mails.length, 1);
		assert.match(mails[0]?.text ?? "", /You have an invitation to this network that is still valid/);
		assert.doesNotMatch(mails[0]?.text ?? "", /welcome\//);
	});
}

test("all applications that were on the page are declined at once, and one that came later stays", async (t) => {
	const { site, join, fields, browser: owner, path } = await openJoin(t);
	const apply = (email: string) => site.browser().submit(join, { ...fields, email });
	await apply("one@blog.example");
	assert.doesNotMatch((await owner.open(path)).text, /Decline all/);
	await apply("two@blog.example");
	const shown = (await owner.open(path)).text;
	assert.match(shown, /data-confirm="Decline all 2 applications/);
	const [, seen = ""] = /name="seen" value="([^"]+)"/.exec(shown) ?? [];
	await apply("late@blog.example");
	const declined = await owner.submit(`${path}/applications/decline-all`, { seen });
	assert.equal(declined.location, path);
	const left = await site.store.db.selectFrom("applications").select("email").execute();
	assert.deepEqual(left, [{ email: "late@blog.example" }]);
	assert.deepEqual(
		(await site.audit("application.declined")).map(({ detail }) => detail),
		["2 at once"],
	);
	assert.equal((await owner.submit(`${path}/applications/decline-all`, { seen })).status, 409);
});

test("an applicant with a staff account's address is refused, becomes no partner, and can be declined", async (t) => {
	const { site, join, fields, browser: owner, path } = await openJoin(t);
	const { email } = await site.addStaff();
	await site.browser().submit(join, { ...fields, email });
	const at = await applicationAt(owner, path);
	const refused = await owner.submit(at, { answer: "accept" });
	assert.equal(refused.status, 409);
	assert.match(refused.text, /This address cannot be a partner here\. Decline the application/);
	assert.doesNotMatch(refused.text, /account already/);
	assert.deepEqual(await site.store.db.selectFrom("partners").selectAll().execute(), []);
	assert.equal((await owner.submit(at, { answer: "decline" })).location, path);
});

test("a faulty application is refused at the wrong field, and one is refused if the terms have changed since", async (t) => {
	const { site, join, fields, programme } = await openJoin(t);
	const stranger = site.browser();
	for (const [change, id] of [
		[{ name: " " }, "name"],
		[{ email: "nobody" }, "email"],
		[{ site: "ftp://blog.example" }, "site"],
		[{ about: "" }, "about"],
		[{ acceptsTerms: "" }, "acceptsTerms"],
	] as const) {
		const refused = await stranger.submit(join, { ...fields, ...change });
		assert.equal(refused.status, 422, id);
		assert.match(refused.text, new RegExp(`id="${id}-error"`), id);
	}
	const empty = await stranger.submit(join, {
		...fields,
		...{ name: "", email: "", about: "", acceptsTerms: "" },
	});
	assert.deepEqual(errorsIn(empty.text), ["name", "email", "about", "acceptsTerms"]);
	await setProgramme(site.store.db, programme.id, { partner_terms: "Pay us." });
	const refused = await stranger.submit(join, fields);
	assert.match(refused.text, /id="acceptsTerms-error">The terms were changed while you read them/);
	assert.match(refused.text, /Pay us\./);
	const foreign = { headers: { "sec-fetch-site": "cross-site" } };
	assert.equal((await stranger.submit(join, fields, foreign)).status, 403);
	assert.deepEqual(await site.store.db.selectFrom("applications").selectAll().execute(), []);
});

test("at most five applications an hour are accepted from one address block", async (t) => {
	const { site, join, fields } = await openJoin(t);
	const stranger = site.browser({ address: "2001:db8::1" });
	const another = () => ({ ...fields, email: `${crypto.randomUUID()}@blog.example` });
	for (let sent = 0; sent < 5; sent++) assert.equal((await stranger.submit(join, another())).status, 200);
	const neighbour = site.browser({ address: "2001:db8::2" });
	const refused = await neighbour.submit(join, fields);
	assert.equal(refused.status, 429);
	assert.match(
		refused.text,
		/Several applications came from your internet connection within an hour\. Try again in 60 minutes/,
	);
	assert.equal((await site.browser().submit(join, another())).status, 200);
	site.moveClock(HOUR_MS);
	assert.equal((await stranger.submit(join, another())).status, 200);
});

test("at most twenty applications an hour are accepted from an IPv4 /24, so that one block cannot fill a programme's list", async (t) => {
	const { site, join, fields } = await openJoin(t);
	const send = (address: string) =>
		site.browser({ address }).submit(join, { ...fields, email: `${crypto.randomUUID()}@blog.example` });
	for (let n = 0; n < 20; n++) assert.equal((await send(`203.0.113.${n}`)).status, 200);
	const refused = await send("203.0.113.200");
	assert.equal(refused.status, 429);
	assert.match(refused.text, /Many applications came from addresses close to yours/);
	assert.equal((await send("203.0.114.1")).status, 200);
});
