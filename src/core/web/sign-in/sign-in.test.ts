import assert from "node:assert/strict";
import { test } from "node:test";
import { countHashes } from "../../../../test/support/quick-passwords.ts";
import { countPassword } from "../../people/passwords.ts";
import { findPersonByEmail } from "../../store/queries/people.ts";
import {
	type Browser,
	openAsStaff,
	openTestSite,
	PASSWORD,
	SESSION_COOKIE,
	type Shown,
	type TestSite,
} from "../test-site.test-support.ts";

const DEVICE_COOKIE = "__Host-ringback.device";
const WRONG = "wrong horse battery";

test("a visitor who is not signed in is led to the sign-in page, and then to the page they asked for", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const browser = site.browser();
	const turned = await browser.open("/account?a=1&b=2");
	assert.deepEqual([turned.status, turned.location], [303, "/sign-in?next=%2Faccount%3Fa%3D1%26b%3D2"]);
	assert.match(
		(await browser.open(turned.location ?? "")).text,
		/name="next" value="\/account\?a=1&amp;b=2"/,
	);
	const fields = { email: staff.email, password: PASSWORD, next: "/account?a=1&b=2" };
	assert.equal((await browser.submit("/sign-in", fields)).location, "/account?a=1&b=2");
	assert.equal((await browser.open("/")).location, "/programmes");
});

test("a form that is sent after the sign-out says that nothing was saved, and leads back to its page", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const programme = await site.addProgramme("Velo");
	const browser = await site.signIn(staff);
	const page = `/programmes/${programme.public_id}/people`;
	await browser.open(page);
	await browser.submit("/sign-out", {});
	const form = { email: "ann@shop.example", role: "owner" };
	const turned = await browser.submit(`${page}/invite`, form);
	assert.deepEqual(
		[turned.status, turned.location],
		[303, `/sign-in?next=${encodeURIComponent(`${page}/invite`)}`],
	);
	const { text } = await browser.open(turned.location ?? "");
	assert.match(text, /You were signed out, so nothing was saved\. Sign in, and send the form again\./);
	const fields = { email: staff.email, password: PASSWORD, next: `${page}/invite` };
	const signedIn = await browser.submit("/sign-in", fields);
	assert.equal(
		(await browser.open(signedIn.location ?? "")).location,
		page,
		"a form's address leads to its page",
	);
	assert.equal(await findPersonByEmail(site.store.db, form.email), undefined);
});

test("signing in never redirects to another site, however the address is written", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	for (const next of [
		"https://evil.example/",
		"//evil.example/",
		"/\\evil.example/",
		"\\\\evil.example",
		"/\t/evil.example",
		"/\n/evil.example",
		"javascript:alert(1)",
		"account",
	]) {
		const browser = site.browser();
		const page = await browser.open(`/sign-in?next=${encodeURIComponent(next)}`);
		assert.match(page.text, /name="next" value=""/, next);
		const fields = { email: staff.email, password: PASSWORD, next };
		assert.equal((await browser.submit("/sign-in", fields)).location, "/", next);
		assert.equal((await browser.open(`/sign-in?next=${encodeURIComponent(next)}`)).location, "/", next);
	}
});

test("a wrong password, an unknown email and an invited person without a password get the same answer", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	await site.store.db
		.insertInto("people")
		.values({ public_id: "usr_invited", email: "invited@shop.example", kind: "shop", created_at_ms: 0 })
		.execute();
	const answers: Shown[] = [];
	for (const email of [staff.email, "nobody@shop.example", "invited@shop.example"]) {
		const browser = site.browser();
		const answer = await browser.submit("/sign-in", { email, password: WRONG });
		answers.push({
			...answer,
			text: answer.text.replaceAll(email, ""),
		});
		assert.equal(browser.cookies.has(SESSION_COOKIE), false);
		assert.equal((await browser.open("/account")).status, 303);
	}
	assert.deepEqual(
		answers.map(({ status, text }) => ({ status, text })),
		answers.map(() => ({ status: 401, text: answers[0]?.text })),
	);
	assert.match(answers[0]?.text ?? "", /Email and password do not match/);
});

test("an unknown email address takes as long as a wrong password, which is the time of one hash", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	for (const email of [staff.email, "a@b.example"]) {
		const browser = site.browser();
		const before = countHashes();
		await browser.submit("/sign-in", { email, password: WRONG });
		assert.equal(countHashes() - before, 1, email);
	}
});

test("the right password resets the count of wrong ones from the same address, and is not counted itself", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const address = "198.51.100.7";
	for (let round = 0; round < 4; round += 1) {
		await countWrongPasswords(site, staff.email, 14, () => address);
		assert.equal((await guessAt(site.browser({ address }), staff.email, PASSWORD)).status, 303);
	}
	const elsewhere = site.browser({ address: "198.51.100.8" });
	assert.equal(
		(await guessAt(elsewhere, staff.email)).status,
		401,
		"only the 56 wrong passwords count towards the limit for all addresses",
	);
});

test("signing in creates a new session and never uses one that the browser already has", async (t) => {
	const { site, person: staff, browser: attacker } = await openAsStaff(t);
	const planted = attacker.cookies.get(SESSION_COOKIE) ?? "";
	await attacker.submit("/sign-out", {});
	const victim = site.browser();
	victim.cookies.set(SESSION_COOKIE, planted);
	await victim.submit("/sign-in", { email: staff.email, password: PASSWORD });
	assert.notEqual(victim.cookies.get(SESSION_COOKIE), planted);
	const intruder = site.browser();
	intruder.cookies.set(SESSION_COOKIE, planted);
	assert.equal((await intruder.open("/account")).status, 303);
	assert.equal((await victim.open("/account")).status, 200);
});

test("an expired session or a changed cookie gives no access", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const cookie = browser.cookies.get(SESSION_COOKIE) ?? "";
	browser.cookies.set(
		SESSION_COOKIE,
		cookie.replace(/^./, (first) => (first === "a" ? "b" : "a")),
	);
	assert.equal((await browser.open("/account")).status, 303);
	browser.cookies.set(SESSION_COOKIE, cookie);
	assert.equal((await browser.open("/account")).status, 200);
	await site.store.db
		.updateTable("sessions")
		.set({ expires_at_ms: site.deps.clock.nowMs() - 1_000 })
		.execute();
	assert.equal((await browser.open("/account")).status, 303);
});

test("cookies are not readable by scripts, not sent from other sites and not sent over plain HTTP", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const browser = site.browser();
	const page = await browser.open("/sign-in");
	const answer = await browser.submit("/sign-in", { email: staff.email, password: PASSWORD });
	const lines = [...page.setCookies, ...answer.setCookies];
	assert.deepEqual(lines.map((line) => line.split("=")[0]).toSorted(), [DEVICE_COOKIE, SESSION_COOKIE]);
	for (const line of lines) {
		assert.match(line, /;\s*httponly/i, line);
		assert.match(line, /;\s*samesite=lax/i, line);
		assert.match(line, /;\s*secure/i, line);
		assert.match(line, /;\s*path=\/(?:;|$)/i, line);
		assert.doesNotMatch(line, /domain=/i, line);
	}
});

test("people can sign in over plain HTTP, as on the first start", async (t) => {
	const { browser } = await openAsStaff(t, { publicUrl: "http://127.0.0.1:8080" });
	assert.deepEqual([...browser.cookies.keys()].toSorted(), ["ringback.device", "ringback.session"]);
	assert.equal((await browser.open("/account")).status, 200);
});

test("a sign-in is in the audit log, and no log or table contains a password or a token", async (t) => {
	const { site, person: staff, browser } = await openAsStaff(t);
	const stranger = site.browser();
	await stranger.submit("/sign-in", { email: staff.email, password: WRONG });
	const [token = ""] = (browser.cookies.get(SESSION_COOKIE) ?? "").split(".");
	const audit = JSON.stringify(await site.store.db.selectFrom("audit_entries").selectAll().execute());
	assert.match(audit, /"person\.signed_in"/);
	assert.match(site.log.text(), /a sign-in was refused/);
	assert.ok(token.length > 20);
	for (const [text, where] of [
		[audit, "the audit log"],
		[site.log.text(), "the log"],
	] as const) {
		for (const secret of [PASSWORD, WRONG, token]) assert.equal(text.includes(secret), false, where);
	}
	const stored = await site.storedText();
	for (const secret of [PASSWORD, WRONG, token]) assert.equal(stored.includes(secret), false);
});

/**
 * Records wrong passwords without spending the time to hash them. It moves the clock, because only twenty
 * passwords a minute may be tried from one address block.
 */
async function countWrongPasswords(
	{ deps, moveClock }: TestSite,
	email: string,
	count: number,
	addressOf: (use: number) => string,
): Promise<void> {
	for (let use = 0; use < count; use += 1) {
		if (use % 20 === 0 && addressOf(0) === addressOf(1)) moveClock(60_000);
		const counted = await countPassword(deps, email, { address: addressOf(use), device: "" });
		assert.ok(counted.ok, String(use));
	}
}

async function guessAt(browser: Browser, email: string, password = WRONG): Promise<Shown> {
	return browser.submit("/sign-in", { email, password });
}
