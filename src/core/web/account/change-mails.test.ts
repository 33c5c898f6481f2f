// Tests the mails about changes that people make on the pages of their account and their programme.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Mail } from "../../ports.ts";
import { noteAudits } from "../../store/queries/audit.ts";
import type { Person } from "../../store/queries/people.ts";
import {
	type Browser,
	NEW_PASSWORD,
	openTestSite,
	PASSWORD,
	type TestSite,
} from "../test-site.test-support.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "./totp.test-support.ts";

const ADDRESS = "203.0.113.9";

test("a person gets a mail when the password changes, a backup code is used, or the authenticator is turned on or off", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	await site.setZone("Europe/Berlin");
	const staff = await site.addStaff();
	await site.addStaff();
	const browser = await signInFrom(site, staff);
	await browser.submit("/account/password", { currentPassword: PASSWORD, newPassword: NEW_PASSWORD });
	await expectMail(site, staff, "Your account: password changed");

	const { secret, backupCodes } = await turnAuthenticatorOn(browser, NEW_PASSWORD);
	const [backupCode = ""] = backupCodes;
	await expectMail(site, staff, "Your account: authenticator turned on");

	const other = site.browser({ address: ADDRESS });
	await other.submit("/sign-in", { email: staff.email, password: NEW_PASSWORD });
	assert.equal((await other.submit("/sign-in/code", { code: backupCode })).status, 303);
	await expectMail(site, staff, "Your account: backup code used");

	const code = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
	await other.submit("/account/authenticator/off", { currentPassword: NEW_PASSWORD, code });
	await expectMail(site, staff, "Your account: authenticator turned off");
});

test("a password that was reset by a link is reported by mail when the link is used, not when it is requested", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	await site.setZone("Europe/Berlin");
	const staff = await site.addStaff();
	const browser = site.browser({ address: ADDRESS });
	await browser.submit("/forgot-password", { email: staff.email });
	const [path = ""] = /\/(?:reset-password\?token=|welcome\/)\S+/.exec(site.mailbox[0]?.text ?? "") ?? [];
	site.mailbox.length = 0;
	await site.tellChanges();
	assert.deepEqual(site.mailbox, []);
	await browser.submit(path.replace(/\?.*/, ""), {
		password: NEW_PASSWORD,
		newPassword: NEW_PASSWORD,
		token: path.replace(/.*[=/]/, ""),
	});
	await expectMail(site, staff, "Your account: new password chosen");
});

test("all staff get a mail when somebody joins the staff, which says who invited them", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [inviter, colleague] = [await site.addStaff(), await site.addStaff()];
	await site.addOwner(await site.addProgramme());
	const browser = await site.signIn(inviter);
	await browser.submit("/people/invite", { email: "new@network.example" });
	const link = /https:\/\/ringback\.example(\/welcome\/\S+)/.exec(site.mailbox[0]?.text ?? "")?.[1] ?? "";
	site.mailbox.length = 0;
	await site.tellChanges();
	assert.equal(site.mailbox.length, 0, "an invitation that nobody has accepted gives no access");
	assert.equal((await site.browser().submit(link, { name: "Nora New", password: PASSWORD })).status, 303);
	await site.tellChanges();
	assert.deepEqual(
		site.mailbox.map(({ to }) => to).sort(),
		[inviter.email, colleague.email].sort(),
		"the person who joined is not told that they did",
	);
	const [mail] = site.mailbox;
	assert.equal(mail?.subject, "Member of staff joined");
	assert.match(
		mail?.text ?? "",
		new RegExp(
			`new@network\\.example joined the network's staff, invited by ${inviter.email}\\. Done by "Nora New"`,
		),
	);
	assert.match(
		mail?.text ?? "",
		/deactivate everyone who should not be there:\n {3}https:\/\/ringback\.example\/people\n/,
	);
	assert.doesNotMatch(mail?.text ?? "", /API token/);
});

test("owners get a mail when people are invited, join or are removed, and the invited person gets their own", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme("Garden & Tools");
	const owner = await site.addOwner(programme, "olga@shop.example", "Olga Owner");
	const browser = await site.signIn(owner);
	const path = `/programmes/${programme.public_id}/people`;
	await browser.submit(`${path}/invite`, { email: "new@shop.example", role: "owner" });
	const link = /https:\/\/ringback\.example(\/welcome\/\S+)/.exec(site.mailbox[0]?.text ?? "")?.[1] ?? "";
	assert.match(site.mailbox[0]?.subject ?? "", /You're invited to manage "Garden & Tools"/);
	site.mailbox.length = 0;
	await site.tellChanges();
	assert.deepEqual(
		site.mailbox,
		[],
		"neither the sender nor the recipient of an invitation gets a mail about it",
	);

	const guest = site.browser();
	await guest.submit(link, { name: "New Person", password: PASSWORD });
	const joinedMails = await mailLater(site);
	assert.deepEqual(recipients(joinedMails), ["olga@shop.example"], "the person who joined gets no mail");
	assert.match(joinedMails[0]?.text ?? "", /new@shop\.example joined the programme/);
	// The mail to Olga leaves out the entry about her own invitation, even if it reports other changes.
	const changes = [
		{ personId: null, programmeId: programme.id, action: "person.invited", subject: "olga@shop.example" },
		{ personId: owner.id, programmeId: programme.id, action: "key.issued", detail: "rbk_…1a2b Server" },
	] as const;
	await noteAudits(site.store.db, changes, site.deps.clock.nowMs());
	const [one, two] = (await mailLater(site)).toSorted((a, b) => (a.to < b.to ? -1 : 1));
	assert.match(one?.text ?? "", /olga@shop\.example was invited.*rbk_…1a2b/s);
	assert.match(
		two?.text ?? "",
		/rbk_…1a2b.* Done by "Olga Owner"/,
		"the owner is informed even of her own key, because a thief may have issued it",
	);
	assert.doesNotMatch(two?.text ?? "", /was invited/);

	const joined = await site.store.db
		.selectFrom("people")
		.selectAll()
		.where("email", "=", "new@shop.example")
		.executeTakeFirstOrThrow();
	await browser.submit(`${path}/${joined.public_id}/remove`, {});
	const removed = await mailLater(site);
	assert.deepEqual(recipients(removed), ["new@shop.example", "olga@shop.example"]);
	const textTo = (address: string) => removed.find(({ to }) => to === address)?.text ?? "";
	assert.match(textTo("olga@shop.example"), /The access of new@shop\.example was ended/);
	assert.match(textTo("new@shop.example"), /Your access to the programme "Garden & Tools" was ended/);
	assert.doesNotMatch(textTo("new@shop.example"), /\/programmes\//);

	const ofPartner = {
		personId: null,
		action: "person.removed",
		subject: "olga@shop.example",
		detail: "Blog",
	} as const;
	await noteAudits(site.store.db, [ofPartner], site.deps.clock.nowMs());
	assert.match((await mailLater(site))[0]?.text ?? "", /Your access for the partner "Blog" was ended/);
});

async function signInFrom(site: TestSite, { email }: Person): Promise<Browser> {
	const browser = site.browser({ address: ADDRESS });
	assert.equal((await browser.submit("/sign-in", { email, password: PASSWORD })).status, 303);
	return browser;
}

/**
 * Checks that exactly one mail was sent, that this person received it, and that it contains the IP address of
 * the change.
 */
async function expectMail(site: TestSite, { email }: Person, subject: string): Promise<void> {
	const [mail, ...others] = await mailLater(site);
	assert.deepEqual([mail?.to, mail?.subject, others], [email, subject, []]);
	// The person has chosen no time zone, so the mail uses the network's.
	assert.match(mail?.text ?? "", /2026-03-\d\d \d\d:\d\d \(Europe\/Berlin\): /);
	assert.match(mail?.text ?? "", /From the IP address 203\.0\.113\.9\./);
	assert.match(mail?.text ?? "", /https:\/\/ringback\.example\/forgot-password$/m);
	assert.match(mail?.text ?? "", /sent by the affiliate network at https:\/\/ringback\.example$/m);
}

/** Moves the clock to the next mails about changes, and returns those mails. */
async function mailLater(site: TestSite): Promise<Mail[]> {
	site.mailbox.length = 0;
	site.moveClock(15 * MINUTE_MS);
	await site.tellChanges();
	return site.mailbox;
}

function recipients(mails: readonly Mail[]): string[] {
	return mails.map(({ to }) => to).toSorted();
}
