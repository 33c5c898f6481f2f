// Tests how pages end a person's access. This covers the message to the person who ends it, and what others
// can do afterwards.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
	type Browser,
	LINK,
	NEW_PASSWORD,
	newEmail,
	openTestSite,
	PASSWORD,
	type TestSite,
} from "../test-site.test-support.ts";

test("an owner's invitations end with the owner's access, stay on the list, and can be sent again by another owner", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [mine, elsewhere] = [await site.addProgramme("Mine"), await site.addProgramme("Elsewhere")];
	const [one, leaver] = [await site.addOwner(mine), await site.addOwner(mine, undefined, "Olaf")];
	const [browser, theirs] = [await site.signIn(one), await site.signIn(leaver)];
	const path = `/programmes/${mine.public_id}/people`;
	await theirs.submit(`${path}/invite`, { email: "x@shop.example", role: "owner" });
	const link = lastMailed(site);
	const boss = await site.signIn(await site.addStaff());
	await boss.submit(`/programmes/${elsewhere.public_id}/people/invite`, {
		email: leaver.email,
		role: "owner",
	});
	await boss.submit(`/programmes/${elsewhere.public_id}/people/${leaver.public_id}/link`, {});
	await browser.submit(`${path}/${leaver.public_id}/remove`, {});
	const page = await browser.open(path);
	const message = /Olaf&#39;s access ended: 1 session and 1 link were ended\./;
	assert.match(page.text, message, "an owner does not learn of the link in another programme");
	assert.match(page.text, /x@<wbr>shop.*Withdrawn<\/span>/s);
	assert.equal(await statusOf(site, link), 410);
	await browser.submit(`${path}/${waitingIn(page.text)}/link`, {});
	assert.notEqual(lastMailed(site), link);
	assert.equal(await statusOf(site, lastMailed(site)), 200);
	assert.match((await browser.open(path)).text, /x@<wbr>shop.*Invited<\/span>/s);
	const log = await site.store.db
		.selectFrom("audit_entries")
		.selectAll()
		.where("programme_id", "=", mine.id)
		.where("action", "=", "link.withdrawn")
		.execute();
	assert.deepEqual(
		log.map(({ person_id, subject, detail }) => [person_id, subject, detail]),
		[[one.id, "x@shop.example", `programme invitation: the access of ${leaver.email} ended`]],
	);
});

test("an owner does not see that an invited person chose a new password, and the list stays the same", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [mine, theirs] = [await site.addProgramme("Mine"), await site.addProgramme("Theirs")];
	const withAccount = await site.addOwner(theirs);
	const browser = await site.signIn(await site.addOwner(mine));
	const path = `/programmes/${mine.public_id}/people`;
	await browser.submit(`${path}/invite`, { email: withAccount.email, role: "owner" });
	const link = lastMailed(site);
	const before = rowsOf(await browser.open(path));
	const here = await site.signIn(withAccount);
	await here.submit("/account/password", { currentPassword: PASSWORD, newPassword: NEW_PASSWORD });
	assert.equal(await statusOf(site, link), 410);
	assert.equal(rowsOf(await browser.open(path)), before);
	const boss = await site.signIn(await site.addStaff());
	assert.match((await boss.open(path)).text, /Withdrawn<\/span>/, "staff may see who has an account");
	await browser.submit(`${path}/${waitingIn((await browser.open(path)).text)}/link`, {});
	assert.equal(await statusOf(site, lastMailed(site)), 200, "the invitation can be sent again");
});

test("an invited person who is removed or deactivated before joining can no longer join", async (t) => {
	const site = await openTestSite(t);
	const mine = await site.addProgramme("Mine");
	await site.addOwner(mine);
	const boss = await site.signIn(await site.addStaff());
	const path = `/programmes/${mine.public_id}/people`;
	const [staff, owner] = [newEmail("network"), newEmail("shop")];
	const links = [
		linkIn(await boss.submit("/people/invite", { email: staff })),
		linkIn(await boss.submit(`${path}/invite`, { email: owner, role: "owner" })),
	];
	const idOf = async (email: string) =>
		(
			await site.store.db
				.selectFrom("people")
				.selectAll()
				.where("email", "=", email)
				.executeTakeFirstOrThrow()
		).public_id;
	await boss.submit(`/people/${await idOf(staff)}/deactivate`, {});
	await boss.submit(`${path}/${await idOf(owner)}/remove`, {});
	for (const link of links) assert.equal(await statusOf(site, link), 410);
});

test("a link requested by mail does not end the link that staff have handed over", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [boss, forgetful] = [await site.addStaff(), await site.addStaff()];
	const browser = await site.signIn(boss);
	const link = linkIn(await browser.submit(`/people/${forgetful.public_id}/link`, {}));
	const mailed = await askByMail(site, forgetful.email);
	assert.deepEqual([await statusOf(site, link), await statusOf(site, mailed)], [200, 200]);
	const reader = site.browser();
	await reader.submit(link, { password: NEW_PASSWORD });
	assert.equal(await statusOf(site, mailed), 410, "one new password ends both");
});

async function askByMail(site: TestSite, email: string): Promise<string> {
	const browser = site.browser();
	await browser.submit("/forgot-password", { email });
	return lastMailed(site);
}

function lastMailed({ mailbox }: TestSite): string {
	return LINK.exec(mailbox.at(-1)?.text ?? "")?.[1] ?? assert.fail("no link was mailed");
}

function linkIn({ text }: { text: string }): string {
	return LINK.exec(text)?.[1] ?? assert.fail(text);
}

async function statusOf(site: TestSite, path: string): Promise<number> {
	return (await site.browser().open(path)).status;
}

/** Returns the public id of the open invitation on a page. */
function waitingIn(text: string): string {
	return /people\/(lnk_\w+)\/link/.exec(text)?.[1] ?? assert.fail("there is no open invitation");
}

function rowsOf({ text }: Awaited<ReturnType<Browser["open"]>>): string {
	return /<tbody[\s\S]*<\/tbody>/.exec(text)?.[0] ?? assert.fail("no list");
}
