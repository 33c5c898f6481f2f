// Tests links that several processes create, use and withdraw while a person's access ends. A link can be
// used only before its creator loses access.

import { deepEqual, equal, ok } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { succeed } from "#core/domain/fault.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import type { PersonKind } from "#core/domain/roles.ts";
import { acceptSignInLink } from "#core/people/accept-sign-in-link.ts";
import type { SignedInPerson } from "#core/people/actor.ts";
import { type Auth, changeWithSession, revokeSessions } from "#core/people/auth.ts";
import { finishCompanySignIn, startCompanySignIn } from "#core/people/company-sign-in.ts";
import type { CompanySignIn } from "#core/people/deps.ts";
import { findDevice } from "#core/people/device-cookie.ts";
import { invite, inviteStaff, makePasswordLink } from "#core/people/invitations.ts";
import { changePassword } from "#core/people/passwords.ts";
import { createPerson } from "#core/people/people.ts";
import {
	changeRole,
	deactivateStaff,
	removePerson,
	renewProgrammeLink,
} from "#core/people/programme-people.ts";
import { signIn } from "#core/people/sign-in.ts";
import type { IdentityProvider } from "#core/ports.ts";
import { listTokensIssuedBy } from "#core/store/queries/api-tokens.ts";
import { findPasswordHash, setPassword } from "#core/store/queries/passwords.ts";
import type { Person } from "#core/store/queries/people.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import { endSession, insertSession, listSessions } from "#core/store/queries/sessions.ts";
import { isInvitedTo, listProgrammeInvitations } from "#core/store/queries/sign-in-links.ts";
import type { Store } from "#core/store/store.ts";
import { newEmail } from "#core/web/test-site.test-support.ts";
import { issueToken } from "#modules/token-api/use-cases/api-tokens.ts";
import { MAIL_OFF } from "../support/app-deps.ts";
import { createClock } from "../support/clock.ts";
import { mainlyOn } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { addProgramme } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";
import { signInAs } from "../support/signed-in.ts";

/**
 * Number of rounds. On PostgreSQL they are enough to produce each order of events, and they take only
 * seconds.
 */
const ROUNDS = 20;

interface SignedIn {
	person: Person;
	actor: SignedInPerson;
}

const NO_PASSWORDS: Auth = {
	hashPassword: async () => "",
	findSession: async () => null,
	judgePassword: async () => null,
};

/** An identity provider that vouches for one person, without any request. */
function vouchFor({ email }: Person): CompanySignIn {
	const provider: IdentityProvider = {
		issuer: "https://login.network.example",
		check: async () => ({ ok: true, value: true }),
		signInUrl: async ({ state }) => ({ ok: true, value: state }),
		identify: async () => ({ ok: true, value: { email, isEmailVerified: true } }),
		close: async () => undefined,
	};
	return { provider, label: "Company account", isRequiredForStaff: true, isForEveryone: false };
}

mainlyOn("PostgreSQL", "links while access ends", (database) => {
	test("a link that is created while its creator is deactivated does not outlive their access", async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const [boss, leaver] = [await addSignedIn("staff"), await addSignedIn("staff")];
			const made = Promise.all([
				makePasswordLink(depsOf(database.store), leaver.actor, boss.person.id, null),
				inviteStaff(depsOf(database.store), leaver.actor, newEmail("network")),
			]);
			const ended = deactivateStaff(depsOf(database.rival), boss.actor, leaver.person.public_id);
			const [links, removed] = await Promise.all([made, ended]);
			expectValue(removed);
			for (const link of links) ok(link.ok || link.fault.code === "not_allowed");
			deepEqual(await openLinksOf(leaver.person), []);
		}
	});

	test("an invitation that is created while its owner is removed does not outlive their access", async () => {
		const programme = await addProgramme(database.store);
		for (let round = 0; round < ROUNDS; round++) {
			const [owner, leaver] = [await addSignedIn("shop"), await addSignedIn("shop")];
			for (const { person } of [owner, leaver])
				await addToProgramme(database.store.db, programme.id, person.id, "owner");
			const [, removed] = await Promise.all([
				invite(
					depsOf(database.store),
					leaver.actor,
					{ kind: "programme", programme, role: "owner" },
					newEmail("shop"),
				),
				removePerson(depsOf(database.rival), owner.actor, programme, leaver.person.public_id),
			]);
			expectValue(removed);
			deepEqual(await openLinksOf(leaver.person), []);
		}
	});

	test("an invitation that is withdrawn while another owner sends it again stays withdrawn", async () => {
		const programme = await addProgramme(database.store);
		for (let round = 0; round < ROUNDS; round++) {
			const [owner, other] = [await addSignedIn("shop"), await addSignedIn("shop")];
			for (const { person } of [owner, other])
				await addToProgramme(database.store.db, programme.id, person.id, "owner");
			const email = newEmail("shop");
			const place = { kind: "programme", programme, role: "owner" } as const;
			expectValue(await invite(depsOf(database.store), owner.actor, place, email));
			const invitations = await listProgrammeInvitations(database.store.db, programme.id);
			const id = invitations.find((invitation) => invitation.email === email)?.public_id ?? "";
			const [renewed, withdrawn] = await Promise.all([
				renewProgrammeLink(depsOf(database.store), owner.actor, programme, id),
				removePerson(depsOf(database.rival), other.actor, programme, id),
			]);
			// Sending again gives the invitation another id, so the withdrawal then finds nothing.
			equal(await isInvitedTo(database.store.db, programme.id, email), !withdrawn.ok);
			equal(renewed.ok, !withdrawn.ok);
		}
	});

	test("an invitation that is created while its owner becomes a developer does not outlive the role", async () => {
		const programme = await addProgramme(database.store);
		for (let round = 0; round < ROUNDS; round++) {
			const [owner, lowered] = [await addSignedIn("shop"), await addSignedIn("shop")];
			for (const { person } of [owner, lowered]) {
				await addToProgramme(database.store.db, programme.id, person.id, "owner");
			}
			const place = { kind: "programme", programme, role: "owner" } as const;
			const [, changed] = await Promise.all([
				invite(depsOf(database.store), lowered.actor, place, newEmail("shop")),
				changeRole(depsOf(database.rival), owner.actor, programme, lowered.person.public_id, "developer"),
			]);
			expectValue(changed);
			deepEqual(await openLinksOf(lowered.person), []);
			const late = await invite(depsOf(database.store), lowered.actor, place, newEmail("shop"));
			equal(
				late.ok ? "invited" : late.fault.code,
				"not_allowed",
				"the role no longer allows it, although the session is valid",
			);
		}
	});

	test("a link that is created while its creator changes the password is ended", async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const [head, person] = [await addSignedIn("staff"), await addSignedIn("staff")];
			const auth = {
				hashPassword: async () => "another hash",
				findSession: async () => null,
				judgePassword: async () => "the present hash",
			};
			const change = {
				currentPassword: "the present one",
				newPassword: "another horse battery",
				keptTokens: [],
			};
			const visitor = { cookies: "", address: "", userAgent: "", device: "" };
			const [, changed] = await Promise.all([
				makePasswordLink(depsOf(database.store), person.actor, head.person.id, null),
				changePassword({ ...depsOf(database.rival), auth }, person.actor, change, visitor),
			]);
			expectValue(changed);
			deepEqual(await openLinksOf(person.person), []);
			const sessions = await sessionsOf(person.person);
			equal(sessions.length, 1, "only the session that changed the password is left");
			ok(sessions[0]?.id !== person.actor.sessionId, "the session has a new id");
			const late = await makePasswordLink(depsOf(database.store), person.actor, head.person.id, null);
			ok(!late.ok, "a copy of the old session creates no link");
		}
	});

	test("an API token that is issued while its issuer changes the password ends, or is not issued", async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const { person, actor } = await addSignedIn("staff");
			const { email } = person;
			const auth = { ...NO_PASSWORDS, judgePassword: async () => "the present hash" };
			const visitor = { cookies: "", address: `192.0.2.${round}`, userAgent: "", device: "" };
			const change = { currentPassword: "", newPassword: "another horse battery", keptTokens: [] };
			const alter = () => changePassword({ ...depsOf(database.rival), auth }, actor, change, visitor);
			// In every second round the change starts first.
			const early = round % 2 === 0 ? alter() : undefined;
			const input = { name: "Portal", right: "manage", days: "" };
			const proof = { password: "", code: "" };
			const [issued, changed] = await Promise.all([
				issueToken({ ...depsOf(database.store), auth }, { ...actor, email }, null, input, proof, visitor),
				early ?? alter(),
			]);
			expectValue(changed);
			if (!issued.ok) equal(issued.fault.code, "not_allowed");
			const nowMs = createClock().nowMs();
			deepEqual(await listTokensIssuedBy(database.store.db, person.id, { nowMs }), []);
		}
	});

	test("signing out of all other sessions also ends a session that gets a new token at that moment", async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const { person, actor } = await addSignedIn("staff");
			const other = `${person.public_id}-other`;
			const nowMs = Date.UTC(2026, 0, 15, 12);
			await insertSession(database.store.db, {
				id: other,
				tokenHash: other,
				personId: person.id,
				createdAtMs: nowMs,
				lastUsedAtMs: nowMs,
				expiresAtMs: nowMs,
				address: "",
				userAgent: "",
			});
			const renewing = { ...actor, sessionId: other };
			const [, ended] = await Promise.all([
				changeWithSession(
					depsOf(database.rival),
					renewing,
					{ email: person.email, device: "" },
					async (trx, session) => {
						await endSession(trx, session.id);
						return succeed(true);
					},
				),
				revokeSessions(depsOf(database.store), actor),
			]);
			expectValue(ended);
			deepEqual(
				(await sessionsOf(person)).map(({ id }) => id),
				[actor.sessionId],
			);
		}
	});

	test("a browser that is trusted while the password changes is trusted only for the password that was entered", async () => {
		const { person } = await addSignedIn("staff");
		const store: Store = {
			...database.store,
			async transact(work, options) {
				const done = await database.store.transact(work, options);
				await database.store.transact((trx) => setPassword(trx, person.id, "another hash", 0));
				return done;
			},
		};
		const auth = { ...NO_PASSWORDS, judgePassword: async () => "hash" };
		const visitor = { cookies: "", address: "192.0.2.1", userAgent: "", device: "" };
		const entered = { email: person.email, password: "the present one" };
		const { setCookies } = expectValue(
			await signIn({ ...depsOf(store), auth, companySignIn: null }, entered, visitor),
		);
		const cookie = /ringback\.device=([^;]+)/.exec(setCookies.join("\n"))?.[1] ?? "";
		equal(cookie === "", false);
		equal(await findDevice(depsOf(database.store), person.email, cookie), null);
		await database.store.transact((trx) => setPassword(trx, person.id, "hash", 0));
		equal((await findDevice(depsOf(database.store), person.email, cookie)) === null, false);
	});

	test("a person who signs in with the company's account while they are deactivated keeps no session", async () => {
		const redirectUri = "https://ringback.example/return";
		for (let round = 0; round < ROUNDS / 2; round++) {
			const [boss, leaver] = [await addSignedIn("staff"), await addSignedIn("staff")];
			const deps = { ...depsOf(database.store), auth: NO_PASSWORDS, companySignIn: vouchFor(leaver.person) };
			const visitor = { cookies: "", address: `192.0.2.${round}`, userAgent: "", device: "" };
			const { url, setCookies } = expectValue(
				await startCompanySignIn(deps, { next: "", redirectUri }, visitor),
			);
			const back = { ...visitor, cookies: setCookies.map((line) => line.split(";")[0]).join("; ") };
			const query = `?state=${url}`;
			const end = () => deactivateStaff(depsOf(database.rival), boss.actor, leaver.person.public_id);
			// In every second round the deactivation starts first.
			const early = round % 2 === 0 ? end() : undefined;
			const [entered, ended] = await Promise.all([
				finishCompanySignIn(deps, { query, redirectUri }, back),
				early ?? end(),
			]);
			expectValue(ended);
			if (!entered.ok) equal(entered.fault.code, "no_account");
			deepEqual(await sessionsOf(leaver.person), []);
		}
	});

	test("a link cannot be used after its creator was deactivated, even if both happen at once", async () => {
		const outcomes = new Set<string>();
		for (let round = 0; round < ROUNDS; round++) {
			const [boss, leaver] = [await addSignedIn("staff"), await addSignedIn("staff")];
			const token = await linkFor(leaver, boss.person);
			const end = () => deactivateStaff(depsOf(database.rival), boss.actor, leaver.person.public_id);
			// In every second round the deactivation starts first.
			const early = round % 2 === 0 ? end() : undefined;
			const [used, ended] = await Promise.all([accept(database.store, token), early ?? end()]);
			const hash = await hashOf(boss.person);
			outcomes.add(`${used.ok} ${ended.ok}`);
			equal(hash, used.ok ? "chosen" : "hash", "a refused link changes nothing");
			if (ended.ok) deepEqual(await openLinksOf(leaver.person), []);
			// If the deactivation failed, the link was used first. The boss's new password has ended the boss's old
			// session, which therefore cannot deactivate anybody.
			else ok(used.ok);
		}
		ok(!outcomes.has("false false"), [...outcomes].join());
	});

	test("people who use each other's links while both are deactivated cause no deadlock", async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const [boss, one, other] = [
				await addSignedIn("staff"),
				await addSignedIn("staff"),
				await addSignedIn("staff"),
			];
			const tokens = [await linkFor(one, other.person), await linkFor(other, one.person)];
			const [first = "", second = ""] = tokens;
			const results = await Promise.all([
				accept(database.store, first),
				deactivateStaff(depsOf(database.rival), boss.actor, one.person.public_id),
				accept(database.rival, second),
				deactivateStaff(depsOf(database.store), boss.actor, other.person.public_id),
			]);
			ok(results[1].ok && results[3].ok);
			for (const { person } of [one, other]) {
				deepEqual(await openLinksOf(person), []);
				equal(await hashOf(person), undefined, "the account has no password, even if a link was used");
			}
		}
	});

	test("a link that two people use at once works for one of them", async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const [boss, person] = [await addSignedIn("staff"), await addSignedIn("staff")];
			const token = await linkFor(boss, person.person);
			const used = await Promise.all([accept(database.store, token), accept(database.rival, token)]);
			deepEqual(used.map(({ ok: isUsed }) => isUsed).toSorted(), [false, true]);
		}
	});

	async function addSignedIn(kind: PersonKind): Promise<SignedIn> {
		const organisation = kind === "staff" ? "network" : "shop";
		const made = await createPerson(depsOf(database.store), { email: newEmail(organisation), kind });
		const person = expectValue(made);
		return { person, actor: await signInAs(database.store, person) };
	}

	async function linkFor({ actor }: SignedIn, person: Person): Promise<string> {
		const { link } = expectValue(await makePasswordLink(depsOf(database.store), actor, person.id, null));
		return link?.split("/").at(-1) ?? "";
	}

	function accept(store: Store, token: string) {
		const auth = { hashPassword: async () => "chosen" };
		const entered = { email: "", name: "", password: "another horse battery" };
		return acceptSignInLink({ ...depsOf(store), auth }, token, entered);
	}

	function sessionsOf({ id }: Person): Promise<{ id: string }[]> {
		return listSessions(database.store.db, id);
	}

	/** Returns the valid links that the person has created, and those created for the person. */
	function openLinksOf({ id }: Person): Promise<object[]> {
		return database.store.db
			.selectFrom("sign_in_links")
			.selectAll()
			.where((eb) => eb.or([eb("made_by", "=", id), eb("person_id", "=", id)]))
			.where("withdrawn", "is", null)
			.execute();
	}

	function hashOf({ email }: Person): Promise<string | undefined> {
		return findPasswordHash(database.store.db, email);
	}
});

function depsOf(store: Store) {
	const log = createLog();
	return {
		store,
		log,
		clock: createClock(),
		random: {
			bytes: (count: number) => randomBytes(count),
			hex: (count: number) => randomBytes(count).toString("hex"),
		},
		keyRing: createKeyRing([new Uint8Array(32)]),
		mails: MAIL_OFF,
		publicUrl: "https://ringback.example",
	};
}
