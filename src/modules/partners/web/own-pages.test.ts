// Tests the pages of a partner's people. They see their own earnings, links and conversions, and nothing
// else. No page or file contains an order ID. Basket values are shown only if the programme shows them to its
// partners.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { decideConversion } from "#core/conversions/decide.ts";
import { EVENT_NAMES } from "#core/domain/event-name.ts";
import { DAY_MS, QUARTER_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { savePartnerUrl } from "#core/programmes/postback-url.ts";
import { addPartnerPerson, removePartnerPerson, signsInFor } from "#core/store/queries/partner-people.ts";
import { findPersonByEmail } from "#core/store/queries/people.ts";
import { openTestSite, PASSWORD, START_MS } from "#core/web/test-site.test-support.ts";
import { earn, issueMonth } from "#modules/accounts/web/issued-statements.test-support.ts";
import { setLandingHosts, setProgramme } from "../../../../test/support/change-rows.ts";
import { makeStillClock } from "../../../../test/support/clock.ts";
import { until } from "../../../../test/support/until.ts";
import { SITE_LISTS } from "../../../site-modules.ts";
import { addClicks } from "../store/clicks.ts";
import { invitePartner } from "../use-cases/partners.ts";
import { addPartnership, changeState } from "../use-cases/partnerships.ts";
import {
	addCredited,
	addCreditingProgramme,
	addPartner,
	join,
	openPartnerShop,
	type PartnerShop,
} from "./partner-shop.test-support.ts";

const PAGES = SITE_LISTS.routes.filter(({ access, method }) => access === "partner" && method === "GET");
const TARGET = "https://shop.example/shoes";

async function makeLink(shop: PartnerShop, fields: Record<string, string> = {}) {
	const partnership = shop.partnership.public_id;
	return shop.browser.submit(`${shop.base}/links`, {
		partnership,
		target: TARGET,
		name: "",
		code: "",
		...fields,
	});
}

test("an invited partner who chooses a password is led to the earnings page", async (t) => {
	const site = await openTestSite(t);
	const input = { name: "Blog <b>", site: "", email: "pia@blog.example" };
	const invited = await invitePartner(site.deps, COMMAND_LINE, input);
	ok(invited.ok && invited.value.link !== null);
	const path = new URL(invited.value.link).pathname;
	const browser = site.browser();
	const page = await browser.open(path);
	match(page.text, /You are invited as the partner <strong class="break">Blog &lt;b&gt;<\/strong>/);
	const accepted = await browser.submit(path, { name: "Pia", password: PASSWORD });
	deepEqual([accepted.status, accepted.location], [303, "/programmes"]);
	const start = await browser.open("/programmes");
	const earnings = `/partner/${invited.value.partner.public_id}/earnings`;
	deepEqual([start.status, start.location], [303, earnings]);
	const shown = await browser.open(earnings);
	equal(shown.status, 200);
	match(shown.text, /<h1>Earnings<\/h1>/);
	match(shown.text, /<nav class="sidebar" aria-label="Partner">/);
	doesNotMatch(shown.text, /href="\/docs"/, "the start, which asks who they are");
	match(shown.text, /href="\/docs\/partner"/);
	match((await browser.open("/docs/partner")).text, /<h1>For partners<\/h1>/);
	match((await browser.open(earnings.replace("earnings", "links"))).text, /No link yet/);
	equal((await site.browser().open(path)).status, 410, "the link works once");
});

test("a person of several partners starts with one that is not archived, and can tell them apart", async (t) => {
	const { site, partner, email, browser } = await openPartnerShop(t);
	const { db } = site.store;
	const { partner: second } = await addPartner(site, "Second");
	const person = await findPersonByEmail(db, email);
	ok(person);
	await addPartnerPerson(db, second.id, person.id);
	await db
		.updateTable("partners")
		.set({ name: "Blog", site: "https://second.example" })
		.where("id", "=", second.id)
		.execute();
	await db.updateTable("partners").set({ archived_at_ms: START_MS }).where("id", "=", partner.id).execute();
	const home = await browser.open("/programmes");
	equal(home.location, `/partner/${second.public_id}/earnings`);
	const { text } = await browser.open(home.location ?? "");
	match(text, /Partner: Blog \(https:\/\/second\.example\)<[\s\S]*Partner: Blog, archived</);
});

test("a person who also belongs to a programme is offered both", async (t) => {
	const { site, programme, partner, base } = await openPartnerShop(t);
	const owner = await site.addOwner(programme);
	await addPartnerPerson(site.store.db, partner.id, owner.id);
	const browser = await site.signIn(owner);
	const start = await browser.open("/programmes");
	equal(start.location, `/programmes/${programme.public_id}/overview`);
	match(
		(await browser.open(start.location ?? "")).text,
		new RegExp(`href="${base}/earnings">Partner: Blog</a>`),
	);
	match((await browser.open(`${base}/earnings`)).text, /href="\/programmes">Programmes<\/a>/);
});

test("earnings are summed by programme, status and currency for the chosen month or days, without tests", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, partner, partnership, base, browser } = shop;
	const other = await join(site, await addCreditingProgramme(site, "Velo"), partner, "12.5000");
	const [march, february] = [START_MS, START_MS - 20 * DAY_MS].map((occurred_at_ms) => ({ occurred_at_ms }));
	await addCredited(shop, partnership, { ...march, commission: "7.50" });
	await addCredited(shop, partnership, { ...march, commission: "1000.25" });
	await addCredited(shop, partnership, { ...february, commission: "3.00", status: "APPROVED" });
	await addCredited(shop, other, { ...march, commission: "400", currency: "JPY", status: "REVERSED" });
	await addCredited(shop, partnership, { commission: "55.55", test: 1 });
	const read = async (query: string) => {
		const { text } = await browser.open(`${base}/earnings${query}`);
		doesNotMatch(text, /55\.55/);
		return text.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
	};
	const month = await read("");
	match(month, /Approved — Recorded 1,007 ?\.75 EUR 2 sales Rejected — Reversed 400 JPY 1 sale/);
	match(month, /Nordlicht Active since 2026-03-01 8 % of the basket 0 — 1,007 ?\.75 EUR 2 sales — —/);
	match(month, /Velo Active since 2026-03-01 12\.5 % of the basket 0 — — — 400 JPY 1 sale/);
	match(
		await read("?from=2026-02-01&to=2026-02-28"),
		/Nordlicht Active since 2026-03-01 8 % of the basket 0 3\.00 EUR 1 sale — — —/,
	);
	match(
		await read("?from=2026-02-01"),
		/Nordlicht Active since 2026-03-01 8 % of the basket 0 3\.00 EUR 1 sale 1,007 ?\.75 EUR 2 sales/,
	);
});

test("earnings show sales by day or by sub ID, and the commission of a hundred clicks", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, partnership, base, browser } = shop;
	await makeLink(shop);
	const link = await site.store.db.selectFrom("partner_links").selectAll().executeTakeFirstOrThrow();
	const quarter = Math.floor(START_MS / QUARTER_MS);
	await addClicks(site.store.db, [{ linkId: link.id, quarter, kind: "click", clicks: 300 }]);
	const [march, february] = [START_MS, START_MS - 20 * DAY_MS].map((occurred_at_ms) => ({ occurred_at_ms }));
	await addCredited(shop, partnership, { ...march, commission: "7.50" }, { sub_1: "top<b>" });
	await addCredited(shop, partnership, { ...march, commission: "2.55" }, { sub_1: "top<b>", sub_2: "x" });
	await addCredited(shop, partnership, { ...march, commission: "9.00", status: "REJECTED" });
	await addCredited(shop, partnership, { ...february, commission: "3.00", status: "APPROVED" });
	await addCredited(shop, partnership, { ...march, commission: "55.55", test: 1 });
	const read = async (query: string) => {
		const { text, status } = await browser.open(`${base}/earnings${query}`);
		return { text, status, words: text.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ") };
	};
	const chartOf = (text: string) =>
		JSON.parse((/data-chart="([^"]+)"/.exec(text)?.[1] ?? "null").replaceAll("&quot;", '"'));
	const month = await read("");
	// 10.05 EUR for 300 clicks. The rejected sale does not count.
	match(month.text, /data-label="Per 100 clicks">[^/]*3\.35/);
	match(month.text, /<script src="[^"]*uplot[^"]*" defer>/);
	deepEqual(chartOf(month.text).days, ["2026-03-01"], "the days after today are left out");
	const sales = await read("?from=2026-02-01&to=2026-03-31");
	const { days, series } = chartOf(sales.text);
	deepEqual([days[0], days.at(-1), days.length], ["2026-02-01", "2026-03-01", 29]);
	const sums = series.map(({ label, values }: { label: string; values: number[] }) => [
		label,
		values[days.indexOf("2026-02-09")],
		values.at(-1),
	]);
	deepEqual(sums, [
		["Approved", 1, 0],
		["Recorded", 0, 2],
		["Rejected", 0, 1],
		["Reversed", 0, 0],
	]);
	const bySub = await read("?by=sub1");
	match(bySub.words, /top&lt;b&gt; 2 — 10\.05 EUR 2 sales — — none 1 — — 9\.00 EUR 1 sale —/);
	match(bySub.text, /aria-current="true">By sub ID s1</);
	match(bySub.text, /<input type="hidden" name="by" value="sub1">/, "the form with the days keeps it");
	match(bySub.text, /href="[^"]*by=sub2[^"]*#breakdown"/);
	match((await read("?by=sub2")).words, /none 2 .* x 1 — 2\.55 EUR 1 sale/);
	const long = await read("?from=2025-01-01");
	match(long.words, /Choose at most 92 days to see sales by day or sub ID/);
	doesNotMatch((await read("?from=2026-04-01")).text, /id="breakdown"/, "the days are all in the future");
	match((await read("?by=order")).text, /aria-current="true">By day</, "there is no such tab");
});

test("a link is made for an active partnership, shown with sub IDs, and listed with its clicks and other visits", async (t) => {
	const shop = await openPartnerShop(t, { change: { clickUrl: "https://go.example" } });
	const { site, browser, base, partnership } = shop;
	match((await browser.open(`${base}/links`)).text, /Nordlicht \(shop\.example\)/);
	const created = await makeLink(shop, { name: "Spring", code: "Spring-26" });
	deepEqual([created.status, created.location], [303, `${base}/links?link=spring-26`]);
	const page = await browser.open(`${created.location}&s1=top%26&s2=a%40b.example&s3=x`);
	match(page.text, /<code>https:\/\/go\.example\/c\/spring-26\?s1=top%26&amp;s3=x<\/code>/);
	match(page.text, /data-copy="https:\/\/go\.example\/c\/spring-26\?s1=top%26&amp;s3=x"/);
	match(page.text, /id="s2-error">Left out: it has an @ or a character that cannot be seen, or does not fit/);
	doesNotMatch(page.text, /id="s[13]-error"/);
	const link = await site.store.db.selectFrom("partner_links").selectAll().executeTakeFirstOrThrow();
	const quarter = Math.floor(START_MS / QUARTER_MS);
	const count = { linkId: link.id, quarter, kind: "click", clicks: 12 } as const;
	await addClicks(site.store.db, [
		count,
		{ ...count, quarter: quarter - 31 * 96, clicks: 1_000 },
		{ ...count, kind: "ended", clicks: 3 },
	]);
	const { text } = await browser.open(`${base}/links`);
	match(text, /data-copy="https:\/\/go\.example\/c\/spring-26"/);
	const shown = await (await site.signIn(await site.addStaff())).open(
		`/programmes/${partnership.programme_public_id}/partners/${partnership.public_id}`,
	);
	match(shown.text, /data-copy="https:\/\/go\.example\/c\/spring-26"/);
	match(text, /data-label="Clicks">12<span class="secondary">1,012 in total</);
	match(text, /data-label="Other visits"><div>Partnership ended: 3 <span class="faint">\(3 in total\)</);
	doesNotMatch(text, /Crawlers/);
	const foreign = await makeLink(shop, { target: "https://evil.example/" });
	equal(foreign.status, 422);
	match(
		foreign.text,
		/id="target-error">Enter an address of the shop, without a port\. It must begin with https:\/\/ and one of these hosts: shop\.example/,
	);
	match(foreign.text, /value="https:\/\/evil\.example\/"/);
	const wrong = await makeLink(shop, { name: "x".repeat(101), target: "", code: "-" });
	match(wrong.text, /id="target-error"[\s\S]+id="name-error"[\s\S]+id="code-error"/);
});

test("a partner finds only listed programmes that take applications, and applies with its own name", async (t) => {
	const { site, programme, partner, browser, base, email } = await openPartnerShop(t);
	const owner = await site.signIn(await site.addOwner(programme));
	const { db } = site.store;
	const listed = { takes_applications: 1, is_listed: 1 } as const;
	await setProgramme(db, programme.id, listed);
	const rivals = await Promise.all(["Velo", "Private", "Closed", "Archived"].map(site.addProgramme));
	const [velo, , closed, archived] = rivals;
	ok(velo !== undefined && closed !== undefined && archived !== undefined);
	const page = `${base}/programmes`;
	match((await browser.open(page)).text, /No programme to apply for/);
	await setProgramme(db, velo.id, { ...listed, click_days: 14 });
	await setProgramme(db, closed.id, { is_listed: 1 });
	await setProgramme(db, archived.id, { ...listed, archived_at_ms: START_MS });
	const { text } = await browser.open(page);
	const names = [...text.matchAll(/<span class="break">(\w+)<\/span>/g)].map(([, name]) => name);
	deepEqual(names, ["Velo"], "its own programme and those that are not listed are left out");
	match(text, /8 % of the basket[\s\S]*counts for 14 days/);
	const applyPath = `${page}/${velo.public_id}`;
	ok(text.includes(`href="${applyPath}"`));
	equal((await browser.submit(applyPath, { about: "" })).status, 422);
	const applied = await browser.submit(applyPath, { about: "By reviews." });
	deepEqual([applied.status, applied.location], [303, page]);
	const { text: after } = await browser.open(page);
	match(after, /We sent your application to Velo/);
	match(after, />Applied</);
	const repeated = await browser.submit(applyPath, { about: "By reviews." });
	match(repeated.text, /Your application is waiting already/);
	const [application] = await db.selectFrom("applications").selectAll().execute();
	deepEqual([application?.name, application?.email, application?.partner_id], ["Blog", email, partner.id]);
	equal((await browser.open(`${page}/${closed.public_id}`)).status, 404);
	equal((await owner.open(page)).status, 404, "it is the partner's page");
	equal((await owner.submit(applyPath, { about: "By reviews." })).status, 404);
	const staff = await site.signIn(await site.addStaff());
	doesNotMatch((await staff.open(page)).text, /Apply for/, "staff add programmes on the partner's page");
	match((await staff.open(applyPath)).text, /Only the partner's own people apply/);
	equal((await staff.submit(applyPath, { about: "By reviews." })).status, 403);
});

test("an application of a partner is accepted for that partner, although its person signs in for others", async (t) => {
	const { site, partner, browser, base, email } = await openPartnerShop(t);
	const { db } = site.store;
	const { partner: second } = await addPartner(site, "Second");
	const person = await findPersonByEmail(db, email);
	ok(person);
	await addPartnerPerson(db, second.id, person.id);
	const velo = await addCreditingProgramme(site, "Velo");
	await setProgramme(db, velo.id, { takes_applications: 1, is_listed: 1, partner_terms: "No spam." });
	const applyPath = `${base}/programmes/${velo.public_id}`;
	const refused = await browser.submit(applyPath, { about: "By reviews." });
	match(refused.text, /Accept the terms to apply/);
	equal(
		(await browser.submit(applyPath, { about: "By reviews.", acceptsTerms: "on", seenTerms: "No spam." }))
			.status,
		303,
	);
	const ofSecond = `/partner/${second.public_id}/programmes/${velo.public_id}`;
	equal(
		(await browser.submit(ofSecond, { about: "By mail.", acceptsTerms: "on", seenTerms: "No spam." })).status,
		303,
	);
	const owner = await site.signIn(await site.addOwner(velo));
	const list = `/programmes/${velo.public_id}/partners`;
	const [first, last] = await db.selectFrom("applications").selectAll().orderBy("id").execute();
	ok(first && last);
	const accepted = await owner.submit(`${list}/applications/${first.public_id}`, { answer: "accept" });
	equal(accepted.status, 200, accepted.text);
	const partnerIds = async () =>
		(
			await db
				.selectFrom("partnerships")
				.select("partner_id")
				.where("programme_id", "=", velo.id)
				.orderBy("id")
				.execute()
		).map(({ partner_id }) => partner_id);
	deepEqual(await partnerIds(), [partner.id]);
	// The person leaves the second partner before its application is accepted. The application still belongs to
	// the partner.
	await removePartnerPerson(db, second.id, person.id);
	const late = await owner.submit(`${list}/applications/${last.public_id}`, { answer: "accept" });
	equal(late.status, 200, late.text);
	deepEqual(await partnerIds(), [partner.id, second.id]);
	equal(await signsInFor(db, second.id, person.id), false, "who has left stays out");
	equal((await db.selectFrom("partners").selectAll().execute()).length, 2, "no partner was added");
});

test("totals that take long are counted in the background, and the page shows them when they are complete", async (t) => {
	let isPatienceOver = false;
	const clock = {
		...makeStillClock(() => START_MS),
		// This timer limits how long a page waits for its totals. No other timer fires in this test.
		after: (ms: number, ring: () => void) => {
			if (ms === 30 && isPatienceOver) ring();
			return () => undefined;
		},
	};
	const shop = await openPartnerShop(t, { change: { clock } });
	const { browser, base, partnership, site, programme } = shop;
	const atStart = { occurred_at_ms: START_MS, created_at_ms: START_MS };
	await addCredited(shop, partnership, { ...atStart, commission: "7.50" });
	const staff = await site.signIn(await site.addStaff());
	const pages = [
		[browser, `${base}/earnings?from=2026-02-01`],
		[staff, "/partners?from=2026-02-02"],
		[staff, `/programmes/${programme.public_id}/partners?from=2026-02-03`],
		[staff, "/totals?days=7"],
	] as const;
	for (const [who, path] of pages) {
		isPatienceOver = true;
		const waiting = await who.open(path);
		match(waiting.text, /Being counted/);
		match(waiting.text, /The sums are being counted\. The first time this takes a few seconds\./);
		doesNotMatch(waiting.text, /many conversions/, "there is only one");
		ok(new RegExp(`id="totals"[^>]* hx-get="${RegExp.escape(path)}"`).test(waiting.text), path);
		doesNotMatch(waiting.text, /7\.50/);
		isPatienceOver = false;
		let text = "";
		await until(async () => {
			({ text } = await who.open(path));
			return text.includes("7.50");
		});
		match(text, /Counted <time[^>]*>[^<]*<\/time>\./);
		doesNotMatch(text, /hx-get="[^"]*from=/);
	}
});

test("if the chosen days begin before the oldest stored click, the page says from which day clicks are stored", async (t) => {
	const shop = await openPartnerShop(t, { change: { retentionDays: 20 } });
	const { site, partnership, browser, base } = shop;
	const created = await makeLink(shop);
	equal(created.status, 303);
	const link = await site.store.db.selectFrom("partner_links").selectAll().executeTakeFirstOrThrow();
	const quarter = Math.floor(START_MS / QUARTER_MS);
	await addClicks(site.store.db, [{ linkId: link.id, quarter, kind: "click", clicks: 4 }]);
	match((await browser.open(`${base}/links`)).text, /Visits in the last 20 days, and in total/);
	const cut = /Clicks before <time[^>]*>2026-02-09<\/time> are no longer on record/;
	const asked = (from: string) => browser.open(`${base}/earnings?from=${from}`);
	doesNotMatch((await asked("2026-02-01")).text, cut, "the partnership is younger than that");
	const created_at_ms = START_MS - 100 * DAY_MS;
	await site.store.db
		.updateTable("partnerships")
		.set({ created_at_ms })
		.where("id", "=", partnership.id)
		.execute();
	match((await asked("2026-02-01")).text, cut);
	doesNotMatch((await asked("2026-02-10")).text, cut);
});

test("a new partner is led to the first link, and links to removed hosts or of ended partnerships are marked", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, browser, base, partnership, programme } = shop;
	const staff = await site.signIn(await site.addStaff());
	const partnershipPage = `/programmes/${partnership.programme_public_id}/partners/${partnership.public_id}`;
	match((await browser.open(`${base}/earnings`)).text, /Make your first link/);
	doesNotMatch((await staff.open(`${base}/earnings`)).text, /Make your first link/);
	await makeLink(shop);
	doesNotMatch((await browser.open(`${base}/earnings`)).text, /Make your first link/);
	const moved =
		/Leads to the shop&#39;s front page(?:<[^>]+>)+shop\.example is no longer one of the shop's addresses/;
	const shown = async () => [
		(await browser.open(`${base}/links`)).text,
		(await staff.open(partnershipPage)).text,
	];
	for (const text of await shown()) doesNotMatch(text, moved);
	await setLandingHosts(site.store.db, programme.id, [{ host: "new.example", withSubdomains: true }]);
	for (const text of await shown()) match(text, moved);
	match((await browser.open(`${base}/links`)).text, /Nordlicht \(\*\.new\.example\)/);
	await setLandingHosts(site.store.db, programme.id, []);
	for (const text of await shown()) match(text, /Leads nowhere/);
	await staff.submit(`${partnershipPage}/change`, { to: "ended" });
	for (const text of await shown()) match(text, /Partnership ended/);
});

test("links can be made only for programmes in which they work, and the others are listed with the reason", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, browser, base, partner, programme } = shop;
	const bare = await site.addProgramme("Bare");
	await setProgramme(site.store.db, bare.id, { credits_partners: 1 });
	const off = await addCreditingProgramme(site, "Off");
	await setProgramme(site.store.db, off.id, { credits_partners: 0 });
	for (const other of [bare, off]) await join(site, other, partner);
	const { text } = await browser.open(`${base}/links`);
	deepEqual(
		[...text.matchAll(/<option[^>]*>([^<]+)</g)].map(([, label]) => label),
		["Nordlicht (shop.example)"],
	);
	match(
		text,
		/No links yet to Bare, Off, because the programme does not credit partners, or its shop.s addresses are missing/,
	);
	await setProgramme(site.store.db, programme.id, { credits_partners: 0 });
	doesNotMatch((await browser.open(`${base}/links`)).text, /Make link/);
});

test("a partner sees for each programme how long a click counts and which terms apply", async (t) => {
	const { site, programme, browser, base, partner } = await openPartnerShop(t);
	await setProgramme(site.store.db, programme.id, { click_days: 45 });
	const strict = await addCreditingProgramme(site, "Strict");
	await setProgramme(site.store.db, strict.id, { partner_terms: "No spam.\nNo <b>." });
	ok((await addPartnership(site.deps, COMMAND_LINE, strict.id, partner)).ok);
	const { text } = await browser.open(`${base}/earnings`);
	match(text, /Nordlicht[\s\S]+last click of the 45 days before it/);
	match(text, /Strict[\s\S]+No spam\.\nNo &lt;b&gt;\./);
});

test("links are listed in pages", async (t) => {
	const shop = await openPartnerShop(t);
	const rows = Array.from({ length: 51 }, (_, n) => ({
		code: `code-${n}`,
		partnership_id: shop.partnership.id,
		name: "",
		target: TARGET,
		created_at_ms: START_MS,
	}));
	await shop.site.store.db.insertInto("partner_links").values(rows).execute();
	const first = await shop.browser.open(`${shop.base}/links`);
	ok(first.text.includes("/c/code-50<") && !first.text.includes("/c/code-0<"));
	const older = /href="([^"]+)" rel="next"/.exec(first.text)?.[1] ?? "";
	const second = await shop.browser.open(older.replaceAll("&amp;", "&"));
	ok(second.text.includes("/c/code-0<") && !second.text.includes("/c/code-50<"));
});

test("conversions can be filtered and paged, and are exported in the account's language", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, browser, base, partner, partnership } = shop;
	const other = await join(site, await addCreditingProgramme(site, "Velo"), partner);
	const approved = await addCredited(
		shop,
		other,
		{
			status: "APPROVED",
			commission: "3.25",
			occurred_at_ms: START_MS - 10 * DAY_MS,
			created_at_ms: START_MS,
			decided_at_ms: START_MS - 9 * DAY_MS,
		},
		{ word: "CODE", sub_1: "=news", sub_3: "top" },
	);
	const today = { occurred_at_ms: START_MS, created_at_ms: START_MS };
	for (let n = 0; n < 51; n++) await addCredited(shop, partnership, today);
	const first = await browser.open(`${base}/conversions`);
	match(first.text, /50 shown/);
	doesNotMatch(first.text, new RegExp(approved.public_id));
	const older = /href="([^"]+)" rel="next"/.exec(first.text)?.[1] ?? "";
	const second = await browser.open(older.replaceAll("&amp;", "&"));
	match(second.text, new RegExp(approved.public_id));
	equal(second.text.match(/cnv_/g)?.length, 2);
	for (const [query, found] of [
		[`programme=${other.programme_public_id}`, 1],
		["status=APPROVED", 1],
		["to=2026-02-25", 1],
		["from=2026-02-01&to=2026-02-25", 1],
		["dates=decision", 1],
		["dates=decision&from=2026-02-20&to=2026-02-20", 1],
		["dates=decision&to=2026-02-19", 0],
		["status=REJECTED", 0],
		["from=2027-01-01", 0],
	] as const) {
		const { text, status } = await browser.open(`${base}/conversions?${query}`);
		deepEqual([status, text.match(/cnv_/g)?.length ?? 0], [200, found], query);
		if (found === 0) match(text, /No conversion matches/);
	}
	const listed = await browser.open(`${base}/conversions?status=APPROVED`);
	match(listed.text, /Coupon code/);
	match(listed.text, /s1: =news<\/div><div class="break">s3: top/);
	const wrong = await browser.open(`${base}/conversions/export.csv?status=BOGUS`);
	equal(wrong.status, 422);
	match(wrong.text, /This filter is not understood/);
	const file = await browser.open(`${base}/conversions/export.csv?status=APPROVED`);
	match(file.headers.get("content-disposition") ?? "", /conversions-ptn_\w+-2026-03-01\.csv/);
	const sold = "2026-02-19T12:00:00.000Z";
	deepEqual(file.text.split("\r\n"), [
		"conversionId,programme,status,commission,basketValue,currency,occurredAt,decidedAt,reason,creditedBy,s1,s2,s3",
		`${approved.public_id},Velo,APPROVED,3.25,,EUR,${sold},2026-02-20T12:00:00.000Z,,CODE,'=news,,top`,
		"",
	]);
	await site.store.db.updateTable("people").set({ locale: "de" }).execute();
	const german = await browser.open(`${base}/conversions/export.csv?status=APPROVED`);
	match(german.text, /;Velo;APPROVED;"3,25";;EUR;2026-02-19 12:00:00;2026-02-20 12:00:00;;CODE;'=news;;top/);
});

test("no page or file of a partner has an order ID, or a basket value unless the programme shows them", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, partner, partnership, browser, base, programme } = shop;
	const secrets = { order_id: "ORDER-31337", basket_value: "987.65", pixel_basket_value: "98.70" };
	const sold = await addCredited(shop, partnership, secrets);
	await addCredited(shop, partnership, { ...secrets, order_id: "ORDER-31338", status: "REJECTED" });
	await makeLink(shop);
	const earned = { order_id: "ORDER-31339", basket_value: "987.65", pixel_basket_value: "98.70" };
	await earn(site, partnership, "5.00", { sale: earned });
	const [statement] = await issueMonth(site);
	const called = { url: "https://partner.example/hook", form: "json", events: EVENT_NAMES } as const;
	ok((await savePartnerUrl(site.deps, partner.public_id, called, COMMAND_LINE)).ok);
	await site.store.transact((trx) =>
		decideConversion(trx, site.deps, sold, { move: "approve", decidedBy: "shop" }),
	);
	await setProgramme(site.store.db, programme.id, { takes_applications: 1 });
	const delivery = await site.store.db.selectFrom("deliveries").select("public_id").executeTakeFirstOrThrow();
	const open = async (query = "") => {
		const answers = [];
		for (const { path } of PAGES) {
			const address = path
				.replace(":partnerId", partner.public_id)
				.replace(":programmeId", programme.public_id)
				.replace(":statementId", statement?.public_id ?? "")
				.replace(":deliveryId", delivery.public_id);
			const answer = await browser.open(`${address}${query}`);
			equal(answer.status, 200, path);
			answers.push(JSON.stringify([answer.text, [...answer.headers]]));
		}
		return answers.join("\n");
	};
	equal(PAGES.length, 16);
	const hidden = await open();
	match(hidden, new RegExp(sold.public_id));
	doesNotMatch(hidden, /ORDER-3133|987|98\.70/);
	doesNotMatch(await open("?orderId=ORDER-31337&search=ORDER"), /987/);
	await setProgramme(site.store.db, programme.id, { shows_baskets: 1 });
	const shown = await open();
	match(shown, /987\.65/);
	doesNotMatch(shown, /ORDER-3133|98\.70/);
	// The partner cannot open the page of the conversion or the programme's list.
	for (const path of [
		`${base}/conversions/${sold.public_id}`,
		`/programmes/${programme.public_id}/conversions`,
	]) {
		equal((await browser.open(path)).status, 404, path);
	}
});

test("another partner's links, conversions and list cursors get the same answer as unknown ones", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, browser, base, programme } = shop;
	const stranger = await addPartner(site, "Stranger");
	const theirs = await join(site, programme, stranger.partner);
	const sold = await addCredited(shop, theirs);
	const them = await site.signIn({ email: stranger.email });
	const created = await makeLink(
		{ ...shop, browser: them, base: `/partner/${stranger.partner.public_id}`, partnership: theirs },
		{ code: "strangers" },
	);
	equal(created.status, 303);
	equal((await browser.open(`${base}/links?link=strangers`)).status, 404);
	const before = await site.storedText();
	equal((await makeLink(shop, { partnership: theirs.public_id })).status, 404);
	equal((await makeLink({ ...shop, base: `/partner/${stranger.partner.public_id}` })).status, 404);
	equal(await site.storedText(), before);
	for (const path of ["earnings", "links", "conversions", "conversions/export.csv"]) {
		doesNotMatch((await browser.open(`${base}/${path}`)).text, new RegExp(`strangers|${sold.public_id}`));
	}
	// A cursor from another partner's list is ignored here.
	for (let n = 0; n < 51; n++) await addCredited(shop, theirs);
	const foreign = await them.open(`/partner/${stranger.partner.public_id}/conversions`);
	const cursor = /cursor=([\w-]+)/.exec(foreign.text)?.[1] ?? "";
	ok(cursor.length > 20);
	match((await browser.open(`${base}/conversions?cursor=${cursor}`)).text, /No conversions here/);
});

test("a partner whose partnerships have ended still sees its earnings, but cannot make links", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, browser, base, partnership } = shop;
	const sold = await addCredited(shop, partnership, { occurred_at_ms: START_MS });
	await makeLink(shop, { code: "kept" });
	const address = { programmeId: partnership.programme_id, publicId: partnership.public_id };
	ok((await changeState(site.deps, COMMAND_LINE, address, "ended")).ok);
	const links = await browser.open(`${base}/links`);
	match(links.text, /All your partnerships have ended\. You keep what you earned/);
	match(links.text, /\/c\/kept</);
	doesNotMatch(links.text, /Make link/);
	const refused = await makeLink(shop);
	equal(refused.status, 409);
	match(refused.text, /All your partnerships have ended\. You keep what you earned/);
	match((await browser.open(`${base}/earnings`)).text, /1 sale</);
	match((await browser.open(`${base}/conversions`)).text, new RegExp(sold.public_id));
});

test("a person who was removed from the partner sees nothing and can make nothing", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, browser, base, partner } = shop;
	const person = await site.store.db
		.selectFrom("people")
		.select("id")
		.where("email", "=", shop.email)
		.executeTakeFirstOrThrow();
	await removePartnerPerson(site.store.db, partner.id, person.id);
	equal((await browser.open(`${base}/earnings`)).status, 404);
	equal((await makeLink(shop)).status, 404);
	match((await browser.open("/programmes")).text, /You have no programme/);
});

test("staff correct a partner's name and site, the audit log has both, and the partner cannot", async (t) => {
	const { site, partner, browser, base } = await openPartnerShop(t);
	const staff = await site.signIn(await site.addStaff());
	const path = `${base}/earnings`;
	equal((await browser.submit(`${path}/name`, { name: "Mine", site: "" })).status, 404);
	const refused = await staff.submit(`${path}/name`, { name: "", site: "ftp://x" });
	match(refused.text, /id="name-error"[\s\S]+id="site-error"/);
	const named = await staff.submit(`${path}/name`, { name: "Bergblog", site: "bergblog.example" });
	equal(named.location, path);
	const shown = (await staff.open(path)).text;
	match(shown, /value="Bergblog"/);
	match(shown, /https:\/\/bergblog\.example\//, "https:// is added");
	await staff.submit(`${path}/name`, { name: "Bergblog", site: "https://bergblog.example" });
	deepEqual(
		(await site.audit("partner.changed")).map(({ subject, detail }) => [subject, detail]),
		[[partner.public_id, "name: Blog → Bergblog; site: none → https://bergblog.example/"]],
	);
});

test("a partner chooses mails about sales under Account, and one choice about callbacks, and an owner is offered both kinds", async (t) => {
	const shop = await openPartnerShop(t);
	const { site, programme, browser, email } = shop;
	const { db } = site.store;
	const own = async () => (await findPersonByEmail(db, email))?.mails_sales;
	const { text } = await browser.open("/account");
	match(text, /<option value="daily" selected>/);
	match(text, /name="own_failing"[^>]* checked/);
	doesNotMatch(text, /of my programmes/);
	const settings = { name: "Pia Partner", zone: "", locale: "" };
	await browser.submit("/account/settings", { ...settings, sales: "each" });
	equal(await own(), "each");
	match((await browser.open("/account")).text, /<option value="each" selected>/);
	const wrong = await browser.submit("/account/settings", { ...settings, sales: "hourly" });
	equal(wrong.status, 422);
	match(wrong.text, /id="sales-error"/);
	await browser.submit("/account/settings", settings);
	equal(await own(), "each", "a form without the choice keeps it");
	const failing = async () => (await findPersonByEmail(db, email))?.mails_callbacks_failing;
	equal(await failing(), 0, "a box that is not ticked");
	await browser.submit("/account/settings", { ...settings, own_failing: "on" });
	equal(await failing(), 1);

	const person = await site.addOwner(programme);
	const owner = await site.signIn(person);
	const page = (await owner.open("/account")).text;
	match(page, /name="callbacks_failing"[\s\S]*name="decisions_waiting"/);
	doesNotMatch(page, /name="sales"/);
	await owner.submit("/account/settings", { ...settings, callbacks_failing: "on", sales: "none" });
	const saved = await findPersonByEmail(db, person.email);
	deepEqual(
		[saved?.mails_callbacks_failing, saved?.mails_decisions_waiting, saved?.mails_sales],
		[1, 0, "daily"],
	);
});
