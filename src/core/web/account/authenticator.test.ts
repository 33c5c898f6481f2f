import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Person } from "../../store/queries/people.ts";
import { type Browser, openTestSite, PASSWORD, type TestSite } from "../test-site.test-support.ts";
import { beginAuthenticator, CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "./totp.test-support.ts";

test("setting up needs the password, and only its answer shows the key and the backup codes", async (t) => {
	const { site, browser, secret, backupCodes } = await begin(t);
	const wrong = await browser.submit("/account/authenticator", { currentPassword: "x" });
	assert.equal(wrong.status, 422);
	assert.match(wrong.text, /id="authenticator-current-error">This is not your current password/);
	assert.equal(backupCodes.length, 10);
	const later = `${(await browser.open("/account")).text}${site.log.text()}${await site.storedText()}`;
	for (const text of [secret, ...backupCodes]) assert.equal(later.includes(text), false);
});

test("a backup code works for one sign-in only", async (t) => {
	const { site, staff, backupCodes } = await turnOn(t);
	const code = backupCodes[3] ?? "";
	const [first, second] = [await openSecondStep(site, staff), await openSecondStep(site, staff)];
	assert.equal((await first.submit("/sign-in/code", { code })).status, 303);
	assert.equal((await first.open("/account")).status, 200);
	const again = await second.submit("/sign-in/code", { code });
	assert.equal(again.status, 401);
	assert.match(again.text, /not one of your backup codes, or it was used before/);
	assert.equal((await second.open("/account")).status, 303);
	assert.match(await auditText(site), /"authenticator\.backup_code_used"/);
	assert.equal((await auditText(site)).includes(code), false);
});

test("a code is refused without the password step", async (t) => {
	const { site, nextCode: code } = await turnOn(t);
	const browser = site.browser();
	const answer = await browser.submit("/sign-in/code", { code });
	assert.deepEqual([answer.status, answer.location], [303, "/sign-in"]);
	assert.match((await browser.open("/sign-in")).text, /Start over/);
	assert.equal((await browser.open("/account")).status, 303);
});

test("after a wrong code the page still shows the QR code, the key and the backup codes", async (t) => {
	const { site, browser, secret, backupCodes, hidden } = await begin(t);
	const wrong = await browser.submit("/account/authenticator/confirm", { ...hidden, code: "000000" });
	assert.equal(wrong.status, 401);
	assert.match(wrong.text, /id="code-error">This code is not right/);
	assert.match(wrong.text, /<img src="data:image\/svg/);
	for (const text of [secret, ...backupCodes]) assert.ok(wrong.text.includes(text));
	const code = codeAt(secret, site.deps.clock.nowMs());
	assert.equal((await browser.submit("/account/authenticator/confirm", { ...hidden, code })).status, 303);
	assert.equal(`${site.log.text()}${await site.storedText()}`.includes(secret), false);
});

test("an active authenticator cannot be set up again, and is turned off with the password and a code", async (t) => {
	const { site, staff, browser, nextCode: code, usedCode } = await turnOn(t);
	const page = await browser.open("/account");
	assert.match(page.text, /id="authenticator-code"/);
	const again = await browser.submit("/account/authenticator", { currentPassword: PASSWORD });
	assert.equal(again.status, 409);
	assert.match(again.text, /on already\. Turn it off first/);
	const refusals = [
		[
			{ currentPassword: "x", code },
			422,
			/id="authenticator-current-error">This is not your current password/,
		],
		[
			{ currentPassword: PASSWORD },
			401,
			/id="authenticator-code-error">This is not one of your backup codes/,
		],
		[
			{ currentPassword: PASSWORD, code: "000000" },
			401,
			/id="authenticator-code-error">This code is not right/,
		],
		[
			{ currentPassword: PASSWORD, code: usedCode },
			401,
			/id="authenticator-code-error">This code was used before\. Wait for the next one/,
		],
	] as const;
	for (const [fields, status, words] of refusals) {
		const refused = await browser.submit("/account/authenticator/off", fields);
		assert.equal(refused.status, status);
		assert.match(refused.text, words);
	}
	const asked = site.browser();
	assert.equal((await enterPassword(asked, staff)).location, "/sign-in/code");
	assert.match(
		(await asked.open("/sign-in/code")).text,
		/lose your phone and your backup codes\? [^<]*Ask an owner/,
	);
	const off = await browser.submit("/account/authenticator/off", { currentPassword: PASSWORD, code });
	assert.equal(off.location, "/account#authenticator");
	await site.signIn(staff);
	assert.match(await auditText(site), /"authenticator\.turned_off"/);
	const twice = await browser.submit("/account/authenticator/off", { currentPassword: PASSWORD, code });
	assert.equal(twice.status, 409);
});

test("a code that was used to sign in does not turn the authenticator off, but a backup code does", async (t) => {
	const { site, staff, nextCode: code, backupCodes } = await turnOn(t);
	const browser = site.browser();
	await enterPassword(browser, staff);
	assert.equal((await browser.submit("/sign-in/code", { code })).status, 303);
	const seen = await browser.submit("/account/authenticator/off", { currentPassword: PASSWORD, code });
	assert.equal(seen.status, 401);
	const [backup = ""] = backupCodes;
	const wrong = await browser.submit("/account/authenticator/off", { currentPassword: "x", code: backup });
	assert.equal(wrong.status, 422);
	// The code works although it is typed in lower case with a space. The request with the wrong password did
	// not use it up.
	const typed = backup.replace("-", " ").toLowerCase();
	const off = await browser.submit("/account/authenticator/off", { currentPassword: PASSWORD, code: typed });
	assert.equal(off.status, 303, off.text);
});

async function begin(t: TestContext) {
	const { site, staff, browser } = await openForStaff(t);
	const setup = await beginAuthenticator(browser);
	assert.match(setup.text, /<img src="data:image\/svg\+xml;base64,[A-Za-z0-9+/=]+" alt="QR code/);
	const hidden = /name="uri" value="([^"]+)"><input type="hidden" name="backupCodes" value="([^"]+)"/;
	const [, uri = "", backupCodes = ""] = hidden.exec(setup.text) ?? [];
	return { site, staff, browser, ...setup, hidden: { uri: uri.replaceAll("&amp;", "&"), backupCodes } };
}

async function turnOn(t: TestContext) {
	const { site, staff, browser } = await openForStaff(t);
	const on = await turnAuthenticatorOn(browser);
	// `nextCode` is the code of the next half minute. It is already accepted now, and has not been used.
	return { site, staff, browser, ...on, nextCode: codeAt(on.secret, site.deps.clock.nowMs() + CODE_STEP_MS) };
}

async function openForStaff(t: TestContext) {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	return { site, staff, browser: await site.signIn(staff) };
}

/** Opens a browser in which the right password was entered, so that its page asks for a code. */
async function openSecondStep(site: TestSite, person: Person): Promise<Browser> {
	const browser = site.browser();
	await enterPassword(browser, person);
	return browser;
}

async function enterPassword(browser: Browser, { email }: Person, next = "") {
	return browser.submit("/sign-in", { email, password: PASSWORD, next });
}

async function auditText({ store }: TestSite): Promise<string> {
	return JSON.stringify(await store.db.selectFrom("audit_entries").selectAll().execute());
}
