// Where the network asks its staff to have an authenticator: until it is on, there is nothing else to be had.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { createAuth } from "../../people/auth.ts";
import { createStillAllowed } from "../live-page.ts";
import type { WebEnv } from "../page.ts";
import { type Browser, openTestSite, PASSWORD } from "../test-site.test-support.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "./totp.test-support.ts";

const REQUIRED = { change: { staffAuthenticator: "required" } } as const;
const SET_UP = "/account/authenticator";

test("staff without one are led to set it up from every page, and reach none", async (t) => {
	const site = await openTestSite(t, REQUIRED);
	const programme = await site.addProgramme();
	const own = `/programmes/${programme.public_id}`;
	const browser = await site.signIn(await site.addStaff());
	assert.equal((await browser.open("/")).location, "/programmes");
	// What is in the tables of routes is walked by access.test.ts.
	for (const path of ["/programmes", own, "/account/authenticator/", "/account/nothing"]) {
		const answer = await browser.open(path);
		assert.deepEqual([answer.status, answer.location], [303, SET_UP], path);
	}
	const live = await browser.open(`${own}/integration/live`, { accept: "text/event-stream" });
	assert.equal(live.text, "event: ended\ndata:\n\n");
	const page = await browser.open(SET_UP);
	assert.equal(page.status, 200);
	assert.match(page.text, /Staff of this network must sign in with a code/);
	assert.match(page.text, /Sign out/);
	assert.doesNotMatch(
		page.text,
		/href="\/(?:conversions|people|programmes|account)["?]/,
		"no links that lead back here",
	);
});

test("with the password and a code it is on, everything opens, and the next sign-in needs a code", async (t) => {
	const site = await openTestSite(t, REQUIRED);
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	await browser.open(SET_UP);
	const wrong = await browser.submit(SET_UP, { currentPassword: "x" });
	assert.equal(wrong.status, 422);
	assert.match(wrong.text, /id="authenticator-current-error">This is not your current password/);
	assert.match(wrong.text, /Staff of this network must sign in with a code/);
	await turnAuthenticatorOn(browser);
	const start = await browser.open("/programmes");
	assert.equal(start.status, 200);
	assert.match(start.text, /The authenticator is on/);
	const again = site.browser();
	await again.open("/sign-in");
	const step = await again.submit("/sign-in", { email: staff.email, password: PASSWORD });
	assert.equal(step.location, "/sign-in/code");
	assert.equal((await browser.open(SET_UP)).location, "/account#authenticator");
});

test("for a new phone it is removed, and nothing opens before the new one is on", async (t) => {
	const site = await openTestSite(t, REQUIRED);
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	await browser.open(SET_UP);
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

test("a stream that is open sends nothing more once the authenticator is gone", async (t) => {
	const site = await openTestSite(t, REQUIRED);
	const programme = await site.addProgramme();
	const browser = await site.signIn(await site.addStaff());
	await browser.open(SET_UP);
	const { secret } = await turnAuthenticatorOn(browser);
	const auth = createAuth(site.deps);
	const mayWatch = async () => {
		const cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
		const streams = new Hono<WebEnv>().get("/", async (c) => {
			c.set("visitor", { cookies, address: "198.51.100.7", userAgent: "", device: "" });
			c.set("programme", programme);
			c.set("standing", "staff");
			return c.text(String(await createStillAllowed(c, { ...site.deps, auth })()));
		});
		return (await streams.request("/")).text();
	};
	assert.equal(await mayWatch(), "true");
	await browser.open("/account");
	const proof = { currentPassword: PASSWORD, code: codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS) };
	assert.equal((await browser.submit("/account/authenticator/off", proof)).status, 303);
	assert.equal(await mayWatch(), "false");
});

test("owners are not asked for it, and without the setting staff are not either", async (t) => {
	const site = await openTestSite(t, REQUIRED);
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	assert.equal((await owner.open(`/programmes/${programme.public_id}/overview`)).status, 200);
	const elsewhere = await openTestSite(t);
	const staff = await elsewhere.signIn(await elsewhere.addStaff());
	assert.equal((await staff.open("/people")).status, 200);
	assert.equal((await staff.open(SET_UP)).location, "/account#authenticator");
});

test("the list of staff shows who has one, and only that", async (t) => {
	const site = await openTestSite(t);
	const [first, second] = [await site.addStaff(), await site.addStaff()];
	const browser = await site.signIn(first);
	assert.deepEqual(await authenticatorsOf(browser), ["Off", "Off"]);
	await browser.open("/account");
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
