import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE } from "../../people/actor.ts";
import { invite as inviteTo } from "../../people/invitations.ts";
import { makeFirstStaffPath } from "../../people/sign-in-links.ts";
import { openTestSite, PASSWORD, type Shown, type TestSite } from "../test-site.test-support.ts";

const FIRST = { email: "first@network.example", name: "Fay First", password: PASSWORD };

test("each start creates a new link, and the previous one stops working", async (t) => {
	const site = await openTestSite(t);
	const [first, second] = [await firstPath(site), await firstPath(site)];
	await assertDead(site, first);
	assert.equal((await site.browser().open(second)).status, 200);
});

test("an earlier link of the first start creates no second staff account", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	await site.addStaff();
	await assertDead(site, path);
});

test("errors are at their fields, typed values stay, and the link still works", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	const cases = [
		[{ email: " " }, /id="email-error">Enter an email address such as owner@shop\.example/],
		[{ email: "no address" }, /id="email-error">&quot;no address&quot; is not an email address/],
		[{ name: " " }, /id="name-error">Enter your name/],
		[{ name: "a".repeat(101) }, /id="name-error">Enter your name/],
		[{ password: "123456789" }, /id="password-error">A password has at least 10 characters/],
		[{ password: "x".repeat(129) }, /id="password-error">A password has at most 128 characters/],
	] as const;
	const browser = site.browser();
	for (const [change, expected] of cases) {
		const answer = await browser.submit(path, { ...FIRST, ...change });
		assert.equal(answer.status, 422);
		assert.match(answer.text, expected);
		const typed = { ...FIRST, ...change };
		assert.ok(answer.text.includes(typed.email.replaceAll('"', "&quot;")));
		assert.equal(answer.text.includes(typed.password), false, "the page never contains the password");
	}
	const wrong = await browser.submit(path, { email: "no address", name: " ", password: "short" });
	assert.match(wrong.text, /id="email-error"[\s\S]+id="name-error"[\s\S]+id="password-error"/, "all at once");
	assert.equal((await browser.submit(path, FIRST)).status, 303);
});

test("the first start does not take over an owner's account", async (t) => {
	const site = await openTestSite(t);
	const owner = await site.addOwner(await site.addProgramme());
	const path = await firstPath(site);
	const browser = site.browser();
	const answer = await browser.submit(path, { ...FIRST, email: owner.email });
	assert.equal(answer.status, 409);
	assert.equal((await browser.open(path)).status, 200, "the link still works");
	await site.signIn(owner);
});

test("an invited owner chooses a password and is led to the overview of the programme", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme("Shoes & Co");
	const path = await invite(site, "owner@shop.example", programme);
	await site.deps.mails.settled();
	assert.equal(site.mailbox[0]?.to, "owner@shop.example");
	assert.match(site.mailbox[0]?.text ?? "", new RegExp(`^https://ringback\\.example${path}$`, "m"));
	assert.match(site.mailbox[0]?.subject ?? "", /Shoes & Co/);
	const browser = site.browser();
	const page = await browser.open(path);
	assert.match(page.text, /owner@shop\.example/);
	assert.doesNotMatch(page.text, /name="email"/, "the address cannot be changed");
	const answer = await browser.submit(path, {
		email: "other@shop.example",
		name: "Olga",
		password: PASSWORD,
	});
	assert.equal(answer.location, "/programmes");
	const home = (await browser.open("/programmes")).location;
	assert.equal(home, `/programmes/${programme.public_id}/overview`);
	assert.match((await browser.open("/account")).text, /Olga, owner@shop\.example/);
	await assertDead(site, path);
});

test("a person who can already sign in gets the programme without a link, and a mail about it", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const owner = await site.addOwner(await site.addProgramme("One"));
	const two = await site.addProgramme("Two");
	const invited = await inviteTo(
		site.deps,
		COMMAND_LINE,
		{ kind: "programme", programme: two, role: "owner" },
		owner.email,
	);
	assert.ok(invited.ok);
	assert.equal(invited.value.link, null);
	await site.deps.mails.settled();
	assert.match(site.mailbox[0]?.subject ?? "", /access to "Two"/);
	const browser = await site.signIn(owner);
	assert.equal((await browser.open("/account")).status, 200);
});

test("tokens are only in the link, and not in the database, the log or the audit log", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const paths = [await firstPath(site), await invite(site, "a@shop.example", await site.addProgramme())];
	const browser = site.browser();
	await browser.submit(paths[0] ?? "", FIRST);
	await browser.open(paths[1] ?? "");
	const everything = `${await site.storedText()}\n${site.log.text()}`;
	for (const path of paths) {
		const token = path.split("/").at(-1) ?? "";
		assert.match(token, /^[0-9a-f]{64}$/);
		assert.equal(everything.includes(token), false);
	}
});

test("an error on a one-time link is logged with the route and without the token", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	await site.store.db.schema.dropTable("sign_in_links").execute();
	const answer = await site.browser().open(path);
	assert.equal(answer.status, 500);
	assert.match(site.log.text(), /route: '\/welcome\/:token'/);
	assert.equal(site.log.text().includes(path.split("/").at(-1) ?? "-"), false);
});

async function firstPath(site: TestSite): Promise<string> {
	const path = await makeFirstStaffPath(site.deps);
	assert.ok(path !== null);
	return path;
}

async function invite(
	site: TestSite,
	email: string,
	programme: { id: number; name: string; public_id: string },
): Promise<string> {
	const invited = await inviteTo(
		site.deps,
		COMMAND_LINE,
		{ kind: "programme", programme, role: "owner" },
		email,
	);
	assert.ok(invited.ok && invited.value.link !== null);
	return new URL(invited.value.link).pathname;
}

async function assertDead(site: TestSite, path: string): Promise<void> {
	const browser = site.browser();
	const isDead = ({ status, text }: Shown) => {
		assert.equal(status, 410);
		assert.match(text, /This link no longer works/);
	};
	isDead(await browser.open(path));
	isDead(await browser.submit(path, { ...FIRST, email: "late@network.example" }));
	const late = site.store.db.selectFrom("people").select("id").where("email", "=", "late@network.example");
	assert.equal(await late.executeTakeFirst(), undefined);
}
