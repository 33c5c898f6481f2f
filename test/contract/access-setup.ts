// Everything that somebody may hold or have made when their access ends, and the same of people whom it is none of
// their business: for the table of ways to lose access.

import { equal, match, ok } from "node:assert/strict";
import type { Person } from "../../src/store/queries/people.ts";
import type { Programme } from "../../src/store/queries/programmes.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "../../src/web/account/totp.test-support.ts";
import {
	type Browser,
	LINK,
	NEW_PASSWORD,
	newEmail,
	PASSWORD,
	type TestSite,
} from "../../src/web/test-site.test-support.ts";

export interface Holdings {
	/** By what each is. */
	links: ReadonlyMap<string, string>;
	/** Signed in. */
	sessions: readonly Browser[];
	/** Has entered the password, and is asked for a code. */
	challenge: Browser;
	/** What the authenticator will show next. */
	nextCode(): string;
}

export interface AccessSetup {
	boss: Person;
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
	const [boss, bystander] = [await site.addStaff(), await site.addStaff()];
	const colleague = await site.addOwner(programme);
	const stranger = await site.addOwner(other);
	const setup = {
		boss,
		bossBrowser: await site.signIn(boss),
		programme,
		other,
		colleagueBrowser: await site.signIn(colleague),
		strangerBrowser: await site.signIn(stranger),
		bystander,
	};
	const bystanders = await holdEverything(site, setup, bystander);
	const asked = await invite(site, setup.colleagueBrowser, peopleOf(programme), newEmail("shop"));
	return {
		...setup,
		bystanders: { ...bystanders, links: new Map([...bystanders.links, ["an owner's invitation", asked]]) },
	};
}

/**
 * Two sessions, a sign-in that waits for a code, and every kind of link: made by them, and made for them.
 */
export async function holdEverything(
	site: TestSite,
	setup: Omit<AccessSetup, "bystanders">,
	person: Person,
): Promise<Holdings> {
	const here = await site.signIn(person);
	const { secret } = await turnAuthenticatorOn(here);
	const elsewhere = await beginSignIn(site, person);
	// The three that are good at a time: this one, the one that turned it on, and the next.
	const code = codeAt(secret, site.deps.clock.nowMs() - CODE_STEP_MS);
	equal((await elsewhere.submit("/sign-in/code", { code })).location, "/");
	const challenge = await beginSignIn(site, person);
	const links = new Map<string, string>([
		...(person.kind === "staff"
			? await makeStaffLinks(site, setup, here)
			: await makeOwnerLinks(site, setup, here)),
		...(await makeLinksFor(site, setup, person)),
	]);
	for (const [what, link] of links) equal((await site.browser().open(link)).status, 200, what);
	const nextCode = () => codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
	return { links, sessions: [here, elsewhere], challenge, nextCode };
}

async function beginSignIn(site: TestSite, { email }: Person): Promise<Browser> {
	const browser = site.browser();
	await browser.open("/sign-in");
	const asked = await browser.submit("/sign-in", { email, password: PASSWORD });
	equal(asked.location, "/sign-in/code");
	await browser.open("/sign-in/code");
	return browser;
}

async function makeStaffLinks(
	site: TestSite,
	{ programme }: Omit<AccessSetup, "bystanders">,
	browser: Browser,
): Promise<[string, string][]> {
	const victim = await site.addStaff();
	return [
		["a staff invitation they made", await invite(site, browser, "/people", newEmail("network"))],
		["an owner's account they made", await invite(site, browser, peopleOf(programme), newEmail("shop"))],
		["a password link they made", await submitForLink(site, browser, `/people/${victim.public_id}/link`)],
	];
}

async function makeOwnerLinks(
	site: TestSite,
	{ programme }: Omit<AccessSetup, "bystanders">,
	browser: Browser,
): Promise<[string, string][]> {
	return [
		["an owner's invitation they made", await invite(site, browser, peopleOf(programme), newEmail("shop"))],
	];
}

async function makeLinksFor(
	site: TestSite,
	{ bossBrowser, strangerBrowser, programme, other }: Omit<AccessSetup, "bystanders">,
	person: Person,
): Promise<[string, string][]> {
	const people = person.kind === "staff" ? "/people" : peopleOf(programme);
	const links: [string, string][] = [
		[
			"a password link for them",
			await submitForLink(site, bossBrowser, `${people}/${person.public_id}/link`),
		],
		["a password link by mail", await askByMail(site, person)],
	];
	// Staff own no programme: an invitation to one of them opens nothing in the first place.
	if (person.kind === "shop") {
		links.push([
			"another shop's invitation to their address",
			await invite(site, strangerBrowser, peopleOf(other), person.email),
		]);
	}
	return links;
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

/** From the page that staff get, or from the mail that goes out. */
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

/** Neither looked at nor used. */
export async function assertLinkDead(site: TestSite, link: string, what: string): Promise<void> {
	const reader = site.browser();
	await reader.open("/sign-in");
	equal((await reader.open(link)).status, 410, what);
	const used = await reader.submit(link, { name: "Mallory", password: NEW_PASSWORD });
	equal(used.status, 410, what);
	match((await reader.open("/account")).location ?? "", /^\/sign-in/, what);
}
