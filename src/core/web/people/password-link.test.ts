// Tests password links, with which a person who has already joined chooses a new password. Only staff can
// create them, and only for others.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Person } from "../../store/queries/people.ts";
import {
	LINK,
	NEW_PASSWORD,
	openAsOwner,
	openTestSite,
	PASSWORD,
	type Shown,
	type TestSite,
} from "../test-site.test-support.ts";

for (const hasMail of [false, true]) {
	test(`staff can create a password link for an owner ${hasMail ? "with" : "without"} mail, which is shown once, works once and ends every session`, async (t) => {
		const { site, programme, owner, browser: elsewhere } = await openAsOwner(t, { hasMail });
		const staff = await site.addStaff();
		const browser = await site.signIn(staff);
		const path = `/programmes/${programme.public_id}/people`;
		assert.match((await browser.open(path)).text, /Password link for /);
		const created = await browser.submit(`${path}/${owner.public_id}/link`, {});
		assert.equal(created.status, 200);
		const [, welcome = "", token = ""] = LINK.exec(created.text) ?? [];
		assert.match(created.text, /New password for .*Anyone who opens this link can sign in as/s);
		assert.equal((await elsewhere.open("/account")).status, 200, "nothing changes before it is used");
		await site.signIn(owner);
		const listed = await browser.open(path);
		assert.match(listed.text, /Joined.*password link valid until/s);
		assert.ok(!listed.text.includes(token), "it is shown once");
		assert.ok(!`${await site.storedText()}${site.log.text()}`.includes(token), "it is not stored or logged");
		if (hasMail) await site.tellChanges();
		assert.deepEqual(
			site.mailbox.map(({ to, subject }) => [to, subject]),
			hasMail ? [[owner.email, "Your account: password link created"]] : [],
		);
		assert.ok(
			!JSON.stringify(site.mailbox).includes(token),
			"it is not mailed, because somebody else may have access to the mailbox",
		);

		const reader = site.browser();
		const form = await reader.open(welcome);
		assert.match(form.text, /Choose a new password/);
		assert.doesNotMatch(form.text, /name="name"/);
		assert.equal((await reader.submit(welcome, { password: "short" })).status, 422);
		const used = await reader.submit(welcome, { password: NEW_PASSWORD, name: "Mallory" });
		assert.equal(used.status, 303);
		assert.equal((await reader.open("/account")).status, 200);
		assert.equal((await elsewhere.open("/account")).status, 303, "all other sessions have ended");
		assert.equal((await trySignIn(site, owner, PASSWORD)).status, 401);
		assert.equal((await trySignIn(site, owner, NEW_PASSWORD)).status, 303);
		assert.equal((await site.browser().open(welcome)).status, 410);
		assert.match((await browser.open(path)).text, /Olga Owner</, "the name is unchanged");
		assert.deepEqual(await auditOf(site), [
			["password.link_made", staff.id, programme.id, owner.email],
			["password.reset", owner.id, null, owner.email],
		]);
	});
}

test("staff can create a password link for a colleague, but not for themselves", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [staff, colleague] = [await site.addStaff(), await site.addStaff()];
	const browser = await site.signIn(staff);
	const { text } = await browser.open("/people");
	assert.match(text, new RegExp(`people/${colleague.public_id}/link`));
	assert.doesNotMatch(text, new RegExp(`people/${staff.public_id}/link`));
	const created = await browser.submit(`/people/${colleague.public_id}/link`, {});
	assert.match(created.text, LINK);
	await site.tellChanges();
	assert.deepEqual(
		site.mailbox.map(({ to }) => to),
		[colleague.email],
	);
	const refused = await browser.submit(`/people/${staff.public_id}/link`, {});
	assert.equal(refused.status, 403);
	assert.match(refused.text, /Change your own password under Account/);
	assert.doesNotMatch(refused.text, LINK);
	assert.deepEqual(await auditOf(site), [["password.link_made", staff.id, null, colleague.email]]);
});

test("owners cannot create password links for anybody", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [mine, theirs] = [await site.addProgramme("Mine"), await site.addProgramme("Theirs")];
	const owner = await site.addOwner(mine);
	const [colleague, stranger, staff] = [
		await site.addOwner(mine),
		await site.addOwner(theirs),
		await site.addStaff(),
	];
	const browser = await site.signIn(owner);
	const path = `/programmes/${mine.public_id}/people`;
	assert.doesNotMatch((await browser.open(path)).text, /Password link/);
	const refusals: [path: string, status: number][] = [
		[`${path}/${colleague.public_id}/link`, 403],
		[`${path}/${owner.public_id}/link`, 403],
		[`${path}/${stranger.public_id}/link`, 404],
		[`${path}/${staff.public_id}/link`, 404],
		[`/programmes/${theirs.public_id}/people/${stranger.public_id}/link`, 404],
		[`/people/${staff.public_id}/link`, 404],
		[`/people/${colleague.public_id}/link`, 404],
	];
	for (const [where, status] of refusals) {
		const answer = await browser.submit(where, {});
		assert.equal(answer.status, status, where);
		assert.doesNotMatch(answer.text, LINK);
	}
	assert.deepEqual(await site.store.db.selectFrom("sign_in_links").selectAll().execute(), []);
	assert.deepEqual([site.mailbox, await auditOf(site)], [[], []]);
	const boss = await site.signIn(staff);
	const elsewhere = await boss.submit(`${path}/${stranger.public_id}/link`, {});
	assert.equal(elsewhere.status, 404, "staff cannot do it either for a person outside the programme");
});

test("a password link ends after a day, or when the next one is created", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	const open = async (path: string) => (await site.browser().open(path)).status;
	const first = await makeLink(site, programme.public_id, owner);
	const second = await makeLink(site, programme.public_id, owner);
	assert.deepEqual([await open(first), await open(second)], [410, 200]);
	site.moveClock(86_400_000);
	assert.equal(await open(second), 410);
});

async function makeLink(site: TestSite, programmeId: string, owner: Person): Promise<string> {
	const browser = await site.signIn(await site.addStaff());
	const created = await browser.submit(`/programmes/${programmeId}/people/${owner.public_id}/link`, {});
	return LINK.exec(created.text)?.[1] ?? assert.fail(created.text);
}

async function trySignIn(site: TestSite, { email }: Person, password: string): Promise<Shown> {
	const browser = site.browser();
	return browser.submit("/sign-in", { email, password });
}

async function auditOf({ store }: TestSite): Promise<unknown[][]> {
	const rows = await store.db
		.selectFrom("audit_entries")
		.selectAll()
		.where("action", "like", "password.%")
		.orderBy("id")
		.execute();
	return rows.map((row) => [row.action, row.person_id, row.programme_id, row.subject]);
}
