// What people change about themselves: name, how times are written, which mails they get, and their address.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newNotice } from "../../../test/support/notices.ts";
import { HOUR_MS } from "../../domain/time.ts";
import {
	type Browser,
	LINK,
	newEmail,
	openTestSite,
	PASSWORD,
	START_MS,
	type TestSite,
} from "../test-site.test-support.ts";

const SETTINGS = { name: "Olga", zone: "Europe/Berlin", locale: "de-DE" };

test("name, time zone and language of dates are saved, and every page says how its times are to be written", async (t) => {
	const site = await openTestSite(t);
	const owner = await site.addOwner(await site.addProgramme());
	const browser = await site.signIn(owner);
	assert.doesNotMatch(
		(await browser.open("/account")).text,
		/<html[^>]* data-(zone|locale)/,
		"the browser's own",
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
	assert.match(text, /<option value="Europe\/Berlin" selected>/);
	const again = await browser.submit("/account/settings", { ...SETTINGS, callbacks_failing: "on" });
	assert.equal(again.status, 303);
	assert.deepEqual(await detailsOf(site, "account.changed"), [
		"name, zone, locale, mails callbacks failing, mails callbacks working again",
		"mails callbacks failing",
	]);
});

test("what is no zone, language or name is said at its field, with what was typed, and changes nothing", async (t) => {
	const site = await openTestSite(t);
	const browser = await site.signIn(await site.addStaff());
	await browser.open("/account");
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
	assert.doesNotMatch((await browser.open("/account")).text, /Mail me when/, "staff get no such mails");
});

test("who wants no mail about failing callbacks gets none; where nobody does, the page says so", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme();
	const [owner, developer] = [await site.addOwner(programme), await site.addPerson(programme, "developer")];
	await site.addPerson(programme, "viewer");
	const tell = async (kind: "callbacks_failing" | "callbacks_working_again") => {
		site.moveClock(HOUR_MS);
		await addNotice(site, programme.id, kind);
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
	assert.deepEqual(waiting, [], "nothing is tried again and again");
	const { text } = await browser.open(`/programmes/${programme.public_id}/overview`);
	assert.match(text, /everybody here has switched these mails off/);
	// What may be the only sign of a thief is not to be switched off.
	await browser.submit(`/programmes/${programme.public_id}/integration/keys`, {});
	await site.tellChanges();
	assert.deepEqual(
		site.mailbox.map(({ to, subject }) => [to, subject]),
		[[owner.email, 'API key issued: "Shop"']],
	);
});

test("mails to people in different zones are written in the zone of each", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme();
	const [owner, developer] = [await site.addOwner(programme), await site.addPerson(programme, "developer")];
	const browser = await site.signIn(owner);
	await choose(browser, ["callbacks_failing"], "Asia/Tokyo");
	await addNotice(site, programme.id, "callbacks_failing");
	await site.tellChanges();
	const textTo = (email: string) => site.mailbox.find(({ to }) => to === email)?.text ?? "";
	assert.match(textTo(owner.email), /since 2026-03-01 21:00 \(Asia\/Tokyo\)/);
	assert.match(textTo(developer.email), /since 2026-03-01 12:00 UTC/);
	assert.match(
		(await browser.open(`/programmes/${programme.public_id}/overview`)).text,
		new RegExp(developer.email),
	);
	await browser.submit(`/programmes/${programme.public_id}/integration/keys`, {});
	await site.tellChanges();
	assert.match(site.mailbox.at(-1)?.text ?? "", /^2026-03-01 21:00 \(Asia\/Tokyo\): A new API key/m);
});

test("an address changes when the link in a mail to it is opened, and the old one is told twice", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const owner = await site.addOwner(await site.addProgramme());
	const browser = await site.signIn(owner);
	const email = newEmail("shop");
	await browser.open("/account");
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
	await browser.open(link);
	const confirmed = await browser.submit(link, {});
	assert.deepEqual([confirmed.status, confirmed.location], [303, "/account"]);
	assert.match((await browser.open("/account")).text, new RegExp(`Your email address is now ${email}`));
	const [left] = site.mailbox.splice(0);
	assert.deepEqual([left?.to, left?.subject], [owner.email, "Your email address was changed"]);
	assert.equal((await site.browser().open(link)).status, 410, "once");
	await site.signIn({ email });
	const old = site.browser();
	await old.open("/sign-in");
	assert.equal((await old.submit("/sign-in", { email: owner.email, password: PASSWORD })).status, 401);
	assert.deepEqual(await detailsOf(site, "address.changed"), [`${owner.email} → ${email}`]);
});

test("an address that somebody has is asked for like any other, gets no mail, and cannot be taken", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme();
	const [owner, other] = [await site.addOwner(programme), await site.addOwner(programme)];
	const browser = await site.signIn(owner);
	await browser.open("/account");
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
	// Somebody else joins with it before the link is opened.
	await site.addOwner(programme, free);
	assert.equal((await browser.open(link)).status, 410);
	assert.equal((await browser.submit(link, {})).status, 410);
	await site.signIn(owner);
	await site.signIn(other);
});

test("a link for a new address ends after an hour, with the next one, and with a new password", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const owner = await site.addOwner(await site.addProgramme());
	const browser = await site.signIn(owner);
	await browser.open("/account");
	const ask = async () => {
		await browser.submit("/account/email", { email: newEmail("shop"), currentPassword: PASSWORD });
		return LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? assert.fail("no link was mailed");
	};
	const [first, second] = [await ask(), await ask()];
	const statusOf = async (link: string) => (await site.browser().open(link)).status;
	assert.deepEqual([await statusOf(first), await statusOf(second)], [410, 200]);
	site.moveClock(HOUR_MS);
	assert.equal(await statusOf(second), 410);
	const third = await ask();
	await browser.submit("/account/password", {
		currentPassword: PASSWORD,
		newPassword: "another horse battery",
	});
	assert.equal(await statusOf(third), 410);
	assert.match((await browser.open("/account")).text, /1 link was ended/);
});

test("without mail no address can be asked for, and the page says why", async (t) => {
	const site = await openTestSite(t);
	const browser = await site.signIn(await site.addStaff());
	const { text } = await browser.open("/account");
	assert.doesNotMatch(text, /action="\/account\/email"/);
	assert.match(text, /No mail can be sent from here, so a new address cannot be confirmed/);
	const sent = await browser.submit("/account/email", {
		email: newEmail("network"),
		currentPassword: PASSWORD,
	});
	assert.equal(sent.status, 403);
});

async function choose(browser: Browser, mails: readonly string[], zone = SETTINGS.zone): Promise<void> {
	await browser.open("/account");
	const form = new URLSearchParams({ ...SETTINGS, zone });
	for (const kind of mails) form.append(kind, "on");
	assert.equal((await browser.submitForm("/account/settings", form)).status, 303);
}

async function addNotice(
	site: TestSite,
	receiver_id: number,
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
