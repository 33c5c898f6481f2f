// Tests every way in which a person loses access. Their sessions, links and keys must end, and those of other
// people must still work.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { type Auth, createAuth } from "#core/people/auth.ts";
import { makeOperatorLink } from "#core/people/invitations.ts";
import { signIn } from "#core/people/sign-in.ts";
import { findPasswordHash, setPassword } from "#core/store/queries/passwords.ts";
import type { Person } from "#core/store/queries/people.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import { listSessions } from "#core/store/queries/sessions.ts";
import {
	type Browser,
	createTestSite,
	NEW_PASSWORD,
	PASSWORD,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { createApp } from "../../src/app.ts";
import { makeAppDeps } from "../support/app-deps.ts";
import { createClock } from "../support/clock.ts";
import { mainlyOn } from "../support/databases.ts";
import { addAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";
import {
	type AccessSetup,
	askByMail,
	assertLinkDead,
	type Holdings,
	holdEverything,
	openAccessSetup,
	peopleOf,
	submitForLink,
} from "./access-setup.ts";

interface Case {
	site: TestSite;
	setup: AccessSetup;
	person: Person;
	held: Holdings;
}

interface Way {
	what: string;
	kind: Person["kind"];
	lose(given: Case): Promise<Lost>;
	/**
	 * Beginning of the message that the person who caused the loss of access sees next. The number of ended
	 * sessions and links follows.
	 */
	says(given: Case): string;
}

interface Lost {
	/** Browsers whose sessions stay valid after the change. */
	goOn: readonly Browser[];
	/** Text of the page that the person who caused the loss of access sees next. */
	page: string;
}

const LEFT_ACCESS = "Olga Owner&#39;s access ended: ";
const CHANGED = "Your password is changed. ";

const WAYS: readonly Way[] = [
	{
		what: "staff are deactivated",
		kind: "staff",
		lose: ({ setup, person }) =>
			submit(setup.bossBrowser, `/people/${person.public_id}/deactivate`, { next: "/people" }),
		says: () => "Sam Staff&#39;s access ended: ",
	},
	{
		what: "an owner is removed by another",
		kind: "shop",
		lose: ({ setup, person }) =>
			submit(setup.colleagueBrowser, `${peopleOf(setup.programme)}/${person.public_id}/remove`, {
				next: peopleOf(setup.programme),
			}),
		says: () => LEFT_ACCESS,
	},
	{
		what: "an owner is removed by staff",
		kind: "shop",
		lose: ({ setup, person }) =>
			submit(setup.bossBrowser, `${peopleOf(setup.programme)}/${person.public_id}/remove`, {
				next: peopleOf(setup.programme),
			}),
		says: () => LEFT_ACCESS,
	},
	{
		what: "an owner leaves",
		kind: "shop",
		lose: ({ setup, held }) =>
			submit(held.sessions[0], `${peopleOf(setup.programme)}/leave`, { next: "/sign-in" }),
		says: ({ setup }) => `You left ${setup.programme.name}. `,
	},
	{
		what: "an owner of two programmes is removed from one",
		kind: "shop",
		async lose({ site, setup, person }) {
			await addToProgramme(site.store.db, setup.other.id, person.id, "owner");
			return submit(setup.bossBrowser, `${peopleOf(setup.programme)}/${person.public_id}/remove`, {
				next: peopleOf(setup.programme),
			});
		},
		says: () => LEFT_ACCESS,
	},
	...(["staff", "shop"] as const).flatMap((kind): Way[] => [
		{
			what: `${kind} change the password under Account`,
			kind,
			async lose({ held }) {
				const [here] = held.sessions;
				const fields = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
				const { page } = await submit(here, "/account/password", { fields, next: "/account" });
				return { goOn: here === undefined ? [] : [here], page };
			},
			says: () => CHANGED,
		},
		{
			what: `${kind} choose a new password by mail`,
			kind,
			lose: async ({ site, person }) => choosePassword(site, await askByMail(site, person)),
			says: () => CHANGED,
		},
		{
			what: `${kind} choose a new password by a link of the staff`,
			kind,
			async lose({ site, setup, person }) {
				const people = kind === "staff" ? "/people" : peopleOf(setup.programme);
				const path = `${people}/${person.public_id}/link`;
				return choosePassword(site, await submitForLink(site, setup.bossBrowser, path));
			},
			says: () => CHANGED,
		},
		{
			what: `${kind} choose a new password by \`ringback user link\``,
			kind,
			async lose({ site, person }) {
				const made = await makeOperatorLink(site.deps, person.id, { bypassesCompanySignIn: false });
				return choosePassword(site, made.ok ? new URL(made.value.link ?? "").pathname : "");
			},
			says: () => CHANGED,
		},
	]),
];

mainlyOn("PostgreSQL", "access that ends", (database) => {
	let site: TestSite;
	let setup: AccessSetup;

	before(async () => {
		site = createTestSite(database.store, { hasMail: true });
		setup = await openAccessSetup(site);
	});

	for (const { what, kind, lose, says } of WAYS) {
		test(`${what}: sessions and links of that person end, the page says so, and those of others still work`, async () => {
			const person = kind === "staff" ? await site.addStaff() : await site.addOwner(setup.programme);
			const held = await holdEverything(site, setup, person);
			const given = { site, setup, person, held };
			const { goOn, page } = await lose(given);
			for (const browser of held.sessions) {
				const isIn = (await browser.open("/account")).status === 200;
				equal(isIn, goOn.includes(browser), "only the session in which a password is changed stays valid");
			}
			equal((await held.challenge.submit("/sign-in/code", { code: held.nextCode() })).location, "/sign-in");
			equal(
				(await held.challenge.open("/account")).status,
				303,
				"a sign-in that waited for a code gives no access",
			);
			for (const [link, path] of held.links) await assertLinkDead(site, path, link);
			const told = await site.store.db
				.selectFrom("audit_entries")
				.selectAll()
				.where("action", "=", "access.ended")
				.where("subject", "=", person.email)
				.execute();
			equal(told.length, 1);
			match(told[0]?.detail ?? "", /^\d sessions? and \d links? were ended$/);
			const [, said = page] = page.split(says(given));
			equal(
				said.startsWith(`${told[0]?.detail}.`),
				true,
				`${said.slice(0, 400)}\nis not\n${told[0]?.detail}`,
			);
			for (const [link, path] of setup.bystanders.links) {
				equal((await site.browser().open(path)).status, 200, link);
			}
			for (const browser of setup.bystanders.sessions) equal((await browser.open("/account")).status, 200);
		});
	}

	for (const kind of ["shop", "staff"] as const) {
		test(`when the access of ${kind} ends, their prepared secret and their API keys end, except keys that are not ticked`, async () => {
			const { db } = site.store;
			const programme = await site.addProgramme("Keys");
			const { public_id: programmeId, id } = programme;
			await site.addOwner(programme);
			const person = kind === "staff" ? await site.addStaff() : await site.addPerson(programme, "developer");
			const browser = await site.signIn(person);
			const keys = `/programmes/${programmeId}/integration/keys`;
			for (const name of ["Mine", "Shop", "Late"]) await browser.submit(keys, { name });
			await setup.bossBrowser.submit(keys, { name: "Boss" });
			await browser.submit(`${keys}/secret`, {});
			const rows = await db.selectFrom("api_keys").selectAll().where("programme_id", "=", id).execute();
			deepEqual(
				rows.map(({ key_right, issued_by }) => [key_right, issued_by === person.id]),
				[...[1, 2, 3].map(() => ["report", true]), ["report", false]],
			);
			const [mine = "", shop = ""] = rows.map(({ public_id }) => public_id);
			const path =
				kind === "staff"
					? `/people/${person.public_id}/deactivate`
					: `/programmes/${programmeId}/people/${person.public_id}/remove`;
			const { text } = await setup.bossBrowser.open(path);
			match(text, /1 session ends[\s\S]*prepared signing secret <code>rbs_…\w{4}<\/code> is discarded/);
			for (const name of ["Mine", "Shop", "Late"]) match(text, new RegExp(`>${name}</span>`));
			doesNotMatch(text, />Boss<\/span>/);
			// The form does not list the key "Late", as if that key was issued after the page was shown. A key that
			// the form does not list ends, too.
			const fields = new URLSearchParams([...[mine, shop].map((key) => ["listed", key]), ["end", mine]]);
			const announced: (number | null)[] = [];
			site.store.onChange((changed) => announced.push(changed));
			equal((await setup.bossBrowser.submitForm(path, fields)).status, 303);
			ok(announced.includes(id), "the change is announced, so that cached keys end at once");
			const after = await db
				.selectFrom("api_keys")
				.select(["name", "revoked_at_ms"])
				.where("programme_id", "=", id)
				.execute();
			deepEqual(
				after.filter(({ revoked_at_ms }) => revoked_at_ms === null).map(({ name }) => name),
				["Shop", "Boss"],
			);
			const secrets = await db
				.selectFrom("signing_secrets")
				.selectAll()
				.where("receiver_id", "=", programme.receiver_id)
				.execute();
			deepEqual(
				secrets.map(({ activated_at_ms, ended_at_ms }) => [activated_at_ms !== null, ended_at_ms !== null]),
				[
					[true, false],
					[false, true],
				],
			);
			const audit = db.selectFrom("audit_entries").select("action").where("programme_id", "=", id);
			const actions = (await audit.execute()).map(({ action }) => action);
			equal(actions.filter((action) => action === "key.revoked").length, 2);
			equal(actions.filter((action) => action === "secret.discarded").length, 1);
		});
	}

	test("an open event stream in another process ends within a second after the person who issued its key is removed", async () => {
		const { programme, apiKey, secret } = await addAccount(site.deps);
		const person = await site.addPerson(programme, "developer");
		const keys = `/programmes/${programme.public_id}/integration/keys`;
		const issued = await (await site.signIn(person)).submit(keys, { name: "Mine" });
		const ownKey = /rbk_[0-9a-f]+/.exec(issued.text)?.[0] ?? "";
		const clock = createClock(site.deps.clock.nowMs());
		const app = createApp(makeAppDeps({ ...site.deps, store: database.rival, clock }));
		const [mine, shops] = await Promise.all(
			[ownKey, apiKey].map(async (key) => {
				const request = signedRequest("GET", "/v1/events", { key, secret }, { nowMs: clock.nowMs() });
				const answer = await app.request(request);
				equal(answer.status, 200);
				return readToEnd(answer);
			}),
		);
		/** Moves the clock and waits until both streams have looked for events, or have ended. */
		const moveBy = async (ms: number) => {
			await clock.moveBy(ms);
			await until(() => clock.waitingTimers === (mine?.hasEnded === true ? 1 : 2));
		};
		await moveBy(0);
		const remove = `/programmes/${programme.public_id}/people/${person.public_id}/remove`;
		equal((await setup.bossBrowser.submit(remove, {})).status, 303);
		await moveBy(500);
		await moveBy(500);
		deepEqual([mine?.hasEnded, shops?.hasEnded], [true, false]);
		await shops?.cancel();
	});

	test("links and sign-ins of unrelated people still work after everybody else has lost access", async () => {
		const { links, challenge, nextCode } = setup.bystanders;
		equal((await challenge.submit("/sign-in/code", { code: nextCode() })).location, "/");
		const used: number[] = [];
		for (const [what, path] of links) {
			const reader = site.browser();
			await reader.open(path);
			// Using one of a person's two password links ends the other; see "Sign-in links" in
			// docs/decisions/ending-access.md.
			const answer = await reader.submit(path, { name: "Nora", password: NEW_PASSWORD });
			if (!/for them|by mail/.test(what)) equal(answer.status, 303, what);
			used.push(answer.status);
		}
		deepEqual(used.filter((status) => status === 303).length, links.size - 1);
	});

	for (const hasAuthenticator of [false, true]) {
		test(`an old password that is entered while it is being changed lets nobody in, ${hasAuthenticator ? "with" : "without"} an authenticator`, async () => {
			const person = hasAuthenticator ? setup.bystander : await site.addStaff();
			const auth = createAuth(site.deps);
			const late = changesPasswordAfter(auth, person);
			const before = await openOf(person);
			const visitor = { cookies: "", address: "192.0.2.1", userAgent: "", device: "" };
			const hash = (await findPasswordHash(site.store.db, person.email)) ?? "";
			// The previous test has given the bystander a new password through a link.
			const password = hasAuthenticator ? NEW_PASSWORD : PASSWORD;
			const entered = { email: person.email, password };
			const answer = await signIn({ ...site.deps, auth: late }, entered, visitor);
			await site.store.transact((trx) => setPassword(trx, person.id, hash, 0));
			equal(answer.ok ? "let in" : answer.fault.code, "wrong_credentials");
			const after = await openOf(person);
			deepEqual(after, before);
		});
	}

	/**
	 * Returns an Auth that changes the password after it was checked and before a session or challenge is
	 * created.
	 */
	function changesPasswordAfter(auth: Auth, person: Person): Auth {
		return {
			...auth,
			async judgePassword(email, password) {
				const hash = await auth.judgePassword(email, password);
				equal(hash === null, false);
				await site.store.transact((trx) => setPassword(trx, person.id, "another hash", 0));
				return hash;
			},
		};
	}

	async function openOf({ id }: Person) {
		const { db } = site.store;
		const sessions = await listSessions(db, id);
		const challenges = db.selectFrom("sign_in_challenges").select("token_hash").where("person_id", "=", id);
		return { sessions: sessions.length, challenges: (await challenges.execute()).length };
	}
});

/** Reads a stream in the background. */
function readToEnd({ body }: Response) {
	const reader = body?.getReader();
	const stream = { hasEnded: false, cancel: () => reader?.cancel() };
	void (async () => {
		while ((await reader?.read())?.done === false);
		stream.hasEnded = true;
	})();
	return stream;
}

async function submit(
	browser: Browser | undefined,
	path: string,
	{ fields = {}, next }: { fields?: Readonly<Record<string, string>>; next: string },
): Promise<Lost> {
	await browser?.open("/account");
	const answer = await browser?.submit(path, fields);
	equal(answer?.status, 303, answer?.text ?? "");
	return { goOn: [], page: (await browser?.open(next))?.text ?? "" };
}

/**
 * Chooses a new password with the link. Every person in these tests has an authenticator, so the next page
 * asks for a code.
 */
async function choosePassword(site: TestSite, link: string): Promise<Lost> {
	const reader = site.browser();
	await reader.open(link);
	const used = await reader.submit(link, { password: NEW_PASSWORD });
	deepEqual([used.status, used.location], [303, "/sign-in/code"]);
	const page = (await reader.open("/sign-in/code")).text;
	equal((await reader.open("/account")).status, 303, "the link alone does not sign in");
	return { goOn: [], page };
}
