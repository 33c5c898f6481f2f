// Tests the settings that people change for themselves: name, time zone, language, mails and email address.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newNotice } from "../../../../test/support/notices.ts";
import { addConversion } from "../../../../test/support/rows.ts";
import { HOUR_MS } from "../../domain/time.ts";
import { COMMAND_LINE } from "../../people/actor.ts";
import { savePostbackUrl } from "../../programmes/postback-url.ts";
import { addCallbackCounts } from "../../store/queries/delivery-health.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import {
	type Browser,
	LINK,
	newEmail,
	openAsOwner,
	openAsStaff,
	openTestSite,
	PASSWORD,
	START_MS,
	type TestSite,
} from "../test-site.test-support.ts";

const SETTINGS = { name: "Olga", zone: "Europe/Berlin", locale: "de-DE" };

test("name, time zone and language are saved, and every page carries the time zone and language for its times", async (t) => {
	const site = await openTestSite(t);
	const owner = await site.addOwner(await site.addProgramme());
	const browser = await site.signIn(owner);
	assert.doesNotMatch(
		(await browser.open("/account")).text,
		/<html[^>]* data-(zone|locale)/,
		"by default the browser decides",
	);
	const saved = await browser.submit("/account/settings", SETTINGS);
	assert.deepEqual([saved.status, saved.location], [303, "/account"]);
	for (const path of ["/account", "/programmes"]) {
		const { text, location } = await browser.open(path);
		const page = location === null ? text : (await browser.open(location)).text;
		assert.match(page, /<html lang="en" data-zone="Europe\/Berlin" data-locale="de-DE">/, path);
	}
	const { text } = await browser.open("/account");
	assert.match(text, /value="Olga"/);
	assert.match(text, /Language of dates and numbers[\s\S]+Pages and mails are in English\./);
	assert.match(text, /<option value="Europe\/Berlin" selected>/);
	const again = await browser.submit("/account/settings", { ...SETTINGS, callbacks_failing: "on" });
	assert.equal(again.status, 303);
	assert.deepEqual(await detailsOf(site, "account.changed"), [
		"name, zone, locale, mails callbacks failing, mails callbacks working again, mails decisions waiting",
		"mails callbacks failing",
	]);
});

test("amounts and counts are in the language of the account, or else of the browser", async (t) => {
	const { site, programme, browser } = await openAsOwner(t);
	await addConversion(site.store, programme.id, { basket_value: "1234567.50" });
	const path = `/programmes/${programme.public_id}/conversions`;
	const basket = async (language: string) => {
		const { text } = await browser.open(path, { "accept-language": language });
		return /<td class="number".*?>([\d.,\s]+) <span class="faint">EUR/.exec(text)?.[1];
	};
	assert.equal(await basket(""), "1,234,567.50");
	assert.equal(await basket("de-AT,de;q=0.9,en;q=0.8"), "1\u00a0234\u00a0567,50");
	assert.equal(await basket("*;q=1"), "1,234,567.50");
	await browser.submit("/account/settings", SETTINGS);
	assert.equal(await basket("en-US"), "1.234.567,50");
	const file = await browser.open(`${path}/export.csv`);
	assert.match(file.text, /;"1234567,50";/, "the file is for a spreadsheet in this language");
});

test("the chart of callbacks has the days of the network's time zone, whatever the account's is", async (t) => {
	const { site, programme, browser } = await openAsOwner(t);
	const count = { receiverId: programme.receiver_id, quarterMs: START_MS, delivered: 3, failed: 0 };
	await addCallbackCounts(site.store.db, [count]);
	await savePostbackUrl(site.deps, programme.public_id, "https://shop.example/postback", COMMAND_LINE);
	const lastDay = async () => {
		const { text } = await browser.open(`/programmes/${programme.public_id}/integration`);
		const cells = /<time class="nowrap" datetime="([\d-]+)">[^/]*<\/time><\/td><td class="number">3</.exec(
			text,
		);
		return [cells?.[1], /Attempts per day \((.*?)\)/.exec(text)?.[1]];
	};
	assert.deepEqual(await lastDay(), ["2026-03-01", "UTC"]);
	await browser.submit("/account/settings", { ...SETTINGS, zone: "Pacific/Auckland" });
	assert.deepEqual(await lastDay(), ["2026-03-01", "UTC"]);
	await site.setZone("Pacific/Auckland");
	assert.deepEqual(await lastDay(), ["2026-03-02", "Pacific/Auckland"]);
});

test("an invalid time zone, language or name is reported at its field and changes nothing", async (t) => {
	const { site, browser } = await openAsStaff(t);
	for (const [field, value] of [
		["zone", "Mars/Olympus"],
		["locale", "xx-XX"],
		["name", "  "],
	] as const) {
		const { status, text } = await browser.submit("/account/settings", { ...SETTINGS, [field]: value });
		assert.equal(status, 422, field);
		assert.match(text, new RegExp(`id="${field}-error"`), field);
	}
	assert.deepEqual(await detailsOf(site, "account.changed"), []);
	assert.doesNotMatch(
		(await browser.open("/account")).text,
		/name="callbacks_/,
		"staff have another box for these mails",
	);
});

test("people can switch off mails about failing callbacks, and the page says if nobody gets them", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme();
	const [owner, developer] = [await site.addOwner(programme), await site.addPerson(programme, "developer")];
	await site.addPerson(programme, "viewer");
	const tell = async (kind: "callbacks_failing" | "callbacks_working_again") => {
		site.moveClock(HOUR_MS);
		await addNotice(site, programme, kind);
		await site.tellChanges();
		return site.mailbox.splice(0).map(({ to }) => to);
	};
	assert.deepEqual((await tell("callbacks_failing")).sort(), [owner.email, developer.email].sort());
	const browser = await site.signIn(owner);
	await choose(browser, ["callbacks_working_again"]);
	assert.deepEqual(await tell("callbacks_failing"), [developer.email]);
	assert.deepEqual((await tell("callbacks_working_again")).sort(), [owner.email, developer.email].sort());
	await choose(browser, []);
	await choose(await site.signIn(developer), []);
	assert.deepEqual(await tell("callbacks_failing"), []);
	const waiting = await site.store.db
		.selectFrom("notices")
		.select("id")
		.where("mail_due_at_ms", "is not", null)
		.execute();
	assert.deepEqual(waiting, [], "no mail is left to be tried again");
	const { text } = await browser.open(`/programmes/${programme.public_id}/overview`);
	assert.match(text, /all owners and developers have switched these mails off/);
	// Mails about security cannot be switched off, because they may be the only sign of an intruder.
	await browser.submit(`/programmes/${programme.public_id}/integration/keys`, {});
	await site.tellChanges();
	assert.deepEqual(
		site.mailbox.map(({ to, subject }) => [to, subject]),
		[[owner.email, 'API key issued: "Shop"']],
	);
});

test("an address changes when the link in a mail to it is opened, and the old address gets two mails", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const owner = await site.addOwner(await site.addProgramme());
	const browser = await site.signIn(owner);
	const email = newEmail("shop");
	const wrong = await browser.submit("/account/email", { email, currentPassword: "wrong" });
	assert.deepEqual([wrong.status, /id="email-current-error"/.test(wrong.text)], [422, true]);
	assert.equal(site.mailbox.length, 0);
	const asked = await browser.submit("/account/email", { email, currentPassword: PASSWORD });
	assert.deepEqual([asked.status, asked.location], [303, "/account"]);
	const [mail] = site.mailbox.splice(0);
	assert.deepEqual([mail?.to, mail?.subject], [email, "Confirm your new email address"]);
	await site.tellChanges();
	const [warned] = site.mailbox.splice(0);
	assert.deepEqual([warned?.to, warned?.subject], [owner.email, "Your account: new email address requested"]);
	const link = LINK.exec(mail?.text ?? "")?.[1] ?? "";
	assert.match((await site.browser().open(link)).text, /Confirm your email address/);
	assert.match(
		(await browser.open("/account")).text,
		new RegExp(`sign in with <strong class="break">${owner.email}<`),
	);
	const confirmed = await browser.submit(link, {});
	assert.deepEqual([confirmed.status, confirmed.location], [303, "/account"]);
	assert.match((await browser.open("/account")).text, new RegExp(`Your email address is now ${email}`));
	const [left] = site.mailbox.splice(0);
	assert.deepEqual([left?.to, left?.subject], [owner.email, "Your email address was changed"]);
	assert.equal((await site.browser().open(link)).status, 410, "the link works once");
	await site.signIn({ email });
	const old = site.browser();
	assert.equal((await old.submit("/sign-in", { email: owner.email, password: PASSWORD })).status, 401);
	assert.deepEqual(await detailsOf(site, "address.changed"), [`${owner.email} → ${email}`]);
});

test("a request for an address that is in use gets the usual answer, sends no mail and changes nothing", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme();
	const [owner, other] = [await site.addOwner(programme), await site.addOwner(programme)];
	const browser = await site.signIn(owner);
	const ask = async (email: string) => {
		const { status, location } = await browser.submit("/account/email", { email, currentPassword: PASSWORD });
		const { text } = await browser.open("/account");
		return [status, location, text.includes(`A mail is on its way to ${email}.`)];
	};
	assert.deepEqual(await ask(other.email), [303, "/account", true]);
	assert.equal(site.mailbox.length, 0);
	const free = newEmail("shop");
	assert.deepEqual(await ask(free), [303, "/account", true]);
	const link = LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	// Another person joins with this address before the link is opened.
	await site.addOwner(programme, free);
	assert.equal((await browser.open(link)).status, 410);
	assert.equal((await browser.submit(link, {})).status, 410);
	await site.signIn(owner);
	await site.signIn(other);
});

async function choose(browser: Browser, mails: readonly string[]): Promise<void> {
	await browser.open("/account");
	const form = new URLSearchParams(SETTINGS);
	for (const kind of mails) form.append(kind, "on");
	assert.equal((await browser.submitForm("/account/settings", form)).status, 303);
}

async function addNotice(
	site: TestSite,
	{ receiver_id }: Programme,
	kind: "callbacks_failing" | "callbacks_working_again",
) {
	const { db } = site.store;
	const atMs = site.deps.clock.nowMs();
	await db.updateTable("notices").set({ ended_at_ms: atMs }).where("ended_at_ms", "is", null).execute();
	const notice = newNotice(receiver_id, { kind, opened_at_ms: START_MS, mail_due_at_ms: atMs });
	await db.insertInto("notices").values(notice).execute();
}

async function detailsOf({ store }: TestSite, action: string): Promise<(string | null)[]> {
	const rows = await store.db
		.selectFrom("audit_entries")
		.select("detail")
		.where("action", "=", action)
		.orderBy("id")
		.execute();
	return rows.map(({ detail }) => detail);
}
