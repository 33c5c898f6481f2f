// Tests signing in, from the first link to the last code, on both databases.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { inviteStaff } from "#core/people/invitations.ts";
import { useLimits } from "#core/people/limits.ts";
import { makeFirstStaffPath } from "#core/people/sign-in-links.ts";
import { markCodeSpent } from "#core/store/queries/authenticators.ts";
import { countUse, readUses, resetUses, uncountUse } from "#core/store/queries/limit-counts.ts";
import type { Person } from "#core/store/queries/people.ts";
import { pruneAccess, pruneShortLived } from "#core/store/queries/prune.ts";
import { insertChallenge, listSessions } from "#core/store/queries/sessions.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "#core/web/account/totp.test-support.ts";
import { createTestSite, NEW_PASSWORD, newEmail, PASSWORD } from "#core/web/test-site.test-support.ts";
import { mainlyOn } from "../support/databases.ts";
import { enterPassword } from "./access-setup.ts";

mainlyOn("SQLite", "signing in", (database) => {
	test("the first link, an invitation, sessions, a new password and an authenticator all work", async () => {
		const site = createTestSite(database.store, { hasMail: true });
		const path = (await makeFirstStaffPath(site.deps)) ?? "";
		const browser = site.browser();
		await browser.open(path);
		const email = newEmail("network");
		const joined = await browser.submit(path, { email, name: "Fay", password: PASSWORD });
		deepEqual([joined.status, joined.location], [303, "/network"]);
		equal((await site.browser().open(path)).status, 410);
		equal(await makeFirstStaffPath(site.deps), null, "the link for the first staff exists once");

		const elsewhere = await site.signIn({ email });
		match((await browser.open("/account")).text, /Sign out everywhere else/);
		await browser.submit("/account/sessions/end-others", {});
		equal((await elsewhere.open("/account")).status, 303);

		await elsewhere.open("/forgot-password");
		await elsewhere.submit("/forgot-password", { email });
		const reset = /(\/welcome\/\w+)$/m.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
		equal((await elsewhere.submit(reset, { password: NEW_PASSWORD })).location, "/programmes");
		equal((await site.browser().open(reset)).status, 410);
		equal((await browser.open("/account")).status, 303);
		equal((await enterPassword(browser, { email }, NEW_PASSWORD)).location, "/");

		const { secret, usedCode } = await turnAuthenticatorOn(elsewhere, NEW_PASSWORD);
		const fresh = site.browser();
		equal((await enterPassword(fresh, { email }, NEW_PASSWORD)).location, "/sign-in/code");
		await fresh.open("/sign-in/code");
		const spent = await fresh.submit("/sign-in/code", { code: usedCode });
		equal(spent.location, "/sign-in", "the code was used to turn the authenticator on");
		await enterPassword(fresh, { email }, NEW_PASSWORD);
		const next = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
		equal((await fresh.submit("/sign-in/code", { code: next })).location, "/");
		equal((await fresh.open("/account")).status, 200);
		deepEqual(
			site.log.lines.filter(({ level }) => level === "error"),
			[],
		);
	});

	test("guesses from one address are limited whatever headers it sends, and all processes share the limit", async () => {
		const [site, rival] = [createTestSite(database.store), createTestSite(database.rival)];
		for (let guess = 0; guess < 22; guess++) {
			const headers = {
				"x-forwarded-for": `192.0.2.${guess}`,
				"x-ringback-client-address": `192.0.2.${guess}`,
			};
			const browser = (guess % 2 === 0 ? site : rival).browser({ address: "203.0.113.50", headers });
			const answer = await enterPassword(browser, { email: `${guess}@b.example` }, "x");
			equal(answer.status, guess < 20 ? 401 : 429, `guess ${guess}`);
		}
	});

	test("a session that one process created is valid in the other, and a sign-out ends it in both", async () => {
		const [site, rival] = [createTestSite(database.store), createTestSite(database.rival)];
		const browser = await site.signIn(await site.addStaff());
		const moved = rival.browser();
		for (const [name, value] of browser.cookies) moved.cookies.set(name, value);
		equal((await moved.open("/account")).status, 200);
		await moved.submit("/sign-out", {});
		equal((await browser.open("/account")).status, 303);
	});

	test("an authenticator code works once, even if two requests use it at the same time, and is forgotten when it expires", async () => {
		const spend = (store: typeof database.store, nowMs: number) =>
			store.transact((trx) => markCodeSpent(trx, 4_711, "hash", { nowMs, expiresAtMs: nowMs + 1_000 }));
		const together = await Promise.all([spend(database.store, 0), spend(database.rival, 0)]);
		deepEqual(together.toSorted(), [false, true]);
		equal(await spend(database.store, 1_000), false);
		equal(await spend(database.store, 1_001), true);
	});

	test("expired sessions, challenges and links are removed, and others stay", async () => {
		const site = createTestSite(database.store, { hasMail: true });
		const staff = await site.addStaff();
		const browser = await site.signIn(staff);
		await browser.open("/account");
		const away = site.browser();
		await away.open("/forgot-password");
		await away.submit("/forgot-password", { email: staff.email });
		await inviteStaff(site.deps, COMMAND_LINE, newEmail("network"));
		const { db } = database.store;
		const expiresAtMs = site.deps.clock.nowMs() + 600_000;
		await insertChallenge(db, { tokenHash: "hash", personId: staff.id, expiresAtMs });
		const tables = ["sessions", "sign_in_challenges", "sign_in_links"] as const;
		const counts = async () =>
			Promise.all(
				tables.map(async (table) => (await db.selectFrom(table).select("token_hash").execute()).length),
			);
		const before = await counts();
		const nowMs = site.deps.clock.nowMs();
		await pruneAccess(database.store, nowMs);
		deepEqual(await counts(), before);
		ok(before.every((count) => count > 0));
		await pruneAccess(database.store, nowMs + 8 * DAY_MS);
		deepEqual(await counts(), [0, 0, 0]);
		equal((await browser.open("/account")).status, 303);
	});

	test("a limit counts uses within its window, starts again after the window, and holds for many uses at once", async () => {
		const { db } = database.store;
		const limit = { max: 2, windowMs: 1_000 };
		const count = (subject: string, nowMs: number) => countUse(db, subject, limit, nowMs);
		for (const [nowMs, isCounted] of [
			[5_000, true],
			[5_999, true],
			[5_999, false],
		] as const) {
			equal(await count("a", nowMs), isCounted);
		}
		deepEqual(await usesOf("a", 5_999), { uses: 2, endsAtMs: 6_000 }, "a refused use is not counted");
		equal(await usesOf("a", 6_000), undefined);
		equal(await count("a", 6_000), true);
		deepEqual(await usesOf("a", 6_000), { uses: 1, endsAtMs: 7_000 });
		const both = [db, database.rival.db];
		const twenty = { max: 20, windowMs: 1_000 };
		const many = await Promise.all(
			Array.from({ length: 20 }, () => both.map((one) => countUse(one, "b", twenty, 5_000))).flat(),
		);
		equal(many.filter((isCounted) => isCounted).length, 20);
		await uncountUse(db, "b");
		equal((await usesOf("b", 5_000))?.uses, 19);
		await resetUses(db, "b");
		equal(await usesOf("b", 5_000), undefined);
		await count("b", 5_000);
		await pruneShortLived({ db }, 6_500);
		const left = db.selectFrom("limit_counts").select("subject").where("subject", "in", ["a", "b"]);
		equal((await left.execute()).length, 1);
	});

	test("uses of several limits are counted together or not at all", async () => {
		const { db } = database.store;
		const text = "Wait: {when}.";
		const [wide, narrow] = [
			{ name: "wide", max: 10, windowMs: 90_000, text },
			{ name: "narrow", max: 3, windowMs: 30_000, text },
		];
		const use = { limit: wide, subject: "x" };
		const uses = [{ limit: narrow, subject: "x" }, use];
		const taken = await Promise.all(
			Array.from({ length: 12 }, (_, index) =>
				useLimits((index % 2 === 0 ? database.store : database.rival).db, uses, 5_000),
			),
		);
		equal(taken.filter((refused) => refused === null).length, 3);
		for (const refused of taken) ok(refused === null || refused.fault.detail === "Wait: in 30 seconds.");
		for (let count = 0; count < 7; count += 1) equal(await useLimits(db, [use], 5_000), null);
		const refused = await useLimits(db, [use], 5_000);
		equal(refused?.fault.detail, "Wait: in 2 minutes.", "three were counted, not twelve");
		equal((await useLimits(db, [use], 94_500))?.fault.detail, "Wait: in a second.");
	});

	test("a session ends thirty days after signing in, even if it is used and its token is changed", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		const browser = await site.signIn(staff);
		const signedInAtMs = site.deps.clock.nowMs() - 29 * DAY_MS;
		await moveSignIn(staff, signedInAtMs);
		const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
		await browser.open("/account");
		equal((await browser.submit("/account/password", change)).status, 303);
		const { secret } = await turnAuthenticatorOn(browser, NEW_PASSWORD);
		await browser.open("/account");
		const off = {
			currentPassword: NEW_PASSWORD,
			code: codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS),
		};
		equal((await browser.submit("/account/authenticator/off", off)).status, 303);
		deepEqual(
			await signInTimes(staff),
			[signedInAtMs],
			"three new tokens do not change the time of the sign-in",
		);
		const page = await browser.open("/account");
		match(page.text, /A session ends after 7 days without use, and 30 days after signing in\./);
		site.moveClock(signedInAtMs + 30 * DAY_MS - 1 - site.deps.clock.nowMs());
		equal((await browser.open("/programmes")).status, 200);
		site.moveClock(1);
		equal((await browser.open("/programmes")).status, 303);
		deepEqual(await signInTimes(staff), [], "the session is removed");
	});

	test("signing in again starts another thirty days, and the list of sessions leaves out expired ones", async () => {
		const site = createTestSite(database.store);
		const staff = await site.addStaff();
		const [old, browser] = [await site.signIn(staff), await site.signIn(staff)];
		await old.open("/account");
		await moveSignIn(staff, site.deps.clock.nowMs() - 29 * DAY_MS);
		await old.submit("/sign-in", { email: staff.email, password: PASSWORD });
		ok(
			(await signInTimes(staff)).some((atMs) => atMs > site.deps.clock.nowMs() - DAY_MS),
			"this also holds for a browser whose session is still valid",
		);
		await moveSignIn(staff, site.deps.clock.nowMs() - 30 * DAY_MS);
		await old.open("/sign-in");
		const again = await old.submit("/sign-in", { email: staff.email, password: PASSWORD });
		equal(again.status, 303);
		const page = await old.open("/account");
		equal(page.status, 200);
		doesNotMatch(page.text, /Sign out everywhere else/, "the other session has expired");
		equal((await browser.open("/account")).status, 303);
		await moveSignIn(staff, site.deps.clock.nowMs() - 30 * DAY_MS);
		await pruneAccess(database.store, site.deps.clock.nowMs());
		deepEqual(await signInTimes(staff), []);
	});

	test("if two people accept an owner's invitation at the same moment, one succeeds", async () => {
		const site = createTestSite(database.store, { hasMail: true });
		const programme = await site.addProgramme();
		const owner = await site.signIn(await site.addOwner(programme));
		await owner.open(`/programmes/${programme.public_id}/people`);
		const email = newEmail("shop");
		await owner.submit(`/programmes/${programme.public_id}/people/invite`, { email, role: "owner" });
		const link = /(\/welcome\/\w+)/.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
		const readers = [site.browser(), site.browser()];
		for (const reader of readers) await reader.open(link);
		const answers = await Promise.all(
			readers.map((reader) => reader.submit(link, { name: "Otto", password: PASSWORD })),
		);
		deepEqual(answers.map(({ status }) => status).toSorted(), [303, 410]);
		equal(
			(await (await site.signIn({ email })).open(`/programmes/${programme.public_id}/people`)).status,
			200,
		);
	});

	async function usesOf(subject: string, nowMs: number) {
		return (await readUses(database.store.db, [subject], nowMs)).get(subject);
	}

	async function moveSignIn({ id }: Person, toMs: number): Promise<void> {
		const sessions = database.store.db.updateTable("sessions").where("person_id", "=", id);
		await sessions.set({ created_at_ms: toMs }).execute();
	}

	async function signInTimes({ id }: Person): Promise<number[]> {
		return (await listSessions(database.store.db, id)).map(({ createdAtMs }) => createdAtMs);
	}
});
