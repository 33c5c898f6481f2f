import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import { invitePerson, makePasswordLink } from "../../people/invitations.ts";
import { makeFirstStaffPath } from "../../people/links.ts";
import { openTestSite, PASSWORD, type Shown, type TestSite } from "../test-site.test-support.ts";

const FIRST = { email: "first@network.example", name: "Fay First", password: PASSWORD };

test("the link of the first start makes the first staff account, signs it in, and then is dead", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	const browser = site.browser();
	const page = await browser.open(path);
	assert.equal(page.status, 200);
	assert.match(page.text, /the first staff account/);
	const answer = await browser.submit(path, FIRST);
	assert.deepEqual([answer.status, answer.location], [303, "/network"]);
	assert.match((await browser.open("/account")).text, /Fay First, first@network\.example/);
	await assertDead(site, path);
	assert.equal(await makeFirstStaffPath(site.deps), null, "there is no second first");
});

test("each start gives out a new link, and the one before stops working", async (t) => {
	const site = await openTestSite(t);
	const [first, second] = [await firstPath(site), await firstPath(site)];
	await assertDead(site, first);
	assert.equal((await site.browser().open(second)).status, 200);
});

test("the link of the first start is good for 24 hours", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	site.moveClock(24 * HOUR_MS - 1);
	assert.equal((await site.browser().open(path)).status, 200);
	site.moveClock(1);
	await assertDead(site, path);
});

test("an earlier link of the first start makes no second staff account", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	await site.addStaff();
	await assertDead(site, path);
});

test("what is wrong is said at its field, what was typed stays, and the link still works", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	const cases = [
		[{ email: "no address" }, /id="email-error">&quot;no address&quot; is not an email address/],
		[{ name: " " }, /id="name-error">Enter your name/],
		[{ name: "a".repeat(101) }, /id="name-error">Enter your name/],
		[{ password: "123456789" }, /id="password-error">A password has at least 10 characters/],
		[{ password: "x".repeat(129) }, /id="password-error">A password has at most 128 characters/],
	] as const;
	const browser = site.browser();
	await browser.open(path);
	for (const [change, expected] of cases) {
		const answer = await browser.submit(path, { ...FIRST, ...change });
		assert.equal(answer.status, 422);
		assert.match(answer.text, expected);
		const typed = { ...FIRST, ...change };
		assert.ok(answer.text.includes(typed.email.replaceAll('"', "&quot;")));
		assert.equal(answer.text.includes(typed.password), false, "no password comes back");
	}
	assert.equal((await browser.submit(path, FIRST)).status, 303);
});

test("the first start does not take over an owner's account", async (t) => {
	const site = await openTestSite(t);
	const owner = await site.addOwner(await site.addProgramme());
	const path = await firstPath(site);
	const browser = site.browser();
	await browser.open(path);
	const answer = await browser.submit(path, { ...FIRST, email: owner.email });
	assert.equal(answer.status, 409);
	assert.equal((await browser.open(path)).status, 200, "the link is still good");
	await site.signIn(owner);
});

test("an invited owner chooses a password and lands on the overview of their programme", async (t) => {
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
	assert.doesNotMatch(page.text, /name="email"/, "the address is not to be chosen");
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

test("an invitation is good for seven days, and a newer one takes its place", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const first = await invite(site, "owner@shop.example", programme);
	const second = await invite(site, "owner@shop.example", programme);
	await assertDead(site, first);
	assert.equal((await site.browser().open(second)).status, 200);
	site.moveClock(7 * DAY_MS);
	await assertDead(site, second);
});

test("somebody who can sign in already gets the programme without a link, and a mail that says so", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const owner = await site.addOwner(await site.addProgramme("One"));
	const two = await site.addProgramme("Two");
	const invited = await invitePerson(site.deps, {
		email: owner.email,
		membership: { programme: two, role: "owner" },
		invitedBy: null,
	});
	assert.ok(invited.ok);
	assert.equal(invited.value.link, null);
	await site.deps.mails.settled();
	assert.match(site.mailbox[0]?.subject ?? "", /access to "Two"/);
	const browser = await site.signIn(owner);
	assert.equal((await browser.open("/account")).status, 200);
});

test("an address of another kind, or that is in already, is refused and changes nothing", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const [staff, owner] = [await site.addStaff(), await site.addOwner(programme)];
	const before = await site.storedText();
	for (const [email, membership] of [
		[staff.email, { programme, role: "owner" }],
		[owner.email, null],
		[staff.email, null],
		[owner.email, { programme, role: "viewer" }],
	] as const) {
		const invited = await invitePerson(site.deps, { email, membership, invitedBy: null });
		assert.ok(!invited.ok);
		assert.deepEqual([invited.fault.code, invited.fault.field], ["email_taken", "email"]);
	}
	assert.equal(await site.storedText(), before);
});

test("a new link for somebody who lost the password ends their sessions and keeps their authenticator", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const lost = await site.signIn(staff);
	const renewed = await makePasswordLink(site.deps, null, staff, null);
	assert.ok(renewed.ok && renewed.value.link !== null);
	const path = new URL(renewed.value.link).pathname;
	assert.equal((await lost.open("/account")).status, 200, "making a link changes nothing yet");
	const browser = site.browser();
	await browser.open(path);
	const fields = { name: "Sam Staff", password: "another horse battery" };
	assert.equal((await browser.submit(path, fields)).location, "/programmes");
	assert.equal((await lost.open("/account")).status, 303);
	assert.equal((await browser.open("/account")).status, 200);
});

test("tokens are in the link alone: not in the database, the log or the audit log", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const paths = [await firstPath(site), await invite(site, "a@shop.example", await site.addProgramme())];
	const browser = site.browser();
	await browser.open(paths[0] ?? "");
	await browser.submit(paths[0] ?? "", FIRST);
	await browser.open(paths[1] ?? "");
	const everything = `${await site.storedText()}\n${site.log.text()}`;
	for (const path of paths) {
		const token = path.split("/").at(-1) ?? "";
		assert.match(token, /^[0-9a-f]{64}$/);
		assert.equal(everything.includes(token), false);
	}
});

test("a page that fails on a one-time link logs its route and not its token", async (t) => {
	const site = await openTestSite(t);
	const path = await firstPath(site);
	await site.store.db.schema.dropTable("links").execute();
	const answer = await site.browser().open(path);
	assert.equal(answer.status, 500);
	assert.match(site.log.text(), /route: '\/welcome\/:token'/);
	assert.equal(site.log.text().includes(path.split("/").at(-1) ?? "-"), false);
});

test("markup in a name or an address is shown as text", async (t) => {
	const site = await openTestSite(t);
	const markup = `<script>alert("1")</script>`;
	const programme = await site.addProgramme(markup);
	const owner = await site.addOwner(programme, undefined, markup);
	const browser = await site.signIn(owner);
	const page = await browser.open("/account");
	assert.ok(page.text.includes("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;"));
	assert.equal(page.text.includes(markup), false);
	const path = await firstPath(site);
	const stranger = site.browser();
	await stranger.open(path);
	const again = await stranger.submit(path, { email: `"><img src=x>`, name: markup, password: PASSWORD });
	assert.equal(again.text.includes(markup), false);
	assert.equal(again.text.includes("<img src=x>"), false);
	assert.equal((await stranger.open(`/welcome/${encodeURIComponent(markup)}`)).text.includes(markup), false);
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
	const invited = await invitePerson(site.deps, {
		email,
		membership: { programme, role: "owner" },
		invitedBy: null,
	});
	assert.ok(invited.ok && invited.value.link !== null);
	return new URL(invited.value.link).pathname;
}

async function assertDead(site: TestSite, path: string): Promise<void> {
	const browser = site.browser();
	const isDead = ({ status, text }: Shown) => {
		assert.equal(status, 410);
		assert.match(text, /This link does not work any more/);
	};
	isDead(await browser.open(path));
	await browser.open("/sign-in");
	isDead(await browser.submit(path, { ...FIRST, email: "late@network.example" }));
	const late = site.store.db.selectFrom("people").select("id").where("email", "=", "late@network.example");
	assert.equal(await late.executeTakeFirst(), undefined);
}
