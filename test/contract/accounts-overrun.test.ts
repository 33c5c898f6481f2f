// Tests that many guesses at a sign-in at once, from many addresses, or with a stolen session give no
// additional guesses. The tests run on both databases and use two stores, like two processes.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { countPassword } from "#core/people/passwords.ts";
import type { Person } from "#core/store/queries/people.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "#core/web/account/totp.test-support.ts";
import {
	type Browser,
	createTestSite,
	PASSWORD,
	SESSION_COOKIE,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { mainlyOn } from "../support/databases.ts";
import { enterPassword } from "./access-setup.ts";

const WRONG = "wrong horse battery";
const DEVICE_COOKIE = "__Host-ringback.device";
/** Number of sign-ins that wait for a code. Creating each costs one password hash. */
const CHALLENGES = 16;

mainlyOn("PostgreSQL", "guessing at a sign-in", (database) => {
	test("if many challenges get a code at once, two processes together check only ten codes", async () => {
		const sites = [createTestSite(database.store), createTestSite(database.rival)] as const;
		const staff = await sites[0].addStaff();
		const secret = await turnOn(sites[0], staff);
		const browsers = await openChallenges(sites, staff, CHALLENGES);
		const answers = await Promise.all(
			browsers.map((browser) => browser.submit("/sign-in/code", { code: "111111" })),
		);
		const judged = answers.filter(({ text }) => text.includes("This code is not right"));
		equal(judged.length, 10);
		deepEqual(new Set(answers.map(({ status }) => status)), new Set([401, 429]));
		const late = sites[1].browser();
		await enterPassword(late, staff);
		const code = codeAt(secret, late.nowMs() + CODE_STEP_MS);
		const refused = await late.submit("/sign-in/code", { code });
		equal(refused.status, 429);
		match(refused.text, /Too many wrong codes were entered for this account\. Try again in 15 minutes/);
		sites[1].moveClock(15 * 60_000);
		await enterPassword(late, staff);
		const again = codeAt(secret, late.nowMs());
		equal((await late.submit("/sign-in/code", { code: again })).location, "/");
	});

	test("backup codes and app codes share one limit of guesses", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		await turnOn(site, staff);
		const browsers = await openChallenges([site], staff, 13);
		const answers = await Promise.all(
			browsers.map((browser, index) =>
				browser.submit("/sign-in/code", { code: index % 2 === 0 ? "ABCDE-23456" : "111111" }),
			),
		);
		equal(answers.filter(({ status }) => status === 401).length, 10);
		equal(answers.filter(({ status }) => status === 429).length, 3);
	});

	test("a stolen session cannot guess the password on the account page or where API tokens are issued, because the guesses of all forms count for the account", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		const taken = (await site.signIn(staff)).cookies.get(SESSION_COOKIE) ?? "";
		const tryAt = async (path: string, currentPassword: string) => {
			const thief = site.browser();
			thief.cookies.set(SESSION_COOKIE, taken);
			await thief.open("/account");
			const token = { name: "Portal", right: "manage", days: "" };
			return thief.submit(path, { currentPassword, newPassword: WRONG, code: "111111", ...token });
		};
		await guessEverywhere(site, staff, 57);
		equal((await tryAt("/account/password", WRONG)).status, 422);
		equal((await tryAt("/account/authenticator", WRONG)).status, 422);
		equal((await tryAt("/network/tokens", WRONG)).status, 422);
		const refused = await tryAt("/account/password", PASSWORD);
		equal(refused.status, 429, "all forms together have sixty guesses for the account");
		match(refused.text, /Too many wrong passwords were tried for this account/);
		equal((await tryAt("/account/authenticator", PASSWORD)).status, 429);
		equal((await tryAt("/network/tokens", PASSWORD)).status, 429);
		deepEqual(await site.store.db.selectFrom("api_tokens").selectAll().execute(), []);
	});

	test("a stolen browser with all its cookies has twenty guesses per quarter of an hour on the account page", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		const own = await site.signIn(staff);
		await own.open("/account");
		await guessEverywhere(site, staff, 16, own.cookies.get(DEVICE_COOKIE));
		const statuses: number[] = [];
		for (let guess = 16; guess < 33; guess += 1) {
			const change = { currentPassword: `${WRONG} ${guess}`, newPassword: WRONG };
			statuses.push((await own.submit("/account/password", change)).status);
		}
		deepEqual(statuses, [422, 422, 422, 422, ...Array.from({ length: 13 }, () => 429)]);
		const right = await own.submit("/account/password", { currentPassword: PASSWORD, newPassword: WRONG });
		equal(right.status, 429);
		equal((await enterPassword(site.browser(), staff)).status, 303, "other browsers can still sign in");
	});

	test("turning the authenticator off counts as a guess at the password and at the code", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		const browser = site.browser();
		await enterPassword(browser, staff);
		const { secret } = await turnAuthenticatorOn(browser);
		const device = browser.cookies.get(DEVICE_COOKIE);
		await browser.open("/account");
		const turnOff = (currentPassword: string, code: string) =>
			browser.submit("/account/authenticator/off", { currentPassword, code });
		await guessEverywhere(site, staff, 19, device);
		equal((await turnOff(WRONG, "111111")).status, 422);
		equal((await turnOff(PASSWORD, codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS))).status, 429);
		site.moveClock(60 * 60_000);
		const statuses: number[] = [];
		for (let guess = 0; guess < 9; guess += 1) statuses.push((await turnOff(PASSWORD, "111111")).status);
		site.moveClock(60_000);
		for (let guess = 0; guess < 2; guess += 1) statuses.push((await turnOff(PASSWORD, "ABCDE-23456")).status);
		deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429]);
		const right = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
		equal((await turnOff(PASSWORD, right)).status, 429, "the right code is refused, too");
	});

	test("a stolen browser whose thief knows the password gets no more guesses at the code by changing the password", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		const browser = site.browser();
		await enterPassword(browser, staff);
		await turnAuthenticatorOn(browser);
		await browser.open("/account");
		const guess = async (currentPassword: string) => {
			const { status } = await browser.submit("/account/authenticator/off", {
				currentPassword,
				code: "111111",
			});
			return status;
		};
		const statuses: number[] = [];
		for (let count = 0; count < 10; count += 1) statuses.push(await guess(PASSWORD));
		deepEqual(new Set(statuses), new Set([401]));
		equal(await guess(PASSWORD), 429);
		site.moveClock(60_000);
		const change = { currentPassword: PASSWORD, newPassword: WRONG };
		equal((await browser.submit("/account/password", change)).status, 303);
		equal(await guess(WRONG), 429, "the browser is the same one as before");
		let [present, next] = [WRONG, PASSWORD];
		const guessed: number[] = [];
		for (let round = 0; round < 3; round += 1) {
			site.moveClock(60_000);
			browser.cookies.delete(DEVICE_COOKIE);
			const again = { currentPassword: present, newPassword: next };
			equal((await browser.submit("/account/password", again)).status, 303);
			[present, next] = [next, present];
			for (let count = 0; count < 10; count += 1) guessed.push(await guess(present));
		}
		const once = [...Array.from({ length: 10 }, () => 401), ...Array.from({ length: 20 }, () => 429)];
		deepEqual(guessed, once, "browsers without the cookie share ten guesses");
	});

	test("strangers who use up an account's guesses do not lock out the owner's browser, in whatever network it is", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		const own = await site.signIn(staff);
		await own.open("/account");
		await own.submit("/sign-out", {});
		await guessEverywhere(site, staff, 60);
		equal((await enterPassword(site.browser(), staff)).status, 429, "an unknown browser must wait");
		const moved = site.browser({ address: "2001:db8:77::1" });
		for (const [name, value] of own.cookies) moved.cookies.set(name, value);
		equal(
			(await enterPassword(moved, staff)).status,
			303,
			"the account's own browser may sign in from a new network",
		);
	});

	test("a device cookie allows twenty guesses per quarter of an hour at its own account, until the password changes", async () => {
		const site = createTestSite(database.store);
		const [staff, other] = [await site.addStaff(), await site.addStaff()];
		const own = await site.signIn(staff);
		const device = own.cookies.get(DEVICE_COOKIE) ?? "";
		ok(device.length > 40);
		await guessEverywhere(site, staff, 60);
		await guessEverywhere(site, other, 60);
		equal((await withDevice(site, device, other)).status, 429, "the cookie is invalid for another account");
		const forged = device.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
		equal((await withDevice(site, forged, staff)).status, 429, "a changed cookie is invalid");
		await guessEverywhere(site, staff, 18, device);
		for (const status of [401, 401, 429, 429]) {
			equal((await withDevice(site, device, staff, WRONG)).status, status);
		}
		await own.open("/account");
		site.moveClock(60 * 60_000);
		const change = { currentPassword: PASSWORD, newPassword: "another horse battery" };
		equal((await own.submit("/account/password", change)).status, 303);
		await guessEverywhere(site, staff, 60);
		equal(
			(await withDevice(site, device, staff, change.newPassword)).status,
			429,
			"the cookie for the old password is invalid",
		);
		const renewed = own.cookies.get(DEVICE_COOKIE) ?? "";
		equal(
			(await withDevice(site, renewed, staff, change.newPassword)).status,
			303,
			"the cookie for the new password is valid",
		);
	});

	test("requests from a rate-limited address write nothing to the database, however many there are and whatever name they give", async () => {
		const site = createTestSite(database.store, { hasMail: true });
		const guesser = site.browser({ address: "2001:db8:1:2::1" });
		await guesser.open("/sign-in");
		for (let guess = 0; guess < 7; guess += 1) {
			await guesser.submit("/sign-in", { email: `${guess}@shop.example`, password: WRONG });
			await guesser.submit("/sign-in/code", { code: "111111" });
			await guesser.submit("/forgot-password", { email: `${guess}@shop.example` });
		}
		const before = await site.storedText();
		const answers = await Promise.all(
			// One client may have at most 16 requests waiting for their turn.
			Array.from({ length: 16 }, async (_, guess) => {
				// All addresses of an IPv6 /64 count as one client.
				const again = site.browser({ address: `2001:db8:1:2::${guess.toString(16)}` });
				for (const [name, value] of guesser.cookies) again.cookies.set(name, value);
				const email = `late-${guess}@shop.example`;
				return [
					(await again.submit("/sign-in", { email, password: WRONG })).status,
					(await again.submit("/sign-in/code", { code: "111111" })).status,
					(await again.submit("/forgot-password", { email })).status,
				].join(" ");
			}),
		);
		deepEqual(new Set(answers), new Set(["429 429 429"]));
		equal(await site.storedText(), before);
	});

	test("a client with a whole IPv6 /48 gets six times the guesses of one network, and few rows are stored", async () => {
		const site = createTestSite(database.store);
		const statuses: number[] = [];
		const counts = async () =>
			(await database.store.db.selectFrom("limit_counts").select("subject").execute()).length;
		const before = await counts();
		for (let guess = 0; guess < 150; guess += 1) {
			const browser = site.browser({ address: `2001:db8:5:${guess.toString(16)}::1` });
			await browser.open("/sign-in/code");
			statuses.push((await browser.submit("/sign-in/code", { code: "111111" })).status);
		}
		deepEqual([statuses.indexOf(429), statuses.lastIndexOf(303)], [120, 119]);
		equal((await counts()) - before, 121);
	});

	/** Signs in with the password in `count` browsers, so that only the authenticator codes are missing. */
	async function openChallenges(sites: readonly TestSite[], person: Person, count: number) {
		const browsers: Browser[] = [];
		for (let index = 0; index < count; index += 1) {
			const browser = sites[index % sites.length]?.browser();
			ok(browser !== undefined);
			equal((await enterPassword(browser, person)).location, "/sign-in/code");
			browsers.push(browser);
		}
		return browsers;
	}
});

/** Counts wrong passwords from `count` different networks directly, which saves the time for hashing. */
async function guessEverywhere(
	{ deps }: TestSite,
	{ email }: Person,
	count: number,
	device = "",
): Promise<void> {
	for (let guess = 0; guess < count; guess += 1) {
		ok((await countPassword(deps, email, { address: newAddress(), device })).ok);
	}
}

let addresses = 0;

/**
 * Returns an address from the range for benchmarks (198.18.0.0/15), outside the half that the test browsers
 * use.
 */
function newAddress(): string {
	addresses += 1;
	return `198.19.${addresses >> 8}.${addresses & 255}`;
}

async function withDevice(site: TestSite, device: string, person: Person, password = PASSWORD) {
	const browser = site.browser();
	browser.cookies.set(DEVICE_COOKIE, device);
	return enterPassword(browser, person, password);
}

async function turnOn(site: TestSite, person: Person): Promise<string> {
	return (await turnAuthenticatorOn(await site.signIn(person))).secret;
}
