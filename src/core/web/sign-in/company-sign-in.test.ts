import assert from "node:assert/strict";
import { after, afterEach, before, describe, type TestContext, test } from "node:test";
import { addPartner } from "#modules/partners/web/partner-shop.test-support.ts";
import {
	CLIENT_ID,
	CLIENT_SECRET,
	OTHER_CLIENT_ID,
	startIdentityProvider,
	type TestProvider,
} from "../../../../test/support/identity-provider.ts";
import { createIdentityProvider } from "../../../outside/identity-provider.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import { COMMAND_LINE } from "../../people/actor.ts";
import { makeOperatorLink, renewLink } from "../../people/invitations.ts";
import { createPerson } from "../../people/people.ts";
import { turnAuthenticatorOn } from "../account/totp.test-support.ts";
import {
	type Browser,
	LINK,
	NEW_PASSWORD,
	newEmail,
	openTestSite,
	PASSWORD,
	SESSION_COOKIE,
	type Shown,
	type SiteOptions,
	START_MS,
	type TestSite,
} from "../test-site.test-support.ts";

const LABEL = "Sign in with Acme";
const START = "/sign-in/company";
const RETURN = "/sign-in/company/return";
/** Name of the person's account at the provider. The name is not an email address, because only the claims count. */
const ACCOUNT = "sam";

const FOR_EVERYONE = { isRequiredForStaff: false, isForEveryone: true };

type CompanySiteOptions = Omit<SiteOptions, "change"> & {
	isRequiredForStaff?: boolean;
	isForEveryone?: boolean;
	deadlineMs?: number;
};
type Claims = Parameters<TestProvider["accounts"]["set"]>[1];
type Refusal = readonly [status: number, code: string, sentence: RegExp];

const NOT_VERIFIED: Refusal = [403, "address_not_verified", /did not confirm your email address/];
const NOT_ACCEPTED: Refusal = [401, "provider_not_accepted", /could not be accepted\..*Start over/];
const SIGN_IN_OVER: Refusal = [410, "sign_in_over", /took longer than ten minutes.*Start over/];
const UNAVAILABLE: Refusal = [503, "provider_unavailable", /Try again in a few minutes/];

describe("sign-in with the company's account", () => {
	let provider: TestProvider;
	before(async () => {
		provider = await startIdentityProvider();
		provider.register(`https://ringback.example${RETURN}`);
	});
	afterEach(() => provider.reset());
	after(() => provider.close());

	/** Opens a site whose people can sign in with the provider. */
	function openCompanySite(
		t: TestContext,
		{ isRequiredForStaff = false, isForEveryone = false, deadlineMs, ...options }: CompanySiteOptions = {},
	): Promise<TestSite> {
		const { issuer } = provider;
		const client = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, deadlineMs };
		const identityProvider = createIdentityProvider({ issuer, ...client });
		t.after(() => identityProvider.close());
		const companySignIn = { provider: identityProvider, label: LABEL, isRequiredForStaff, isForEveryone };
		return openTestSite(t, { ...options, change: { companySignIn } });
	}

	/** Goes to the provider and back. Resolves to the path to which the provider sends the browser. */
	async function visitProvider(browser: Browser, account: string | null, path = START): Promise<string> {
		const started = await browser.open(path);
		assert.equal(started.status, 303, started.text);
		return pathOf(await provider.walk(started.location ?? "", account));
	}

	async function signInThere(browser: Browser, path = START): Promise<Shown> {
		return browser.open(await visitProvider(browser, ACCOUNT, path));
	}

	test("a person is let in by their verified address and led to the page they asked for", async (t) => {
		const site = await openCompanySite(t);
		const staff = await site.addStaff("sam@network.example");
		provider.accounts.set(ACCOUNT, { email: "Sam@Network.example", email_verified: true });
		const browser = site.browser({ headers: { "user-agent": "Mozilla/5.0 (X11; Linux) Firefox/140.0" } });
		const turned = await browser.open("/account?a=1&b=2");
		const page = await browser.open(turned.location ?? "");
		const [, href = ""] = /href="(\/sign-in\/company[^"]*)"[^>]*>Sign in with Acme</.exec(page.text) ?? [];
		const answer = await signInThere(browser, href.replaceAll("&amp;", "&"));
		assert.deepEqual([answer.status, answer.location], [303, "/account?a=1&b=2"]);
		const account = await browser.open("/account");
		assert.match(account.text, /Firefox on Linux[\s\S]*This one/);
		const [signedIn, ...others] = await site.audit("person.signed_in");
		assert.deepEqual([signedIn?.person_id, signedIn?.detail, others], [staff.id, provider.issuer, []]);

		assert.equal((await browser.open(START)).location, "/", "somebody who is signed in stays here");
		await browser.submit("/sign-out", {});
		assert.equal((await browser.open("/account")).status, 303);
		assert.equal((await site.audit("person.signed_out")).length, 1);
	});

	test("the address may be in the ID token, and people of shops are let in if the setting says everyone", async (t) => {
		const other = await startIdentityProvider({ isEmailInToken: true });
		t.after(() => other.close());
		other.register(`https://ringback.example${RETURN}`);
		const identityProvider = createIdentityProvider({
			issuer: other.issuer,
			clientId: CLIENT_ID,
			clientSecret: CLIENT_SECRET,
		});
		t.after(() => identityProvider.close());
		const companySignIn = { provider: identityProvider, label: LABEL, ...FOR_EVERYONE };
		const site = await openTestSite(t, { change: { companySignIn } });
		const owner = await site.addOwner(await site.addProgramme());
		other.accounts.set(ACCOUNT, { email: owner.email, email_verified: true });
		const browser = site.browser();
		const started = await browser.open(START);
		const answer = await browser.open(pathOf(await other.walk(started.location ?? "", ACCOUNT)));
		assert.deepEqual([answer.status, answer.location], [303, "/"]);
		other.accounts.set(ACCOUNT, { email: "stranger@shop.example", email_verified: true });
		const stranger = site.browser();
		const asked = await stranger.open(START);
		const refused = await stranger.open(pathOf(await other.walk(asked.location ?? "", ACCOUNT)));
		assert.equal(refused.status, 403);
		assert.match(refused.text, /Nobody with the address stranger@shop\.example has access here/);
		assert.equal(
			other.paths.some((path) => path.startsWith("/me")),
			false,
			"nothing else was asked for",
		);
	});

	test("an address that only looks like a person's finds nobody, at the provider, with a password and by mail", async (t) => {
		const site = await openCompanySite(t, { hasMail: true });
		const staff = await site.addStaff("kim@network.example");
		const lookalike = "\u212aim@network.example";
		const browser = site.browser();
		const near = ["\u00a0", "\ufeff", "\u0000", " ", "\n"].map((character) => `${staff.email}${character}`);
		for (const email of [lookalike, ...near, `\u00a0${staff.email}`, `${staff.email}\u0000.evil`]) {
			provider.accounts.set(ACCOUNT, { email, email_verified: true });
			site.log.lines.length = 0;
			await assertRefused(site, browser, await signInThere(browser), NOT_VERIFIED);
		}
		assert.equal((await browser.submit("/sign-in", { email: lookalike, password: PASSWORD })).status, 401);
		await browser.submit("/forgot-password", { email: lookalike });
		assert.deepEqual(await site.audit("password.reset_asked"), []);
		const inviter = await site.signIn(staff);
		const invited = await inviter.submit("/people/invite", { email: lookalike });
		assert.equal(invited.status, 422);
		assert.match(invited.text, /is not an email address/);
	});

	test("the code of an authenticator is not asked for, because the provider is trusted for the second factor", async (t) => {
		const site = await openCompanySite(t);
		const staff = await site.addStaff();
		await turnAuthenticatorOn(await site.signIn(staff));
		provider.accounts.set(ACCOUNT, { email: staff.email, email_verified: true });
		const browser = site.browser();
		assert.equal((await signInThere(browser)).location, "/");
		assert.equal((await browser.open("/account")).status, 200);
	});

	test("all browsers that sign in with it share one count of guesses at the password, except those that used the password", async (t) => {
		const { site, staff } = await openWithStaff(t);
		const idOf = (browser: Browser) => browser.cookies.get("__Host-ringback.device")?.split(".")[0];
		const [one, other] = [site.browser(), site.browser()];
		for (const browser of [one, other]) assert.equal((await signInThere(browser)).location, "/");
		assert.match(idOf(one) ?? "", /^[0-9a-f]{32}$/);
		assert.equal(idOf(other), idOf(one));
		const known = await site.signIn(staff);
		const own = idOf(known);
		assert.notEqual(own, idOf(one));
		await known.open("/account");
		await known.submit("/sign-out", {});
		assert.equal((await signInThere(known)).location, "/");
		assert.equal(idOf(known), own);
		const colleague = await site.addStaff();
		provider.accounts.set(ACCOUNT, { email: colleague.email, email_verified: true });
		const theirs = site.browser();
		await signInThere(theirs);
		assert.notEqual(idOf(theirs), idOf(one), "each person has a count of their own");
	});

	test("the request has PKCE, state and nonce, and asks for nothing but the address", async (t) => {
		const site = await openCompanySite(t);
		const { location } = await site.browser().open(START);
		const { searchParams } = new URL(location ?? "");
		assert.deepEqual(Object.fromEntries(searchParams), {
			client_id: CLIENT_ID,
			redirect_uri: `https://ringback.example${RETURN}`,
			response_type: "code",
			scope: "openid email",
			code_challenge_method: "S256",
			code_challenge: searchParams.get("code_challenge") ?? "",
			nonce: searchParams.get("nonce") ?? "",
			state: searchParams.get("state") ?? "",
		});
		const again = new URL((await site.browser().open(START)).location ?? "").searchParams;
		for (const name of ["code_challenge", "nonce", "state"]) {
			assert.match(searchParams.get(name) ?? "", /^[\w.-]{43,}$/);
			assert.notEqual(searchParams.get(name), again.get(name));
		}
	});

	/** Asserts that a refused sign-in has changed nothing and has a log line with its code. */
	async function assertRefused(
		site: TestSite,
		browser: Browser,
		answer: Shown,
		[status, code, sentence]: Refusal,
	): Promise<void> {
		assert.equal(answer.status, status, answer.text);
		assert.match(answer.text, /You are not signed in/);
		assert.match(answer.text, sentence);
		assert.match(answer.text, /href="\/sign-in"/);
		assert.equal(browser.cookies.has(SESSION_COOKIE), false);
		assert.deepEqual(await site.store.db.selectFrom("sessions").selectAll().execute(), []);
		assert.deepEqual(await site.audit("person.signed_in"), []);
		const lines = site.log.lines.filter(({ message }) => /company's account was refused/.test(message));
		assert.deepEqual(
			lines.map(({ fields }) => ("code" in fields ? fields.code : null)),
			[code],
		);
	}

	const refusedPeople: Readonly<Record<string, { claims: Claims; refusal: Refusal }>> = {
		"an address that the provider has not verified": {
			claims: { email: "sam@network.example", email_verified: false },
			refusal: NOT_VERIFIED,
		},
		"an address without a word about its verification": {
			claims: { email: "sam@network.example" },
			refusal: NOT_VERIFIED,
		},
		"an account without an address": { claims: { email_verified: true }, refusal: NOT_VERIFIED },
		"an address that nobody has here": {
			claims: { email: "stranger@network.example", email_verified: true },
			refusal: [
				403,
				"no_account",
				/Nobody on the staff of this network has the address stranger@network\.example\./,
			],
		},
		"an invited person who has not accepted": {
			claims: { email: "invited@network.example", email_verified: true },
			refusal: [403, "not_joined_yet", /Open the link in your invitation first/],
		},
		"a person whose access has ended": {
			claims: { email: "left@network.example", email_verified: true },
			refusal: [
				403,
				"no_account",
				/Nobody on the staff of this network has the address left@network\.example\./,
			],
		},
	};
	for (const [what, { claims, refusal }] of Object.entries(refusedPeople)) {
		test(`${what} is refused with a sentence, and nobody is created`, async (t) => {
			const site = await openCompanySite(t);
			await site.addStaff("sam@network.example");
			const left = await site.addStaff("left@network.example");
			await site.store.db
				.insertInto("people")
				.values({
					public_id: "usr_invited",
					email: "invited@network.example",
					kind: "staff",
					created_at_ms: 0,
				})
				.execute();
			await site.store.db
				.updateTable("people")
				.set({ deactivated_at_ms: START_MS })
				.where("id", "=", left.id)
				.execute();
			const peopleBefore = await site.store.db.selectFrom("people").selectAll().execute();
			provider.accounts.set(ACCOUNT, claims);
			const browser = site.browser();
			await assertRefused(site, browser, await signInThere(browser), refusal);
			assert.deepEqual(await site.store.db.selectFrom("people").selectAll().execute(), peopleBefore);
		});
	}

	test("unless the setting says everyone, people of shops and partners get the answer for strangers, and the log says why", async (t) => {
		const site = await openCompanySite(t);
		const programme = await site.addProgramme();
		const owner = await site.addOwner(programme);
		await site.addStaff();
		const partner = await addPartner(site, "Blog");
		const invited = newEmail("shop");
		const created = await createPerson(site.deps, { email: invited, kind: "shop" });
		assert.ok(created.ok);
		// The partner's person was signed in when they accepted their invitation, so that session is removed first.
		await site.store.db.deleteFrom("sessions").execute();
		await site.store.db.deleteFrom("audit_entries").execute();
		const answers: string[] = [];
		for (const email of [newEmail("shop"), owner.email, partner.email, invited]) {
			provider.accounts.set(ACCOUNT, { email, email_verified: true });
			const browser = site.browser();
			const answer = await signInThere(browser);
			await assertRefused(site, browser, answer, [403, "no_account", /sign in with your email address/]);
			answers.push(answer.text.replaceAll(email, ""));
			site.log.lines.length = 0;
		}
		assert.equal(new Set(answers).size, 1, "the answer does not tell who has an account");

		provider.accounts.set(ACCOUNT, { email: owner.email, email_verified: true });
		await signInThere(site.browser());
		assert.match(site.log.text(), /not on the staff.*RINGBACK_OIDC_FOR=everyone/);
		site.log.lines.length = 0;
		provider.accounts.set(ACCOUNT, { email: newEmail("shop"), email_verified: true });
		await signInThere(site.browser());
		assert.doesNotMatch(site.log.text(), /RINGBACK_OIDC_FOR/);
		await site.signIn(owner);
	});

	test("the sign-in page says whom the button is for", async (t) => {
		const say = async (options: CompanySiteOptions) =>
			(await (await openCompanySite(t, options)).browser().open("/sign-in")).text;
		assert.match(
			await say({}),
			/This button is for the network&#39;s staff\. Everybody else signs in with a password\./,
		);
		assert.match(await say({ isForEveryone: true }), /Or sign in with your password\./);
		assert.match(
			await say({ isRequiredForStaff: true }),
			/The network&#39;s staff sign in with this button\. Everybody else signs in with a password\./,
		);
		assert.match(
			await say({ isRequiredForStaff: true, isForEveryone: true }),
			/The network&#39;s staff sign in with this button\. Everybody else can also use their password\./,
		);
	});

	const forgedTokens: Readonly<Record<string, Record<string, unknown>>> = {
		"from another issuer": { iss: "https://evil.example" },
		"for another service": { aud: OTHER_CLIENT_ID },
		"of another sign-in": { nonce: "another" },
		"that has expired": { exp: 1 },
	};
	for (const [what, claims] of Object.entries(forgedTokens)) {
		test(`an ID token ${what} is refused`, async (t) => {
			const { site, browser } = await openWithStaff(t);
			provider.changeTokens(claims);
			await assertRefused(site, browser, await signInThere(browser), NOT_ACCEPTED);
		});
	}

	async function openWithStaff(t: TestContext, options: CompanySiteOptions = {}) {
		const site = await openCompanySite(t, options);
		const staff = await site.addStaff("sam@network.example");
		provider.accounts.set(ACCOUNT, { email: staff.email, email_verified: true });
		return { site, staff, browser: site.browser() };
	}

	test("an ID token that the provider has not signed is refused", async (t) => {
		const { site, browser } = await openWithStaff(t);
		provider.signWithOtherKey();
		await assertRefused(site, browser, await signInThere(browser), NOT_ACCEPTED);
	});

	test("an answer in the name of another issuer is refused before its code is used", async (t) => {
		const { site, browser } = await openWithStaff(t);
		const returned = new URL(await visitProvider(browser, ACCOUNT), "https://ringback.example");
		returned.searchParams.set("iss", "https://evil.example");
		await assertRefused(site, browser, await browser.open(pathOf(returned.href)), NOT_ACCEPTED);
		assert.equal(provider.paths.includes("/token"), false);
	});

	test("a code that was issued to another service is refused", async (t) => {
		const { site, browser } = await openWithStaff(t);
		const started = new URL((await browser.open(START)).location ?? "");
		started.searchParams.set("client_id", OTHER_CLIENT_ID);
		const returned = pathOf(await provider.walk(started.href, ACCOUNT));
		await assertRefused(site, browser, await browser.open(returned), NOT_ACCEPTED);
	});

	test("a code that was used before is refused, also in the browser that used it", async (t) => {
		const { site, browser } = await openWithStaff(t);
		const returned = await visitProvider(browser, ACCOUNT);
		const cookies = new Map(browser.cookies);
		assert.equal((await browser.open(returned)).location, "/");
		assert.equal((await browser.open(returned)).location, "/", "somebody who is signed in stays here");
		await browser.submit("/sign-out", {});
		const [status, , sentence] = SIGN_IN_OVER;
		const afterSignOut = await browser.open(returned);
		assert.equal(afterSignOut.status, status);
		assert.match(afterSignOut.text, sentence);
		await site.store.db.deleteFrom("audit_entries").execute();
		site.log.lines.length = 0;
		const thief = site.browser();
		for (const [name, value] of cookies) thief.cookies.set(name, value);
		await assertRefused(site, thief, await thief.open(returned), NOT_ACCEPTED);
	});

	test("a person who cancels at the provider gets a page that says how to go on", async (t) => {
		const { site, browser } = await openWithStaff(t);
		const answer = await browser.open(await visitProvider(browser, null));
		await assertRefused(site, browser, answer, [401, "provider_declined", /did not let you in. Start over/]);
	});

	test("an answer is refused after ten minutes, in another browser, and with a changed state", async (t) => {
		const { site, browser } = await openWithStaff(t);
		const returned = await visitProvider(browser, ACCOUNT);
		const changed = returned.replace(/state=\d+/, (state) => `${state}0`);
		const withoutState = returned.replace(/state=[^&]+/, "");
		const stranger = site.browser();
		await visitProvider(stranger, ACCOUNT);
		for (const [who, path] of [
			[site.browser(), returned],
			[stranger, returned],
			[browser, changed],
			[browser, withoutState],
			[browser, RETURN],
		] as const) {
			site.log.lines.length = 0;
			await assertRefused(site, who, await who.open(path), SIGN_IN_OVER);
		}
		site.moveClock(10 * MINUTE_MS);
		site.log.lines.length = 0;
		await assertRefused(site, browser, await browser.open(returned), SIGN_IN_OVER);
		assert.equal(provider.paths.includes("/token"), false);
	});

	test("two tabs of one browser can sign in at the same time", async (t) => {
		const { browser } = await openWithStaff(t);
		const first = await visitProvider(browser, ACCOUNT, `${START}?next=%2Faccount`);
		await visitProvider(browser, ACCOUNT);
		assert.equal((await browser.open(first)).location, "/account");
	});

	test("signing in never redirects to another site", async (t) => {
		const { browser } = await openWithStaff(t);
		const next = encodeURIComponent("https://evil.example/");
		assert.equal((await signInThere(browser, `${START}?next=${next}`)).location, "/");
	});

	for (const state of ["down", "silent", "failing"] as const) {
		test(`while the provider is ${state} people get a page that says so, and passwords work`, async (t) => {
			const { site, staff, browser } = await openWithStaff(t, state === "silent" ? { deadlineMs: 50 } : {});
			provider.turn(state);
			await assertRefused(site, browser, await browser.open(START), UNAVAILABLE);
			await site.signIn(staff);
		});
	}

	for (const state of ["down", "failing"] as const) {
		test(`if the provider is ${state} when the person comes back, nobody is let in and System says so until a sign-in works`, async (t) => {
			const { site, staff, browser } = await openWithStaff(t);
			const returned = await visitProvider(browser, ACCOUNT);
			provider.turn(state);
			await assertRefused(site, browser, await browser.open(returned), UNAVAILABLE);
			const colleague = await site.signIn(staff);
			const readSystem = async () => (await colleague.open("/system")).text;
			assert.match(
				await readSystem(),
				/The identity provider \S+ cannot be used\..*failed because of it, at 2026-/,
			);
			provider.turn("up");
			assert.equal((await signInThere(browser)).location, "/");
			assert.doesNotMatch(await readSystem(), /The identity provider/);
		});
	}

	test("a provider that calls itself by another name is not used", async (t) => {
		const { issuer } = provider;
		const identityProvider = createIdentityProvider({
			issuer: issuer.replace("127.0.0.1", "localhost"),
			clientId: CLIENT_ID,
			clientSecret: CLIENT_SECRET,
		});
		t.after(() => identityProvider.close());
		const companySignIn = { provider: identityProvider, label: LABEL, ...FOR_EVERYONE };
		const site = await openTestSite(t, { change: { companySignIn } });
		const browser = site.browser();
		await assertRefused(site, browser, await browser.open(START), UNAVAILABLE);
		assert.match(site.log.text(), /does not match the expected issuer/);
	});

	test("an address block gets 20 answers of the provider checked in a minute", async (t) => {
		const { site, browser } = await openWithStaff(t);
		const returned = await visitProvider(browser, ACCOUNT);
		for (let tried = 0; tried < 20; tried += 1) assert.equal((await browser.open(RETURN)).status, 410);
		site.log.lines.length = 0;
		const limited = [429, "too_many_attempts", /Too many attempts came from your internet/] as const;
		await assertRefused(site, browser, await browser.open(returned), limited);
		assert.equal(provider.paths.includes("/token"), false);
	});

	test("no code, token or secret is stored or logged", async (t) => {
		const { site, browser } = await openWithStaff(t);
		const returned = await visitProvider(browser, ACCOUNT);
		await browser.open(returned);
		const refused = await visitProvider(site.browser(), ACCOUNT);
		provider.changeTokens({ aud: OTHER_CLIENT_ID });
		await signInThere(site.browser());
		const codes = [returned, refused].map(
			(path) => new URL(path, "https://ringback.example").searchParams.get("code") ?? path,
		);
		const stored = `${await site.storedText()} ${site.log.text()}`;
		for (const secret of [CLIENT_SECRET, ...codes]) assert.equal(stored.includes(secret), false);
	});

	describe("if staff must use it", () => {
		const required = { isRequiredForStaff: true, hasMail: true };

		test("a right and a wrong password of staff get the same answer, which names the button, and count alike", async (t) => {
			const { site, staff, browser } = await openWithStaff(t, required);
			assert.match((await browser.open("/sign-in")).text, /The network&#39;s staff sign in with this button/);
			const attempt = async (email: string, password: string) => {
				const guesser = site.browser();
				const { status, text } = await guesser.submit("/sign-in", { email, password });
				assert.equal(guesser.cookies.has(SESSION_COOKIE), false);
				const counts = await site.store.db.selectFrom("limit_counts").select("uses").execute();
				await site.store.db.deleteFrom("limit_counts").execute();
				return { status, text: text.replaceAll(email, ""), counts };
			};
			const right = await attempt(staff.email, PASSWORD);
			assert.equal(right.status, 401);
			assert.match(right.text, /Email and password do not match/);
			assert.match(right.text, /The network&#39;s staff sign in with the button “Sign in with Acme”/);
			assert.deepEqual(await attempt(staff.email, "wrong horse battery"), right);
			assert.deepEqual(await attempt("nobody@network.example", PASSWORD), right);
			assert.deepEqual(await site.store.db.selectFrom("sessions").selectAll().execute(), []);
			assert.equal((await signInThere(browser)).location, "/");
			assert.match((await browser.open("/account")).text, /This password only confirms changes here/);
			assert.match(
				(await browser.open("/network/tokens")).text,
				/not that of the company's account\. If you do not know it, <a href="\/forgot-password">choose a new one<\/a>/,
			);
			const token = { name: "Portal", right: "read", days: "", currentPassword: PASSWORD };
			assert.match((await browser.submit("/network/tokens", token)).text, /Copy it now/);
		});

		test("a shop's people sign in with their password", async (t) => {
			const { site } = await openWithStaff(t, required);
			const browser = await site.signIn(await site.addOwner(await site.addProgramme()));
			assert.doesNotMatch((await browser.open("/account")).text, /only confirms changes/);
		});

		test("a link that staff created or that was mailed does not let staff in, but changes the password", async (t) => {
			const { site, staff, browser } = await openWithStaff(t, required);
			await browser.submit("/forgot-password", { email: staff.email });
			const [, path = ""] = LINK.exec(site.mailbox.at(-1)?.text ?? "") ?? [];
			const mailed = await browser.submit(path, { password: NEW_PASSWORD });
			assert.equal(mailed.location, "/sign-in");
			assert.match(
				(await browser.open("/sign-in")).text,
				/You are not signed in yet\. Staff of this network sign in with the company&#39;s account/,
			);
			assert.equal((await browser.open("/account")).status, 303);
			assert.equal((await signInThere(browser)).location, "/");

			await browser.submit("/people/invite", { email: "new@network.example" });
			const [, invitation = ""] = LINK.exec(site.mailbox.at(-1)?.text ?? "") ?? [];
			const newcomer = site.browser();
			assert.match((await newcomer.open(invitation)).text, /You sign in with the company&#39;s account\./);
			const joined = await newcomer.submit(invitation, { name: "Nora New", password: PASSWORD });
			assert.equal(joined.location, "/sign-in");
			assert.equal((await newcomer.open("/account")).status, 303);
			provider.accounts.set(ACCOUNT, { email: "new@network.example", email_verified: true });
			assert.equal((await signInThere(newcomer)).location, "/");
		});

		test("an invitation from the command line, which is mailed, does not let staff in", async (t) => {
			const { site } = await openWithStaff(t, required);
			const created = await createPerson(site.deps, { email: "new@network.example", kind: "staff" });
			assert.ok(created.ok);
			const invited = await renewLink(site.deps, COMMAND_LINE, created.value.id, { kind: "staff" });
			assert.ok(invited.ok && invited.value.isMailed && invited.value.link !== null);
			const invitation = pathOf(invited.value.link);
			const newcomer = site.browser();
			const joined = await newcomer.submit(invitation, { name: "Nora New", password: PASSWORD });
			assert.equal(joined.location, "/sign-in");
			assert.equal((await newcomer.open("/account")).status, 303);
		});

		test("the operator's link is not mailed and lets somebody who has not joined in, if that is asked for", async (t) => {
			const { site } = await openWithStaff(t, required);
			const created = await createPerson(site.deps, { email: "new@network.example", kind: "staff" });
			assert.ok(created.ok);
			const { id } = created.value;
			const refused = await makeOperatorLink(site.deps, id, { bypassesCompanySignIn: false });
			assert.equal(refused.ok ? "made" : refused.fault.code, "company_account_required");
			const made = await makeOperatorLink(site.deps, id, { bypassesCompanySignIn: true });
			assert.ok(made.ok && made.value.link !== null);
			assert.deepEqual(site.mailbox, []);
			const newcomer = site.browser();
			const path = pathOf(made.value.link);
			const joined = await newcomer.submit(path, { name: "Nora New", password: PASSWORD });
			assert.equal(joined.location, "/programmes");
			assert.equal((await newcomer.open("/account")).status, 200);
		});

		test("the operator's link lets staff in once, for the time that the provider cannot be used", async (t) => {
			const { site, staff, browser } = await openWithStaff(t, required);
			provider.turn("down");
			const made = await makeOperatorLink(site.deps, staff.id, { bypassesCompanySignIn: true });
			assert.ok(made.ok && made.value.link !== null);
			const answer = await browser.submit(pathOf(made.value.link), { password: NEW_PASSWORD });
			assert.equal(answer.location, "/programmes");
			assert.equal((await browser.open("/account")).status, 200);
			await browser.submit("/sign-out", {});
			const again = await browser.submit("/sign-in", { email: staff.email, password: NEW_PASSWORD });
			assert.equal(again.status, 401);
		});
	});

	test("ending a person's access ends the session that the provider opened, and a sign-in that has begun", async (t) => {
		const { site, staff, browser } = await openWithStaff(t);
		await signInThere(browser);
		const elsewhere = site.browser();
		const returned = await visitProvider(elsewhere, ACCOUNT);
		const colleague = await site.signIn(await site.addStaff());
		assert.equal((await colleague.submit(`/people/${staff.public_id}/deactivate`, {})).status, 303);
		assert.equal((await browser.open("/account")).location, "/sign-in?next=%2Faccount");
		assert.equal((await elsewhere.open(returned)).status, 403);
	});
});

test("without a provider there is no button, and its addresses do not exist", async (t) => {
	const site = await openTestSite(t);
	const browser = site.browser();
	assert.doesNotMatch((await browser.open("/sign-in")).text, /sign-in\/company/);
	for (const path of [START, RETURN]) assert.equal((await browser.open(path)).status, 404);
});

function pathOf(url: string): string {
	const { pathname, search } = new URL(url);
	return `${pathname}${search}`;
}
