// A new password lets its owner sign in after any number of wrong ones, because those were guesses at the old
// password.

import { deepEqual, equal, match } from "node:assert/strict";
import { before, test } from "node:test";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { COMMAND_LINE } from "../../src/people/actor.ts";
import { invitePerson } from "../../src/people/invitations.ts";
import { LIMITS, useLimits } from "../../src/people/limits.ts";
import {
	createTestSite,
	NEW_PASSWORD,
	newEmail,
	PASSWORD,
	type TestSite,
} from "../../src/web/test-site.test-support.ts";
import { eachDatabase } from "../support/databases.ts";
import { askByMail } from "./access-setup.ts";

const GUESSES_A_MINUTE = 20;

eachDatabase("a new password after many wrong ones", (database) => {
	let site: TestSite;
	let networks = 0;

	before(() => {
		site = createTestSite(database.store, { hasMail: true });
	});

	test("choosing a new password by a link signs the person in, even at the address that sent the wrong passwords", async () => {
		const staff = await site.addStaff();
		const address = newAddress();
		await guessUntilRefused(staff.email, address);
		const link = await askByMail(site, staff);
		const browser = site.browser({ address });
		await browser.open(link);
		equal((await browser.submit(link, { password: NEW_PASSWORD })).location, "/programmes");
		equal((await browser.open("/account")).status, 200);
	});

	test("choosing a first password by an invitation signs the person in, even at the address that sent wrong passwords", async () => {
		const [email, address] = [newEmail("network"), newAddress()];
		const invited = await invitePerson(site.deps, { email, membership: null, invitedBy: COMMAND_LINE });
		const link = invited.ok ? new URL(invited.value.link ?? "").pathname : "";
		await guessUntilRefused(email, address);
		const browser = site.browser({ address });
		await browser.open(link);
		equal((await browser.submit(link, { name: "Nora", password: NEW_PASSWORD })).location, "/programmes");
		equal((await browser.open("/account")).status, 200);
	});

	test("after a password change under Account, the person can sign in from the same network and from any other", async () => {
		const staff = await site.addStaff();
		const address = newAddress();
		const here = site.browser({ address });
		await here.open("/sign-in");
		equal((await here.submit("/sign-in", { email: staff.email, password: PASSWORD })).status, 303);
		await guessUntilRefused(staff.email, address);
		await here.open("/account");
		const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
		equal((await here.submit("/account/password", change)).status, 303);
		for (const from of [address, newAddress()]) {
			const fresh = site.browser({ address: from });
			await fresh.open("/sign-in");
			equal((await fresh.submit("/sign-in", { email: staff.email, password: NEW_PASSWORD })).location, "/");
		}
	});

	test("if the person's network is rate limited, the page says that the password is changed and how long to wait", async () => {
		const staff = await site.addStaff();
		const link = await askByMail(site, staff);
		const address = newAddress();
		const browser = site.browser({ address });
		await browser.open("/sign-in");
		for (let guess = 0; guess < GUESSES_A_MINUTE; guess++) {
			await browser.submit("/sign-in", { email: newEmail("shop"), password: "x" });
		}
		await browser.open(link);
		const used = await browser.submit(link, { password: NEW_PASSWORD });
		deepEqual([used.status, used.location], [303, "/sign-in"]);
		match(
			(await browser.open("/sign-in")).text,
			/Your password is changed\. You are not signed in yet\. Too many attempts came from your internet connection\. Try again in (a minute|\d+ seconds)\./,
		);
		site.moveClock(MINUTE_MS);
		equal((await browser.submit("/sign-in", { email: staff.email, password: NEW_PASSWORD })).status, 303);
	});

	/**
	 * Sends wrong passwords until the account's limit for this address and its limit for all addresses are used
	 * up.
	 */
	async function guessUntilRefused(email: string, address: string): Promise<void> {
		const guesser = site.browser({ address });
		await guesser.open("/sign-in");
		const guess = async () => (await guesser.submit("/sign-in", { email, password: "x" })).status;
		for (let count = 0; count < 20; count++) {
			if (count % GUESSES_A_MINUTE === 0) site.moveClock(MINUTE_MS);
			equal(await guess(), 401);
		}
		site.moveClock(MINUTE_MS);
		equal(await guess(), 429);
		const nowMs = site.deps.clock.nowMs();
		const use = { limit: LIMITS.wrongPasswords, subject: email };
		while ((await useLimits(site.store.db, [use], nowMs)) === null);
	}

	function newAddress(): string {
		networks += 1;
		return `203.0.113.${networks}`;
	}
});
