import assert from "node:assert/strict";
import { test } from "node:test";
import { expectCheap } from "../../../../test/support/hostile-texts.ts";
import {
	NEW_PASSWORD,
	openAsStaff,
	openTestSite,
	PASSWORD,
	SESSION_COOKIE,
	type TestSite,
} from "../test-site.test-support.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0";

test("a wrong current password or a short new one changes nothing, and the error is at its field", async (t) => {
	const { site, person: staff, browser } = await openAsStaff(t);
	const wrong = await browser.submit("/account/password", {
		currentPassword: "x",
		newPassword: NEW_PASSWORD,
	});
	assert.equal(wrong.status, 422);
	assert.match(wrong.text, /id="password-current-error">This is not your current password/);
	const short = await browser.submit("/account/password", {
		currentPassword: PASSWORD,
		newPassword: "short",
	});
	assert.equal(short.status, 422);
	assert.match(short.text, /id="newPassword-error">A password has at least 10 characters/);
	await site.signIn(staff);
	assert.doesNotMatch(await auditText(site), /password\.changed/);
});

test("a current password of half a megabyte is wrong, and costs no more than another", async (t) => {
	const { browser } = await openAsStaff(t);
	// The two kinds of mail are stored in another order than the form sends them.
	const form = new FormData();
	form.set("currentPassword", "\u0301\u0327".repeat(125_000));
	form.set("newPassword", NEW_PASSWORD);
	await expectCheap("the form", 300, async () => {
		const { status, text } = await browser.submitForm("/account/password", form);
		assert.equal(status, 422);
		assert.match(text, /This is not your current password/);
	});
});

test("sessions are listed with browser and address, and without their tokens", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const browser = site.browser({ address: "192.0.2.77", headers: { "user-agent": FIREFOX } });
	await browser.submit("/sign-in", { email: staff.email, password: PASSWORD });
	const page = await browser.open("/account");
	assert.match(page.text, /Firefox on Linux/);
	assert.match(page.text, /192\.0\.2\.77/);
	assert.match(page.text, /This one/);
	const [token = ""] = (browser.cookies.get(SESSION_COOKIE) ?? "").split(".");
	assert.ok(token.length > 20);
	assert.equal(page.text.includes(token), false);
});

test("a revoked session ends at once, and nobody can revoke another person's session", async (t) => {
	const site = await openTestSite(t);
	const [staff, other] = [await site.addStaff(), await site.addStaff()];
	const [here, lost, stranger] = [
		await site.signIn(staff),
		await site.signIn(staff),
		await site.signIn(other),
	];
	const page = await here.open("/account");
	const [, sessionId = ""] = /name="sessionId" value="([^"]+)"/.exec(page.text) ?? [];
	assert.notEqual(sessionId, "");
	await stranger.submit("/account/sessions/end", { sessionId });
	assert.match((await stranger.open("/account")).text, /This session has ended already/);
	assert.equal((await lost.open("/account")).status, 200);
	const ended = await here.submit("/account/sessions/end", { sessionId });
	assert.deepEqual([ended.status, ended.location], [303, "/account#sessions"]);
	assert.equal((await lost.open("/account")).status, 303);
	assert.equal((await here.open("/account")).status, 200);
	assert.match(await auditText(site), /"sessions\.revoked"/);
});

test("ending all other sessions leaves this one and the sessions of other people", async (t) => {
	const site = await openTestSite(t);
	const [staff, other] = [await site.addStaff(), await site.addStaff()];
	const [here, one, two, stranger] = [
		await site.signIn(staff),
		await site.signIn(staff),
		await site.signIn(staff),
		await site.signIn(other),
	];
	await here.submit("/account/sessions/end-others", {});
	const statuses: number[] = [];
	for (const browser of [here, one, two, stranger]) statuses.push((await browser.open("/account")).status);
	assert.deepEqual(statuses, [200, 303, 303, 200]);
	assert.doesNotMatch(
		(await here.open("/account")).text,
		/Sign out everywhere else/,
		"no other session is left",
	);
});

async function auditText({ store }: TestSite): Promise<string> {
	return JSON.stringify(await store.db.selectFrom("audit_entries").selectAll().execute());
}
