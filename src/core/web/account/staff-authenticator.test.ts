// Tests installations that require an authenticator for staff. Until it is on, staff can open no other page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Browser, openAsStaff, openTestSite, PASSWORD } from "../test-site.test-support.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "./totp.test-support.ts";

const REQUIRED = { change: { staffAuthenticator: "required" } } as const;
const SET_UP = "/account/authenticator";

test("an authenticator that is moved to a new phone is removed, and no page opens until the new one is on", async (t) => {
	const { site, browser } = await openAsStaff(t, REQUIRED);
	const { secret } = await turnAuthenticatorOn(browser);
	const page = await browser.open("/account");
	assert.match(page.text, /You can move it to a new phone, but not turn it off/);
	assert.doesNotMatch(page.text, />Turn off</);
	const code = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
	const unproved = await browser.submit("/account/authenticator/off", {
		currentPassword: PASSWORD,
		code: "111111",
	});
	assert.equal(unproved.status, 401);
	assert.equal((await browser.open("/programmes")).status, 200);
	const moved = await browser.submit("/account/authenticator/off", { currentPassword: PASSWORD, code });
	assert.equal(moved.location, SET_UP);
	assert.equal((await browser.open("/programmes")).location, SET_UP);
	assert.match((await browser.open(SET_UP)).text, /Enter your password first/);
	const { secret: newSecret } = await turnAuthenticatorOn(browser);
	assert.notEqual(newSecret, secret);
	assert.equal((await browser.open("/programmes")).status, 200);
});

test("the list of staff shows who has an authenticator, and the list of a programme does not", async (t) => {
	const site = await openTestSite(t);
	const [first, second] = [await site.addStaff(), await site.addStaff()];
	const browser = await site.signIn(first);
	assert.deepEqual(await authenticatorsOf(browser), ["Off", "Off"]);
	await turnAuthenticatorOn(browser);
	assert.deepEqual(await authenticatorsOf(browser), ["On", "Off"]);
	const programme = await site.addProgramme();
	await site.addOwner(programme);
	const owners = await (await site.signIn(second)).open(`/programmes/${programme.public_id}/people`);
	assert.doesNotMatch(owners.text, /Authenticator/);
});

async function authenticatorsOf(browser: Browser): Promise<string[]> {
	const { text } = await browser.open("/people");
	assert.match(text, />Authenticator</);
	return [...text.matchAll(/badge[^>]*>(On|Off)</g)].map(([, state = ""]) => state);
}
