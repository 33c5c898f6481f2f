// Tests turning the authenticator on and off, on both databases. The audit log and the mails match what has
// happened, and neither change happens partially.

import { deepEqual, doesNotMatch, equal, match, notEqual } from "node:assert/strict";
import { before, test } from "node:test";
import { type Auth, createAuth, type Visitor } from "#core/people/auth.ts";
import { removeAuthenticator } from "#core/people/authenticator.ts";
import { findDevice } from "#core/people/device-cookie.ts";
import type { Person } from "#core/store/queries/people.ts";
import { endSessions, listSessions } from "#core/store/queries/sessions.ts";
import {
	beginAuthenticator,
	CODE_STEP_MS,
	codeAt,
	turnAuthenticatorOn,
} from "#core/web/account/totp.test-support.ts";
import {
	type Browser,
	createTestSite,
	NEW_PASSWORD,
	PASSWORD,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { mainlyOn } from "../support/databases.ts";
import { enterPassword } from "./access-setup.ts";

const DEVICE_COOKIE = "__Host-ringback.device";
const CONFIRM = "/account/authenticator/confirm";
const OFF = "/account/authenticator/off";

mainlyOn("SQLite", "the authenticator", (database) => {
	let site: TestSite;

	before(() => {
		site = createTestSite(database.store, { hasMail: true });
	});

	test("only the six digits of the app turn the authenticator on, and a backup code does not", async () => {
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
		equal((await browser.submit(CONFIRM, { code: codeAt(secret, site.deps.clock.nowMs()) })).status, 303);
		deepEqual(await notesOf(staff), ["authenticator.turned_on"]);
		const entered = { code: backupCodes[0] ?? "" };
		const other = await beginSignIn(staff);
		equal((await other.submit("/sign-in/code", entered)).location, "/", "the backup code is still valid");
	});

	test("without a set-up no code turns the authenticator on, and the page says where to begin", async () => {
		const staff = await site.addStaff();
		const browser = await site.signIn(staff);
		await browser.open("/account");
		for (const code of ["123456", "12345", "7KQ2M-XW4HT"]) {
			const refused = await browser.submit(CONFIRM, { code });
			equal(refused.status < 500, true, code);
			match(refused.text, /Start over/, code);
		}
		await isOff(staff);
	});

	test("a backup code and a code of the app each work once, if two processes get them for a sign-in and for a token at once", async () => {
		const elsewhere = createTestSite(database.rival);
		const staff = await site.addStaff();
		const { browser, secret, backupCodes } = await turnOn(staff);
		const codes = [backupCodes[0] ?? "", codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS)];
		for (const code of codes) {
			const waiting: Browser[] = [];
			for (const from of [site, elsewhere, elsewhere]) {
				const signingIn = from.browser();
				equal((await enterPassword(signingIn, staff)).location, "/sign-in/code");
				waiting.push(signingIn);
			}
			const token = { name: "Portal", right: "read", days: "", currentPassword: PASSWORD, code };
			const answers = await Promise.all([
				...waiting.map(async (each) => (await each.submit("/sign-in/code", { code })).location === "/"),
				browser.submit("/network/tokens", token).then(({ text }) => text.includes("Copy it now")),
			]);
			deepEqual(answers.filter(Boolean), [true], code);
		}
	});

	test("a new password discards a set-up that was begun with the old one", async () => {
		const staff = await site.addStaff();
		const { browser, secret } = await begin(staff);
		await browser.open("/account");
		const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
		equal((await browser.submit("/account/password", change)).status, 303);
		deepEqual(await setupsOf(staff), []);
		const code = codeAt(secret, site.deps.clock.nowMs());
		match((await browser.submit(CONFIRM, { code })).text, /The authenticator is not set up/);
		const { secret: newSecret } = await beginAuthenticator(browser, NEW_PASSWORD);
		const on = { code: codeAt(newSecret, site.deps.clock.nowMs()) };
		equal((await browser.submit(CONFIRM, on)).status, 303);
		const off = { currentPassword: NEW_PASSWORD, newPassword: PASSWORD };
		await browser.open("/account");
		equal((await browser.submit("/account/password", off)).status, 303);
		equal((await setupsOf(staff)).length, 1, "an authenticator that is on stays");
	});

	test("a form that names another key than ours shows no picture of it", async () => {
		const staff = await site.addStaff();
		const { browser } = await begin(staff);
		for (const uri of [
			`otpauth://totp/${"a".repeat(400_000)}`,
			"https://evil.example/?secret=AAAA",
			"otpauth://",
		]) {
			const refused = await browser.submit(CONFIRM, { code: "111111", uri, backupCodes: "A B" });
			equal(refused.status, 401, uri.slice(0, 40));
			doesNotMatch(refused.text, /QR code|evil/);
		}
	});

	test("if the authenticator is turned off during a sign-in, that sign-in accepts no code", async () => {
		const staff = await site.addStaff();
		const { browser, secret, backupCodes } = await turnOn(staff);
		const waiting = await beginSignIn(staff);
		const code = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
		equal((await browser.submit(OFF, { currentPassword: PASSWORD, code })).status, 303);
		for (const late of [backupCodes[1] ?? "", "123456"]) {
			equal((await waiting.submit("/sign-in/code", { code: late })).location, "/sign-in");
			equal(await challengesOf(staff), 0, "it stays ended if the authenticator is turned on again");
			equal((await waiting.open("/account")).status, 303);
		}
	});

	test("a code that was used already ends the sign-in, and a good code does not revive it", async () => {
		const staff = await site.addStaff();
		const { secret, backupCodes } = await turnOn(staff);
		const [first, second] = [await beginSignIn(staff), await beginSignIn(staff)];
		const used = { code: codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS) };
		equal((await first.submit("/sign-in/code", used)).location, "/");
		equal(await challengesOf(staff), 1);
		await second.submit("/sign-in/code", used);
		equal(await challengesOf(staff), 0, "whoever keeps the cookie cannot go on");
		for (const code of [backupCodes[0] ?? "", backupCodes[1] ?? ""]) {
			equal((await second.submit("/sign-in/code", { code })).location, "/sign-in", "it has ended");
		}
		equal((await second.open("/account")).status, 303);
	});

	test("if the audit entry cannot be written, turning the authenticator on or off fails and the session stays valid", async () => {
		const staff = await site.addStaff();
		const { browser, secret } = await begin(staff);
		const on = { code: codeAt(secret, site.deps.clock.nowMs()) };
		equal(await withoutAuditLog(() => browser.submit(CONFIRM, on)), 500);
		await isOff(staff);
		equal((await browser.open("/account")).status, 200);
		equal((await browser.submit(CONFIRM, on)).status, 303, "the code can still be used");
		await browser.open("/account");
		const off = { currentPassword: PASSWORD, code: codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS) };
		equal(await withoutAuditLog(() => browser.submit(OFF, off)), 500);
		await beginSignIn(staff);
		deepEqual(await notesOf(staff), ["authenticator.turned_on"]);
		await browser.open("/account");
		equal((await browser.submit(OFF, off)).status, 303);
		await isOff(staff);
		deepEqual(await notesOf(staff), ["authenticator.turned_on", "authenticator.turned_off"]);
		deepEqual(await setupsOf(staff), []);
	});

	test("turning the authenticator on or off replaces the session's token, does not extend the session, and makes the old token invalid", async () => {
		const staff = await site.addStaff();
		const { browser, secret } = await begin(staff);
		const [before] = await sessionsOf(staff);
		const changes = [
			[CONFIRM, { code: codeAt(secret, site.deps.clock.nowMs()) }],
			[OFF, { currentPassword: PASSWORD, code: codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS) }],
		] as const;
		for (const [path, fields] of changes) {
			const copied = site.browser();
			for (const [name, value] of browser.cookies) copied.cookies.set(name, value);
			equal((await copied.open("/account")).status, 200);
			equal((await browser.submit(path, fields)).status, 303);
			equal((await copied.open("/account")).status, 303);
			equal((await browser.open("/account")).status, 200);
		}
		const [after, ...others] = await sessionsOf(staff);
		deepEqual([after?.createdAtMs, others], [before?.createdAtMs, []]);
	});

	test("turning the authenticator on ends other sessions and trusted browsers, because they needed only the password", async () => {
		const staff = await site.addStaff();
		const thief = await site.signIn(staff);
		const known = thief.cookies.get(DEVICE_COOKIE) ?? "";
		notEqual(
			await findDevice(site.deps, staff.email, known),
			null,
			"the browser is trusted before the authenticator is turned on",
		);
		const { browser } = await turnOn(staff);
		equal((await thief.open("/programmes")).status, 303);
		equal((await browser.open("/programmes")).status, 200);
		equal(await findDevice(site.deps, staff.email, known), null);
		const own = browser.cookies.get(DEVICE_COOKIE) ?? "";
		notEqual(await findDevice(site.deps, staff.email, own), null, "this browser stays trusted");
	});

	test("if the code that turns the authenticator on is sent twice at once, one request succeeds and one audit entry is written", async () => {
		const staff = await site.addStaff();
		const { browser, secret } = await begin(staff);
		const on = { code: codeAt(secret, site.deps.clock.nowMs()) };
		const both = await Promise.all([browser.submit(CONFIRM, on), browser.submit(CONFIRM, on)]);
		// If the first request has already ended the session that both came with, the second one is redirected to the
		// sign-in page.
		const isDone = ({ status, location }: (typeof both)[number]) =>
			status === 303 && location?.startsWith("/sign-in") === false;
		equal(both.filter(isDone).length, 1);
		const code = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
		equal((await (await beginSignIn(staff)).submit("/sign-in/code", { code })).location, "/");
		deepEqual(await notesOf(staff), ["authenticator.turned_on"]);
	});

	test("if the session ends while the password and code are checked, the authenticator is not turned off", async () => {
		const staff = await site.addStaff();
		const { browser, secret } = await turnOn(staff);
		const [session] = await sessionsOf(staff);
		const owner = { personId: staff.id, kind: staff.kind, email: staff.email, sessionId: session?.id ?? "" };
		const late = withAfter(async () => {
			await endSessions(site.store.db, staff.id);
		});
		const proof = { password: PASSWORD, code: codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS) };
		const deps = { ...site.deps, auth: late };
		const answer = await removeAuthenticator(deps, owner, proof, visitorOf(browser));
		equal(answer.ok ? "off" : answer.fault.code, "not_allowed");
		await beginSignIn(staff);
		deepEqual(await sessionsOf(staff), []);
	});

	/**
	 * Returns an Auth that runs the given work after the password was checked and before the result is used.
	 */
	function withAfter(work: () => Promise<void>): Auth {
		const auth = createAuth(site.deps);
		return {
			...auth,
			async judgePassword(email, password) {
				const hash = await auth.judgePassword(email, password);
				await work();
				return hash;
			},
		};
	}

	/** Makes every write to the audit log fail while the work runs, as if the process ended at that moment. */
	async function withoutAuditLog(work: () => Promise<{ status: number }>): Promise<number> {
		const { schema } = site.store.db;
		await schema.alterTable("audit_entries").renameTo("audit_entries_away").execute();
		try {
			return (await work()).status;
		} finally {
			await schema.alterTable("audit_entries_away").renameTo("audit_entries").execute();
		}
	}

	function sessionsOf({ id }: Person) {
		return listSessions(site.store.db, id);
	}

	/** Returns how many sign-ins of a person wait for a code. */
	async function challengesOf({ id }: Person): Promise<number> {
		const waiting = site.store.db
			.selectFrom("sign_in_challenges")
			.select("token_hash")
			.where("person_id", "=", id);
		return (await waiting.execute()).length;
	}

	function setupsOf({ id }: Person) {
		return site.store.db.selectFrom("authenticators").select("secret").where("person_id", "=", id).execute();
	}

	async function begin(person: Person) {
		const browser = await site.signIn(person);
		return { browser, ...(await beginAuthenticator(browser)) };
	}

	async function turnOn(person: Person) {
		const browser = await site.signIn(person);
		const setup = await turnAuthenticatorOn(browser);
		await browser.open("/account");
		return { browser, ...setup };
	}

	/** Signs in with the password, so that only the authenticator code is missing. */
	async function beginSignIn(person: Person): Promise<Browser> {
		const browser = site.browser();
		equal((await enterPassword(browser, person)).location, "/sign-in/code");
		await browser.open("/sign-in/code");
		return browser;
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

function visitorOf(browser: Browser): Visitor {
	const cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
	return { cookies, address: "192.0.2.1", userAgent: "", device: "" };
}
