// Sets up the tests of every way to lose access. A person gets everything that people can hold or create. Unrelated
// people get the same, and their access must not be affected.

import { equal, match, ok } from "node:assert/strict";
import type { Person } from "#core/store/queries/people.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "#core/web/account/totp.test-support.ts";
import {
	type Browser,
	LINK,
	NEW_PASSWORD,
	newEmail,
	PASSWORD,
	type TestSite,
} from "#core/web/test-site.test-support.ts";

export interface Holdings {
	/** Path of each sign-in link, by a description of the link. */
	links: Map<string, string>;
	/** Browsers in which the person is signed in. */
	sessions: readonly Browser[];
	/** Browser in which the person has entered the password and is asked for a code. */
	challenge: Browser;
	/** Returns the authenticator code of the next time step, which has not been used yet. */
	nextCode(): string;
}

export interface AccessSetup {
	bossBrowser: Browser;
	programme: Programme;
	other: Programme;
	colleagueBrowser: Browser;
	strangerBrowser: Browser;
	bystander: Person;
	bystanders: Holdings;
}

export async function openAccessSetup(site: TestSite): Promise<AccessSetup> {
	const [programme, other] = [await site.addProgramme("Garden"), await site.addProgramme("Shoes")];
	const setup = {
		bossBrowser: await site.signIn(await site.addStaff()),
		programme,
		other,
		colleagueBrowser: await site.signIn(await site.addOwner(programme)),
		strangerBrowser: await site.signIn(await site.addOwner(other)),
		bystander: await site.addStaff(),
	};
	const bystanders = await holdEverything(site, setup, setup.bystander);
	const asked = await invite(site, setup.colleagueBrowser, peopleOf(programme), newEmail("shop"));
	bystanders.links.set("an owner's invitation", asked);
	return { ...setup, bystanders };
}

/**
 * Gives the person two sessions, a sign-in that still needs an authenticator code, and every kind of link,
 * both created by the person and created for the person.
 */
export async function holdEverything(
	site: TestSite,
	{ bossBrowser, strangerBrowser, programme, other }: Omit<AccessSetup, "bystanders">,
	person: Person,
): Promise<Holdings> {
	const here = await site.signIn(person);
	const { secret } = await turnAuthenticatorOn(here);
	const elsewhere = await beginSignIn(site, person);
	// The codes of the previous, the current and the next time step are valid. The current one was used to turn
	// the authenticator on, and the next one is left for the test.
	const code = codeAt(secret, site.deps.clock.nowMs() - CODE_STEP_MS);
	equal((await elsewhere.submit("/sign-in/code", { code })).location, "/");
	const challenge = await beginSignIn(site, person);
	const isStaff = person.kind === "staff";
	const people = isStaff ? "/people" : peopleOf(programme);
	const links = new Map<string, string>();
	links.set(
		"an owner's invitation they made",
		await invite(site, here, peopleOf(programme), newEmail("shop")),
	);
	if (isStaff) {
		const { public_id: victim } = await site.addStaff();
		links.set("a staff invitation they made", await invite(site, here, "/people", newEmail("network")));
		links.set("a password link they made", await submitForLink(site, here, `/people/${victim}/link`));
	} else {
		// Staff cannot own a programme, so an invitation for one of them would be useless from the start.
		const invited = await invite(site, strangerBrowser, peopleOf(other), person.email);
		links.set("another shop's invitation to their address", invited);
	}
	const own = await submitForLink(site, bossBrowser, `${people}/${person.public_id}/link`);
	links.set("a password link for them", own);
	links.set("a password link by mail", await askByMail(site, person));
	for (const [what, link] of links) equal((await site.browser().open(link)).status, 200, what);
	const nextCode = () => codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
	return { links, sessions: [here, elsewhere], challenge, nextCode };
}

async function beginSignIn(site: TestSite, person: Person): Promise<Browser> {
	const browser = site.browser();
	equal((await enterPassword(browser, person)).location, "/sign-in/code");
	await browser.open("/sign-in/code");
	return browser;
}

export async function enterPassword(browser: Browser, { email }: Pick<Person, "email">, password = PASSWORD) {
	await browser.open("/sign-in");
	return browser.submit("/sign-in", { email, password });
}

export function peopleOf({ public_id }: Programme): string {
	return `/programmes/${public_id}/people`;
}

export async function askByMail(site: TestSite, { email }: Person): Promise<string> {
	const browser = site.browser();
	await browser.open("/forgot-password");
	equal((await browser.submit("/forgot-password", { email })).status, 200);
	return lastMailed(site);
}

function invite(site: TestSite, browser: Browser, people: string, email: string): Promise<string> {
	return submitForLink(site, browser, `${people}/invite`, { email, role: "owner" });
}

/**
 * Submits a form that creates a link. Returns the link from the page, or from the last mail if the page shows
 * none.
 */
export async function submitForLink(
	site: TestSite,
	browser: Browser,
	path: string,
	fields: Readonly<Record<string, string>> = {},
): Promise<string> {
	await browser.open("/account");
	const answer = await browser.submit(path, fields);
	equal(answer.status, 200, answer.text);
	return LINK.exec(answer.text)?.[1] ?? lastMailed(site);
}

function lastMailed({ mailbox }: TestSite): string {
	const link = LINK.exec(mailbox.at(-1)?.text ?? "")?.[1];
	ok(link !== undefined, "a link was mailed");
	return link;
}

/** Checks that the link can be neither opened nor used. */
export async function assertLinkDead(site: TestSite, link: string, what: string): Promise<void> {
	const reader = site.browser();
	await reader.open("/sign-in");
	equal((await reader.open(link)).status, 410, what);
	const used = await reader.submit(link, { name: "Mallory", password: NEW_PASSWORD });
	equal(used.status, 410, what);
	match((await reader.open("/account")).location ?? "", /^\/sign-in/, what);
}
