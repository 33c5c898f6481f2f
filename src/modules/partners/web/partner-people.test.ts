// Tests the page on which a partner's people invite colleagues and end their access. An invitation does not
// reveal who has an account, and gives no access before it is accepted.

import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { LINK, newEmail, PASSWORD, type TestSite } from "#core/web/test-site.test-support.ts";
import { addPartner, openPartnerShop } from "./partner-shop.test-support.ts";

const COLLEAGUE = "carla@blog.example";

function lastLink(site: TestSite): string {
	return LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
}

async function auditOf(site: TestSite, subject: string): Promise<string[]> {
	const entries = site.store.db.selectFrom("audit_entries").select(["action", "detail"]);
	const rows = await entries.where("subject", "=", subject).orderBy("id").execute();
	return rows.map(({ action, detail }) => `${action}: ${detail}`);
}

test("a partner invites a colleague, who joins by mail and has the same pages", async (t) => {
	const { site, browser, base, partner, email } = await openPartnerShop(t, { hasMail: true });
	const before = await browser.open(`${base}/people`);
	match(before.text, /Who signs in for you\./);
	match(before.text, new RegExp(`href="${base}/people"[^>]*>People`));
	doesNotMatch(before.text, /Leave|name="role"/, "nobody can remove themselves, and there are no roles");
	const invited = await browser.submit(`${base}/people/invite`, { email: COLLEAGUE });
	match(invited.text, /A mail is on its way to carla@blog\.example/);
	doesNotMatch(invited.text, LINK);
	match(invited.text, /badge-info">Invited/);
	const mail = site.mailbox.at(-1);
	deepEqual([mail?.to, mail?.subject], [COLLEAGUE, 'You\'re invited as a partner: "Blog"']);
	match(mail?.text ?? "", /nothing changes unless you accept/);
	const link = lastLink(site);
	const theirs = site.browser();
	const welcome = (await theirs.open(link)).text;
	match(welcome, /You are invited to join the partner <strong class="break">Blog</);
	match(welcome, new RegExp(`The invitation comes from <strong class="break">${email}<`));
	match((mail?.text ?? "").replaceAll("[at]", "@").replaceAll("[.]", "."), new RegExp(`from "${email}"`));
	equal(
		(await site.store.db.selectFrom("partner_people").selectAll().execute()).length,
		1,
		"nothing changed",
	);
	const accepted = await theirs.submit(link, { name: "Carla", password: PASSWORD });
	deepEqual([accepted.status, accepted.location], [303, `${base}/earnings`]);
	equal((await theirs.open(`${base}/earnings`)).status, 200);
	match((await theirs.open(`${base}/people`)).text, /Carla[\s\S]*badge-good">Joined/);
	equal((await site.browser().open(link)).status, 410, "the link works once");
	deepEqual(await auditOf(site, COLLEAGUE), ["person.invited: Blog"]);
	deepEqual((await auditOf(site, partner.public_id)).at(-1), `partner.person_joined: ${COLLEAGUE}`);
});

test("a person with an account accepts with a button, and must still sign in", async (t) => {
	const { site, browser, base } = await openPartnerShop(t, { hasMail: true });
	const owner = await site.addOwner(await site.addProgramme("Elsewhere"));
	await browser.submit(`${base}/people/invite`, { email: owner.email });
	const theirs = await site.signIn(owner);
	equal((await theirs.open(`${base}/earnings`)).status, 404);
	const link = lastLink(site);
	const reader = site.browser();
	doesNotMatch((await reader.open(link)).text, /type="password"/);
	const accepted = await reader.submit(link, {});
	match(accepted.location ?? "", /^\/sign-in\?next=/);
	equal((await theirs.open(`${base}/earnings`)).status, 200);
});

test("the page is the same for addresses with and without an account, and changes no account", async (t) => {
	const { site, browser, base } = await openPartnerShop(t, { hasMail: true });
	const staff = await site.addStaff();
	const owner = await site.addOwner(await site.addProgramme("Elsewhere"));
	const { email: other } = await addPartner(site, "Other");
	const people = () => site.store.db.selectFrom("people").selectAll().execute();
	const before = await people();
	site.mailbox.length = 0;
	const seen: string[][] = [];
	for (const email of [newEmail("shop"), staff.email, owner.email, other]) {
		const invited = await browser.submit(`${base}/people/invite`, { email });
		const id = /people\/(lnk_\w+)\/link/.exec(invited.text)?.[1] ?? "";
		const renewed = await browser.submit(`${base}/people/${id}/link`, {});
		const again = /people\/(lnk_\w+)\/remove/.exec(renewed.text)?.[1] ?? "";
		const pages = [invited, renewed, await browser.submit(`${base}/people/${again}/remove`, {})];
		pages.push(await browser.open(`${base}/people`));
		seen.push(
			pages.map(({ status, text }) =>
				`${status} ${text}`
					.replaceAll(email, "E-MAIL")
					.replaceAll(email.replace("@", "@<wbr>").replaceAll(".", ".<wbr>"), "E-MAIL")
					.replaceAll(/lnk_\w+/g, "lnk")
					.replaceAll(/value="[\w-]{43}"/g, "token"),
			),
		);
	}
	for (const pages of seen) deepEqual(pages, seen[0]);
	match(seen[0]?.[3] ?? "", /The invitation to E-MAIL was withdrawn/);
	deepEqual(await people(), before);
	equal(site.mailbox.filter(({ to }) => to === staff.email).length, 0, "staff get no mail");
});

test("an invitation ends after seven days, when it is withdrawn, and when its sender is removed", async (t) => {
	const { site, browser, base, email } = await openPartnerShop(t, { hasMail: true });
	await browser.submit(`${base}/people/invite`, { email: COLLEAGUE });
	const expired = lastLink(site);
	site.moveClock(7 * DAY_MS);
	const again = await site.signIn({ email });
	equal((await site.browser().open(expired)).status, 410);
	const listed = await again.open(`${base}/people`);
	match(listed.text, /Link expired/);
	const id = /people\/(lnk_\w+)\/link/.exec(listed.text)?.[1] ?? "";
	const renewed = await again.submit(`${base}/people/${id}/link`, {});
	const link = lastLink(site);
	equal((await site.browser().open(link)).status, 200);
	const renewedId = /people\/(lnk_\w+)\/remove/.exec(renewed.text)?.[1] ?? "";
	await again.submit(`${base}/people/${renewedId}/remove`, {});
	equal((await site.browser().open(link)).status, 410);
	await again.submit(`${base}/people/invite`, { email: COLLEAGUE });
	const open = lastLink(site);
	const staff = await site.signIn(await site.addStaff());
	const person = /people\/(usr_\w+)\/remove/.exec((await staff.open(`${base}/people`)).text)?.[1] ?? "";
	await staff.submit(`${base}/people/${person}/remove`, {});
	equal((await site.browser().open(open)).status, 410, "the sender was removed");
	match((await staff.open(`${base}/people`)).text, /Withdrawn/);
});

test("a colleague is removed at once, and people can remove neither themselves nor people of other partners", async (t) => {
	const { site, browser, base, partner } = await openPartnerShop(t, { hasMail: true });
	await browser.submit(`${base}/people/invite`, { email: COLLEAGUE });
	const theirs = site.browser();
	await theirs.submit(lastLink(site), { name: "Carla", password: PASSWORD });
	await addPartner(site, "Other");
	const ids = await site.store.db
		.selectFrom("partner_people")
		.innerJoin("people", "people.id", "partner_people.person_id")
		.select(["people.public_id as id", "people.email", "partner_people.partner_id as partnerId"])
		.execute();
	const idOf = (wanted: string) => ids.find(({ email }) => email === wanted)?.id ?? "";
	const self = await browser.submit(`${base}/people/${idOf("blog@blog.example")}/remove`, {});
	match(self.text, /You cannot remove yourself/);
	const stranger = await browser.submit(`${base}/people/${idOf("other@blog.example")}/remove`, {});
	match(stranger.text, /does not sign in for the partner/);
	const link = await browser.submit(`${base}/people/${idOf(COLLEAGUE)}/link`, {});
	match(link.text, /has a password already/);
	const removed = await browser.submit(`${base}/people/${idOf(COLLEAGUE)}/remove`, {});
	equal(removed.location, `${base}/people`);
	match((await browser.open(`${base}/people`)).text, /Carla&#39;s access ended: 1 session was ended/);
	equal((await theirs.open(`${base}/earnings`)).status, 303, "signed out");
	const left = await site.store.db.selectFrom("partner_people").select("partner_id").execute();
	deepEqual(
		left.map(({ partner_id }) => partner_id === partner.id),
		[true, false],
	);
	deepEqual((await auditOf(site, COLLEAGUE)).slice(-2), [
		"access.ended: 1 session was ended",
		"person.removed: Blog",
	]);
});

test("people of a programme cannot join its partner by a colleague's invitation, but staff can add them", async (t) => {
	const { site, browser, base, programme } = await openPartnerShop(t, { hasMail: true });
	const owner = await site.addOwner(programme);
	await browser.submit(`${base}/people/invite`, { email: owner.email });
	const theirs = await site.signIn(owner);
	const refused = await theirs.submit(lastLink(site), {});
	match(refused.text, /Only the network&#39;s staff can add you to the partner/);
	equal((await theirs.open(`${base}/earnings`)).status, 404);
	const staff = await site.signIn(await site.addStaff());
	await staff.submit(`${base}/people/invite`, { email: owner.email });
	equal((await theirs.open(`${base}/earnings`)).status, 200);
	doesNotMatch((await browser.open(`${base}/people`)).text, /lnk_/, "the open invitation is gone");
});

test("invitations of a partner count against the limits of mails", async (t) => {
	const { browser, base } = await openPartnerShop(t, { hasMail: true });
	for (let n = 0; n < 5; n++) await browser.submit(`${base}/people/invite`, { email: COLLEAGUE });
	const refused = await browser.submit(`${base}/people/invite`, { email: COLLEAGUE });
	match(refused.text, /Several mails were sent to this address within an hour/);
});
