// What people hear by mail of their account and their programme, done by the pages themselves.

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

test("a changed password, the authenticator on, a backup code and the authenticator off are each told to the person", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const staff = await site.addStaff();
	await site.addStaff();
	const browser = await signInFrom(site, staff);
	await browser.submit("/account/password", { currentPassword: PASSWORD, newPassword: NEW_PASSWORD });
	await isTold(site, staff, "Your account: password changed");

	const { secret, backupCodes } = await turnAuthenticatorOn(browser, NEW_PASSWORD);
	const [backupCode = ""] = backupCodes;
	await isTold(site, staff, "Your account: authenticator turned on");

	const other = site.browser({ address: ADDRESS });
	await other.submit("/sign-in", { email: staff.email, password: NEW_PASSWORD });
	assert.equal((await other.submit("/sign-in/code", { code: backupCode })).status, 303);
	await isTold(site, staff, "Your account: backup code used");

	const code = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
	await other.submit("/account/authenticator/off", { currentPassword: NEW_PASSWORD, code });
	await isTold(site, staff, "Your account: authenticator turned off");
});

test("a new password by the mailed link is told to the person, when it is used and not before", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
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
	await isTold(site, staff, "Your account: new password chosen");
});

test("owners hear of people who are invited, join and are removed; the invited have a mail of their own", async (t) => {
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
	assert.deepEqual(site.mailbox, [], "nobody is mailed about the invitation that they sent, or got");

	const guest = site.browser();
	await guest.submit(link, { name: "New Person", password: PASSWORD });
	const told = await tellLater(site);
	assert.deepEqual(recipients(told), ["olga@shop.example"], "who joined knows it");
	assert.match(told[0]?.text ?? "", /new@shop\.example joined the programme/);
	// In one mail with other changes, her own invitation is left out as well.
	const changes = [
		{ personId: null, programmeId: programme.id, action: "person.invited", subject: "olga@shop.example" },
		{ personId: owner.id, programmeId: programme.id, action: "key.issued", detail: "rbk_…1a2b Server" },
	] as const;
	await noteAudits(site.store.db, changes, site.deps.clock.nowMs());
	const [one, two] = (await tellLater(site)).toSorted((a, b) => (a.to < b.to ? -1 : 1));
	assert.match(one?.text ?? "", /olga@shop\.example was invited.*rbk_…1a2b/s);
	assert.match(two?.text ?? "", /rbk_…1a2b.* Done by "Olga Owner"/, "a key may be a thief's");
	assert.doesNotMatch(two?.text ?? "", /was invited/);

	const joined = await site.store.db
		.selectFrom("people")
		.selectAll()
		.where("email", "=", "new@shop.example")
		.executeTakeFirstOrThrow();
	await browser.submit(`${path}/${joined.public_id}/remove`, {});
	const removed = await tellLater(site);
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
	assert.match((await tellLater(site))[0]?.text ?? "", /Your access for the partner "Blog" was ended/);
});

async function signInFrom(site: TestSite, { email }: Person): Promise<Browser> {
	const browser = site.browser({ address: ADDRESS });
	assert.equal((await browser.submit("/sign-in", { email, password: PASSWORD })).status, 303);
	return browser;
}

/** By one mail, to them alone, that says from where it was done. */
async function isTold(site: TestSite, { email }: Person, subject: string): Promise<void> {
	const [mail, ...others] = await tellLater(site);
	assert.deepEqual([mail?.to, mail?.subject, others], [email, subject, []]);
	assert.match(mail?.text ?? "", /2026-03-\d\d \d\d:\d\d UTC: /);
	assert.match(mail?.text ?? "", /From the IP address 203\.0\.113\.9\./);
	assert.match(mail?.text ?? "", /https:\/\/ringback\.example\/forgot-password$/m);
	assert.match(mail?.text ?? "", /sent by the affiliate network at https:\/\/ringback\.example$/m);
}

/** When more may be told again. */
async function tellLater(site: TestSite): Promise<Mail[]> {
	site.mailbox.length = 0;
	site.moveClock(15 * MINUTE_MS);
	await site.tellChanges();
	return site.mailbox;
}

function recipients(mails: readonly Mail[]): string[] {
	return mails.map(({ to }) => to).toSorted();
}
