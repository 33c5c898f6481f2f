// The account of a session that is older than a day: it asks for the password first, on both databases.

import { deepEqual, doesNotMatch, equal, match, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";
import type { Person } from "../../src/store/queries/people.ts";
import { turnAuthenticatorOn } from "../../src/web/account/totp.test-support.ts";
import {
	type Browser,
	createTestSite,
	NEW_PASSWORD,
	PASSWORD,
	type SiteOptions,
	type TestSite,
} from "../../src/web/test-site.test-support.ts";
import { eachDatabase } from "../support/databases.ts";

const ENTER = "/account/enter-password";
const SET_UP = "/account/authenticator";
const COOKIE = "__Host-ringback.confirmation";

const PAGES = ["/account", "/account?x=1", SET_UP];
const FORMS = [
	"/account/password",
	"/account/sessions/end",
	"/account/sessions/end-others",
	"/account/authenticator",
	"/account/authenticator/confirm",
	"/account/authenticator/off",
	"/account/authenticator/replace",
];

eachDatabase("an account and a session of days", (database) => {
	test("it opens up to a day after signing in; then it asks for the password, and leads to the page", async () => {
		const { site, staff, browser } = await signInLongAgo({}, DAY_MS - 1);
		equal((await browser.open("/account")).status, 200);
		site.moveClock(1);
		const asked = await browser.open("/account?x=1");
		deepEqual([asked.status, asked.location], [303, enter("/account?x=1")]);
		const page = await browser.open(asked.location ?? "");
		equal(page.status, 200);
		match(page.text, /<h1>Enter your password to continue<\/h1>/);
		equal(page.text.match(/type="password"/g)?.length, 1);
		doesNotMatch(page.text, /Where you are signed in/);
		const given = await browser.submit(ENTER, { currentPassword: PASSWORD, next: "/account?x=1" });
		deepEqual([given.status, given.location], [303, "/account?x=1"]);
		match((await browser.open("/account?x=1")).text, /Where you are signed in/);
		equal((await browser.open(ENTER)).location, "/account", "nothing is left to ask");
		deepEqual(errorsOf(site), []);
		equal((await site.signIn(staff).then((other) => other.open("/account"))).status, 200);
	});

	test("sessions are shown and ended, and an authenticator is set up, without being asked twice", async () => {
		const { site, staff, browser } = await signInLongAgo();
		const other = await site.signIn(staff);
		await givePassword(browser);
		const page = await browser.open("/account");
		const [, sessionId = ""] = /name="sessionId" value="([^"]+)"/.exec(page.text) ?? [];
		equal((await browser.submit("/account/sessions/end", { sessionId })).location, "/account#sessions");
		equal((await other.open("/account")).location, "/sign-in?next=%2Faccount");
		await browser.open("/account");
		await turnAuthenticatorOn(browser);
		match((await browser.open("/account")).text, /The authenticator is on/);
		deepEqual(errorsOf(site), []);
	});

	test("every page below it asks first, everything else stays open", async () => {
		const { browser } = await signInLongAgo();
		for (const path of PAGES) {
			const answer = await browser.open(path);
			deepEqual([answer.status, answer.location], [303, enter(path)]);
		}
		for (const path of ["/programmes", "/people", "/conversions"]) {
			equal((await browser.open(path)).status, 200, path);
		}
	});

	test("a form from before changes nothing and leads to the page, and from there to the account", async () => {
		const { site, browser } = await signInLongAgo();
		await browser.open("/people");
		const before = await site.storedText();
		for (const path of FORMS) {
			const answer = await browser.submit(path, {
				currentPassword: PASSWORD,
				newPassword: NEW_PASSWORD,
				code: "111111",
			});
			deepEqual([answer.status, answer.location], [303, ENTER], path);
		}
		equal(await site.storedText(), before);
		equal((await givePassword(browser)).location, "/account");
	});

	test("a wrong password is said at its field and opens nothing; without the form's token none is tried", async () => {
		const { site, browser } = await signInLongAgo();
		await browser.open(enter(SET_UP));
		const wrong = await browser.submit(ENTER, { currentPassword: "x", next: SET_UP });
		equal(wrong.status, 422);
		match(wrong.text, /id="currentPassword-error">This is not your current password\. Enter it again\./);
		match(wrong.text, new RegExp(`name="next" value="${SET_UP}"`), "the way back is not lost");
		equal(browser.cookies.has(COOKIE), false);
		equal((await browser.open("/account")).location, enter("/account"));
		const before = await site.storedText();
		equal((await browser.submit(ENTER, { currentPassword: PASSWORD }, { headers: {} })).status, 403);
		equal(browser.cookies.has(COOKIE), false);
		equal(await site.storedText(), before);
	});

	test("whoever guesses has to wait as on the sign-in page, also with the right one", async () => {
		const { site, browser } = await signInLongAgo();
		// The sign-in was one of this minute's.
		site.moveClock(60_000);
		await browser.open(ENTER);
		const statuses: number[] = [];
		for (let guess = 0; guess < 21; guess++) {
			statuses.push((await browser.submit(ENTER, { currentPassword: `guess ${guess}` })).status);
		}
		deepEqual(statuses, [...Array.from({ length: 20 }, () => 422), 429]);
		const right = await browser.submit(ENTER, { currentPassword: PASSWORD });
		equal(right.status, 429);
		match(right.text, /role="alert"/);
		equal(browser.cookies.has(COOKIE), false);
	});

	test("it counts for an hour, is kept in a cookie no script reads, and nothing is stored", async () => {
		const { site, staff, browser } = await signInLongAgo();
		const given = await givePassword(browser);
		const line = given.setCookies.find((cookie) => cookie.startsWith(COOKIE)) ?? "";
		match(line, /; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
		const [, value = ""] = /=([^;]+)/.exec(line) ?? [];
		equal((await site.storedText()).includes(value), false);
		site.moveClock(HOUR_MS - 1);
		equal((await browser.open("/account")).status, 200);
		site.moveClock(1);
		equal((await browser.open("/account")).location, enter("/account"));
		equal((await browser.submit("/sign-out", {})).location, "/sign-in");
		equal((await site.signIn(staff).then((other) => other.open("/account"))).status, 200);
	});

	test("it counts for this session only, and only as we wrote it", async () => {
		const { site, staff, browser } = await signInLongAgo();
		const other = await site.signIn(staff);
		await moveNewestSignIn(site, staff, 3 * DAY_MS);
		await givePassword(browser);
		const cookie = browser.cookies.get(COOKIE) ?? "";
		notEqual(cookie, "");
		other.cookies.set(COOKIE, cookie);
		equal((await other.open("/account")).location, enter("/account"));
		const copy = site.browser();
		for (const [name, value] of browser.cookies) if (name !== COOKIE) copy.cookies.set(name, value);
		equal(
			(await copy.open("/account")).location,
			enter("/account"),
			"a session's cookie alone is not enough",
		);
		site.moveClock(30 * 60_000);
		const [, madeAt = "", signature = ""] = /^(\d+)\.(.+)$/.exec(cookie) ?? [];
		for (const forged of [`${Number(madeAt) + HOUR_MS}.${signature}`, `${madeAt}.`, "", "x", `${madeAt}.x`]) {
			browser.cookies.set(COOKIE, forged);
			equal((await browser.open("/account")).location, enter("/account"), forged);
		}
		browser.cookies.set(COOKIE, cookie);
		equal((await browser.open("/account")).status, 200);
	});

	test("another person's is worth nothing, even of the same moment", async () => {
		const { site, browser } = await signInLongAgo();
		const colleague = await site.addStaff();
		const theirs = await site.signIn(colleague);
		await moveNewestSignIn(site, colleague, 6 * DAY_MS);
		await givePassword(theirs);
		browser.cookies.set(COOKIE, theirs.cookies.get(COOKIE) ?? "");
		equal((await theirs.open("/account")).status, 200);
		equal((await browser.open("/account")).location, enter("/account"));
	});

	test("a new password ends it; who has just changed it is not asked for it at once", async () => {
		const { browser } = await signInLongAgo();
		await givePassword(browser);
		const old = browser.cookies.get(COOKIE) ?? "";
		await browser.open("/account");
		const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
		equal((await browser.submit("/account/password", change)).location, "/account");
		match((await browser.open("/account")).text, /Your password is changed/);
		browser.cookies.set(COOKIE, old);
		equal((await browser.open("/account")).location, enter("/account"));
		await browser.open(ENTER);
		equal((await browser.submit(ENTER, { currentPassword: PASSWORD })).status, 422);
		equal((await browser.submit(ENTER, { currentPassword: NEW_PASSWORD })).location, "/account");
	});

	test("it leads to pages of the account and nowhere else", async () => {
		const { site, browser } = await signInLongAgo();
		for (const next of [
			"",
			"https://evil.example/account",
			"//evil.example/account",
			"/\\evil.example",
			"/programmes",
			"/accounts",
			"/account/../programmes",
			"/account/%2e%2e/programmes",
			"/account/..//evil.example",
			"javascript:alert(1)",
		]) {
			await browser.open(`${ENTER}?next=${encodeURIComponent(next)}`);
			browser.cookies.delete(COOKIE);
			site.moveClock(60_000);
			const given = await browser.submit(ENTER, { currentPassword: PASSWORD, next });
			deepEqual([given.status, given.location], [303, "/account"], next);
			const confirmed = await browser.open(`${ENTER}?next=${encodeURIComponent(next)}`);
			deepEqual([confirmed.status, confirmed.location], [303, "/account"], next);
		}
	});

	test("signing out needs no password; who is not signed in is led to the sign-in", async () => {
		const { browser } = await signInLongAgo();
		match((await browser.open(ENTER)).text, /action="\/sign-out"/);
		equal((await browser.submit("/sign-out", {})).location, "/sign-in");
		equal((await browser.open(ENTER)).location, `/sign-in?next=${encodeURIComponent(ENTER)}`);
		equal((await browser.submit(ENTER, { currentPassword: PASSWORD })).location, "/sign-in");
	});

	test("staff who must set up an authenticator give the password, set it up, and are led round no circle", async () => {
		const { browser } = await signInLongAgo({ change: { staffAuthenticator: "required" } });
		equal((await browser.open("/programmes")).location, SET_UP);
		equal((await browser.open("/account")).location, SET_UP);
		equal((await browser.open(SET_UP)).location, enter(SET_UP));
		const page = await browser.open(enter(SET_UP));
		equal(page.status, 200);
		match(page.text, /action="\/sign-out"/);
		equal((await browser.submit("/account/password", {})).location, SET_UP);
		equal((await browser.submit(SET_UP, { currentPassword: PASSWORD })).location, ENTER);
		const given = await browser.submit(ENTER, { currentPassword: PASSWORD, next: SET_UP });
		equal(given.location, SET_UP);
		match((await browser.open(SET_UP)).text, /Staff of this network must sign in with a code/);
		equal((await browser.open(ENTER)).location, "/account");
		equal((await browser.open("/account")).location, SET_UP);
		await browser.open(SET_UP);
		await turnAuthenticatorOn(browser);
		equal((await browser.open("/programmes")).status, 200);
		equal((await browser.open("/account")).status, 200);
	});

	async function signInLongAgo(
		options: SiteOptions = {},
		ageMs = 6 * DAY_MS,
	): Promise<{ site: TestSite; staff: Person; browser: Browser }> {
		const site = createTestSite(database.store, options);
		const staff = await site.addStaff();
		const browser = await site.signIn(staff);
		await moveNewestSignIn(site, staff, ageMs);
		return { site, staff, browser };
	}

	/** better-auth wrote it by the machine's clock, which is ahead of the test's. */
	async function moveNewestSignIn({ store, deps }: TestSite, { public_id }: Person, ageMs: number) {
		const createdAt = new Date(deps.clock.nowMs() - ageMs).toISOString();
		const newest = await store.db
			.selectFrom("auth_sessions")
			.select("id")
			.where("userId", "=", public_id)
			.orderBy("createdAt", "desc")
			.executeTakeFirstOrThrow();
		await store.db.updateTable("auth_sessions").set({ createdAt }).where("id", "=", newest.id).execute();
	}
});

function enter(next: string): string {
	return `${ENTER}?next=${encodeURIComponent(next)}`;
}

async function givePassword(browser: Browser) {
	await browser.open(ENTER);
	const given = await browser.submit(ENTER, { currentPassword: PASSWORD });
	equal(given.status, 303, given.text);
	return given;
}

function errorsOf({ log }: TestSite) {
	return log.lines.filter(({ level }) => level === "error");
}
