// Taking somebody's access away, as the pages show it: what whoever does it is told, and what others can do then.

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

test("an owner's invitation ends with that owner's access, stays on the list, and another owner sends it again", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [mine, elsewhere] = [await site.addProgramme("Mine"), await site.addProgramme("Elsewhere")];
	const [one, leaver] = [await site.addOwner(mine), await site.addOwner(mine, undefined, "Olaf")];
	const [browser, theirs] = [await site.signIn(one), await site.signIn(leaver)];
	const path = `/programmes/${mine.public_id}/people`;
	await theirs.open(path);
	await theirs.submit(`${path}/invite`, { email: "x@shop.example", role: "owner" });
	const link = lastMailed(site);
	const boss = await site.signIn(await site.addStaff());
	await boss.open("/people");
	await boss.submit(`/programmes/${elsewhere.public_id}/people/invite`, {
		email: leaver.email,
		role: "owner",
	});
	await boss.submit(`/programmes/${elsewhere.public_id}/people/${leaver.public_id}/link`, {});
	await browser.open(path);
	await browser.submit(`${path}/${leaver.public_id}/remove`, {});
	const page = await browser.open(path);
	const said = /Olaf&#39;s access ended: 1 session and 1 link were ended\./;
	assert.match(page.text, said, "the link elsewhere is not told to an owner");
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

test("an owner learns nothing from a new password of somebody they invited: the list stays as it was", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [mine, theirs] = [await site.addProgramme("Mine"), await site.addProgramme("Theirs")];
	const known = await site.addOwner(theirs);
	const browser = await site.signIn(await site.addOwner(mine));
	const path = `/programmes/${mine.public_id}/people`;
	await browser.open(path);
	await browser.submit(`${path}/invite`, { email: known.email, role: "owner" });
	const link = lastMailed(site);
	const before = rowsOf(await browser.open(path));
	const here = await site.signIn(known);
	await here.open("/account");
	await here.submit("/account/password", { currentPassword: PASSWORD, newPassword: NEW_PASSWORD });
	assert.equal(await statusOf(site, link), 410);
	assert.equal(rowsOf(await browser.open(path)), before);
	const boss = await site.signIn(await site.addStaff());
	assert.match((await boss.open(path)).text, /Withdrawn<\/span>/, "staff know who has an account");
	await browser.submit(`${path}/${waitingIn((await browser.open(path)).text)}/link`, {});
	assert.equal(await statusOf(site, lastMailed(site)), 200, "and it can be sent again");
});

test("(you) marks the viewer and no invitation, and owners withdraw what waits", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const mine = await site.addProgramme("Mine");
	const owner = await site.addOwner(mine);
	const browser = await site.signIn(owner);
	const path = `/programmes/${mine.public_id}/people`;
	await browser.open(path);
	const email = "x@shop.example";
	await browser.submit(`${path}/invite`, { email, role: "owner" });
	const page = await browser.open(path);
	const [mark, ...others] = page.text.match(/<td class="names-row"[\s\S]*?<\/td>/g)?.filter(isYou) ?? [];
	assert.deepEqual(others, []);
	assert.ok(mark?.includes(owner.email.split("@")[0] ?? "-"));
	assert.match(page.text, /Withdraw the invitation to x@shop\.example/);
	const link = lastMailed(site);
	assert.equal((await browser.submit(`${path}/${waitingIn(page.text)}/remove`, {})).status, 303);
	const after = await browser.open(path);
	assert.match(after.text, /The invitation to x@shop\.example was withdrawn\./);
	assert.equal(await statusOf(site, link), 410);
	const staff = await (await site.signIn(await site.addStaff())).open(path);
	assert.deepEqual(staff.text.match(/\(you\)/g), null, "staff are not on a programme's list");
});

test("somebody who never joined and is removed, or deactivated, cannot join any more", async (t) => {
	const site = await openTestSite(t);
	const mine = await site.addProgramme("Mine");
	await site.addOwner(mine);
	const boss = await site.signIn(await site.addStaff());
	const path = `/programmes/${mine.public_id}/people`;
	await boss.open("/people");
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

test("a link that somebody asks for by mail does not end the one that staff have handed over", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [boss, forgetful] = [await site.addStaff(), await site.addStaff()];
	const browser = await site.signIn(boss);
	await browser.open("/people");
	const link = linkIn(await browser.submit(`/people/${forgetful.public_id}/link`, {}));
	const mailed = await askByMail(site, forgetful.email);
	assert.deepEqual([await statusOf(site, link), await statusOf(site, mailed)], [200, 200]);
	const reader = site.browser();
	await reader.open(link);
	await reader.submit(link, { password: NEW_PASSWORD });
	assert.equal(await statusOf(site, mailed), 410, "one new password ends both");
});

async function askByMail(site: TestSite, email: string): Promise<string> {
	const browser = site.browser();
	await browser.open("/forgot-password");
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

/** The public id of the invitation that waits. */
function waitingIn(text: string): string {
	return /people\/(lnk_\w+)\/link/.exec(text)?.[1] ?? assert.fail("nobody waits");
}

function rowsOf({ text }: Awaited<ReturnType<Browser["open"]>>): string {
	return /<tbody[\s\S]*<\/tbody>/.exec(text)?.[0] ?? assert.fail("no list");
}

function isYou(cell: string): boolean {
	return cell.includes("(you)");
}
