// A new password lets its owner in, however many wrong ones were tried before it: those were guesses at the old one.

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

	test("by a link it lets them in from where the wrong ones came", async () => {
		const staff = await site.addStaff();
		const address = newAddress();
		await guessUntilRefused(staff.email, address);
		const link = await askByMail(site, staff);
		const browser = site.browser({ address });
		await browser.open(link);
		equal((await browser.submit(link, { password: NEW_PASSWORD })).location, "/programmes");
		equal((await browser.open("/account")).status, 200);
	});

	test("the first one, by an invitation, does too", async () => {
		const [email, address] = [newEmail("network"), newAddress()];
		const invited = await invitePerson(site.deps, { email, membership: null, invitedBy: COMMAND_LINE });
		const link = invited.ok ? new URL(invited.value.link ?? "").pathname : "";
		await guessUntilRefused(email, address);
		const browser = site.browser({ address });
		await browser.open(link);
		equal((await browser.submit(link, { name: "Nora", password: NEW_PASSWORD })).location, "/programmes");
		equal((await browser.open("/account")).status, 200);
	});

	test("under Account it opens a sign-in elsewhere in the same network, and from everywhere", async () => {
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

	test("where the network has to wait all the same, the page says that the password is changed, and until when", async () => {
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

	/** From there, and from everywhere: both limits of the account are full. */
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
