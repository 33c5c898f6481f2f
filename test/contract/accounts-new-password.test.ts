// Tests that a new password lets its owner sign in after any number of wrong ones, because those were guesses at the
// old password. The new password ends the API tokens that its owner had issued, except those that the owner keeps.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { MINUTE_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { inviteStaff, makeOperatorLink } from "#core/people/invitations.ts";
import { LIMITS, useLimits } from "#core/people/limits.ts";
import type { Person } from "#core/store/queries/people.ts";
import {
	type Browser,
	createTestSite,
	NEW_PASSWORD,
	newEmail,
	PASSWORD,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { mainlyOn } from "../support/databases.ts";
import { askByMail, submitForLink } from "./access-setup.ts";

const GUESSES_A_MINUTE = 20;

/** Ways to get a new password with a link. Each returns the path of the link. */
const LINKS: Readonly<Record<string, (site: TestSite, person: Person, boss: Browser) => Promise<string>>> = {
	"a link that was mailed": (site, person) => askByMail(site, person),
	"a link of the staff": (site, { public_id }, boss) =>
		submitForLink(site, boss, `/people/${public_id}/link`),
	"`ringback user link`": async (site, { id }) => {
		const made = await makeOperatorLink(site.deps, id, { bypassesCompanySignIn: false });
		return made.ok ? new URL(made.value.link ?? "").pathname : made.fault.detail;
	},
};

mainlyOn("SQLite", "a new password after many wrong ones", (database) => {
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
		const invited = await inviteStaff(site.deps, COMMAND_LINE, email);
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

mainlyOn("SQLite", "API tokens and a new password", (database) => {
	let site: TestSite;

	before(() => {
		site = createTestSite(database.store, { hasMail: true });
	});

	for (const [way, linkFor] of [["the account page", null], ...Object.entries(LINKS)] as const) {
		test(`a new password by ${way} ends the person's tokens, except those that they untick`, async () => {
			const [person, other] = [await site.addStaff(), await site.addStaff()];
			const [browser, boss] = [await site.signIn(person), await site.signIn(other)];
			const tokens = {
				kept: await issue(browser, "Kept one"),
				ended: await issue(browser, 'Ended "one"'),
				others: await issue(boss, "Of another"),
			};
			const programme = await site.addProgramme();
			await browser.submit(`/programmes/${programme.public_id}/integration/keys`, { name: "Shop server" });
			const link = linkFor === null ? null : await linkFor(site, person, boss);
			const reader = link === null ? browser : site.browser();
			const { text } = await reader.open(link ?? "/account");
			match(text, /<legend>API tokens that end<\/legend>/);
			doesNotMatch(text, /Of another|Shop server/);
			const boxes = readBoxes(text);
			deepEqual([...boxes.keys()], ["Kept one", "Ended &quot;one&quot;"]);
			ok(boxes.values().every(({ isTicked }) => isTicked));
			const late = await issue(browser, "Issued after the page was opened");
			site.mailbox.length = 0;

			const ids = [...boxes.values()].map(({ id }) => id);
			const typed =
				link === null ? { currentPassword: PASSWORD, newPassword: NEW_PASSWORD } : { password: NEW_PASSWORD };
			const form = (fields: object) =>
				new URLSearchParams([
					...Object.entries({ ...typed, ...fields }),
					...ids.map((id) => ["listed", id]),
					["end", ids[1] ?? ""],
				]);
			const path = link ?? "/account/password";
			const refused = await reader.submitForm(path, form({ newPassword: "short", password: "short" }));
			equal(refused.status, 422);
			deepEqual(
				[...readBoxes(refused.text).values()].map(({ isTicked }) => isTicked),
				[false, true, true],
				"a refused form keeps the choice, and lists the new token",
			);
			deepEqual(await usableOf(tokens), ["kept", "ended", "others"]);

			const changed = await reader.submitForm(path, form({}));
			equal(changed.status, 303, changed.text);
			deepEqual(await usableOf({ ...tokens, late }), ["kept", "others"], "this process refuses them at once");
			match(
				(await reader.open(changed.location ?? "")).text,
				/Your password is changed\. [^<]*2 API tokens were ended\./,
			);
			const keys = await site.store.db
				.selectFrom("api_keys")
				.select("revoked_at_ms")
				.where("issued_by", "=", person.id)
				.execute();
			deepEqual(keys, [{ revoked_at_ms: null }], "keys belong to the programme");

			await site.tellChanges();
			const mail = site.mailbox.find(
				({ to, subject }) => to === person.email && /your account/i.test(subject),
			);
			match(
				mail?.text ?? "",
				/API tokens that you had issued were ended: rbn_….{4} \("Ended 'one'"\), rbn_….{4} \("Issued after the page was opened"\)\./,
			);
			doesNotMatch(mail?.text ?? "", /Kept one/);
		});
	}

	test("a form from a page that listed no tokens keeps none", async () => {
		const person = await site.addStaff();
		const browser = await site.signIn(person);
		const token = await issue(browser, "Portal");
		const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
		equal((await browser.submit("/account/password", change)).status, 303);
		deepEqual(await usableOf({ token }), []);
	});

	async function issue(browser: Browser, name: string): Promise<string> {
		const fields = { name, right: "read", days: "", currentPassword: PASSWORD };
		const { text } = await browser.submit("/network/tokens", fields);
		return /rbn_[0-9a-f]{64}/.exec(text)?.[0] ?? text;
	}

	/** Returns the names of the tokens that still work. */
	async function usableOf(tokens: Readonly<Record<string, string>>): Promise<string[]> {
		const usable: string[] = [];
		for (const [name, token] of Object.entries(tokens)) {
			const headers = { authorization: `Bearer ${token}` };
			const { status } = await site.browser().send("/v1/network/programmes", { headers });
			if (status === 200) usable.push(name);
			else equal(status, 401);
		}
		return usable;
	}

	function readBoxes(page: string): Map<string, { id: string; isTicked: boolean }> {
		const boxes = page.matchAll(
			/<input type="checkbox" name="end" value="(tok_\w+)"( checked)?><span><span class="break">([^<]*)</g,
		);
		return new Map(
			boxes.map(([, id = "", ticked, name = ""]) => [name, { id, isTicked: ticked !== undefined }]),
		);
	}
});
