// Turning the authenticator on and off, on both databases: what is told of it is what has happened, and neither
// happens by halves.

import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { before, test } from "node:test";
import type { Person } from "../../src/store/people.ts";
import { codeAt } from "../../src/web/account/totp.test-support.ts";
import {
	type Browser,
	createTestSite,
	PASSWORD,
	type TestSite,
} from "../../src/web/test-site.test-support.ts";
import { eachDatabase } from "../support/databases.ts";

const STEP_MS = 30_000;
const CONFIRM = "/account/authenticator/confirm";
const OFF = "/account/authenticator/off";

eachDatabase("the authenticator", (database) => {
	let site: TestSite;

	before(() => {
		site = createTestSite(database.store, { hasMail: true });
	});

	test("only six digits of the app turn it on: no backup code, and nothing else", async () => {
		const staff = await site.addStaff();
		const { browser, secret, backupCodes } = await begin(staff);
		equal(backupCodes.length, 10);
		for (const code of [backupCodes[0] ?? "", "12345", "1234567", "", "abc"]) {
			const refused = await browser.submit(CONFIRM, { code });
			equal(refused.status, 401, code);
			match(refused.text, /id="code-error">Enter the six digits that the app shows now\./, code);
		}
		await isOff(staff);
		deepEqual(await notesOf(staff), []);
		equal((await browser.submit(CONFIRM, { code: codeAt(secret, Date.now()) })).status, 303);
		deepEqual(await notesOf(staff), ["authenticator.turned_on"]);
		const other = site.browser();
		await enterPassword(other, staff);
		equal(
			(await other.submit("/sign-in/code", { code: backupCodes[0] ?? "" })).location,
			"/",
			"the backup code that was entered is as good as before",
		);
	});

	test("without a set-up no code turns it on, and the page says where to begin", async () => {
		const staff = await site.addStaff();
		const browser = await site.signIn(staff);
		await browser.open("/account");
		for (const code of ["123456", "12345", "7KQ2M-XW4HT"]) {
			const refused = await browser.submit(CONFIRM, { code });
			equal(refused.status < 500, true, code);
			match(refused.text, /Begin again/, code);
		}
		await isOff(staff);
	});

	test("a sign-in that waits for a code when the authenticator is turned off is refused any code", async () => {
		const staff = await site.addStaff();
		const { browser, secret, backupCodes } = await turnOn(staff);
		const waiting = site.browser();
		await enterPassword(waiting, staff);
		const code = codeAt(secret, Date.now() + STEP_MS);
		equal((await browser.submit(OFF, { currentPassword: PASSWORD, code })).status, 303);
		for (const late of [backupCodes[1] ?? "", "123456"]) {
			equal((await waiting.submit("/sign-in/code", { code: late })).location, "/sign-in");
			equal((await waiting.open("/account")).status, 303);
		}
	});

	async function begin(person: Person) {
		const browser = await site.signIn(person);
		await browser.open("/account");
		const { text } = await browser.submit("/account/authenticator", { currentPassword: PASSWORD });
		const [, secret = ""] = /data-copy="([A-Z2-7]{16,})"/.exec(text) ?? [];
		notEqual(secret, "", text);
		const backupCodes = text.match(/\b[2-9A-HJKMNP-Z]{5}-[2-9A-HJKMNP-Z]{5}\b(?=\n|<\/code>)/g) ?? [];
		return { browser, secret, backupCodes: [...new Set(backupCodes)] };
	}

	async function turnOn(person: Person) {
		const setup = await begin(person);
		const on = await setup.browser.submit(CONFIRM, { code: codeAt(setup.secret, Date.now()) });
		equal(on.status, 303, on.text);
		await setup.browser.open("/account");
		return setup;
	}

	async function isOff(person: Person): Promise<void> {
		equal((await enterPassword(site.browser(), person)).location, "/");
	}

	async function notesOf({ id }: Person): Promise<string[]> {
		const notes = await site.store.db
			.selectFrom("audit_entries")
			.select("action")
			.where("person_id", "=", id)
			.where("action", "like", "authenticator.%")
			.orderBy("id")
			.execute();
		return notes.map(({ action }) => action);
	}
});

async function enterPassword(browser: Browser, { email }: Person) {
	await browser.open("/sign-in");
	const answer = await browser.submit("/sign-in", { email, password: PASSWORD });
	await browser.open("/sign-in/code");
	return answer;
}
