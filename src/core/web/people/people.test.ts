import assert from "node:assert/strict";
import { test } from "node:test";
import {
	LINK,
	newEmail,
	openAsOwner,
	openAsStaff,
	openTestSite,
	PASSWORD,
} from "../test-site.test-support.ts";

test("an owner does not see the link of an invited person, because it gives access to all of that person's programmes", async (t) => {
	for (const hasMail of [false, true]) {
		const { site, browser: staff } = await openAsStaff(t, { hasMail });
		const victim = await site.addProgramme("Victim");
		const email = newEmail("shop");
		await staff.submit(`/programmes/${victim.public_id}/people/invite`, { email, role: "owner" });
		const mine = await site.addProgramme("Mine");
		const browser = await site.signIn(await site.addOwner(mine));
		const path = `/programmes/${mine.public_id}/people`;
		// The new address has no account yet. Anyone who got its link could act as that person, even in
		// programmes that invite the address later.
		assert.doesNotMatch(
			(await browser.submit(`${path}/invite`, { email: newEmail("shop"), role: "owner" })).text,
			LINK,
		);
		const invited = await browser.submit(`${path}/invite`, { email, role: "owner" });
		assert.equal(invited.status, 200);
		assert.doesNotMatch(invited.text, LINK);
		assert.match(
			invited.text,
			hasMail ? /A mail is on its way/ : /Ask the network&#39;s staff|Ask the network's staff/,
		);
		const [, id] = [...invited.text.matchAll(/people\/(lnk_\w+)\/link/g)].map((found) => found[1] ?? "");
		const renewed = await browser.submit(`${path}/${id}/link`, {});
		assert.equal(renewed.status, 200);
		assert.doesNotMatch(renewed.text, LINK);
		// Staff see the link and may give it to the person.
		const again = /people\/(lnk_\w+)\/link/.exec((await staff.open(path)).text)?.[1] ?? "";
		assert.match((await staff.submit(`${path}/${again}/link`, {})).text, LINK);
	}
});

test("an invitation link with a loopback address comes with a warning that it opens on this machine only", async (t) => {
	for (const publicUrl of ["https://ringback.example", "http://127.0.0.1:8080"]) {
		const { site, browser } = await openAsStaff(t, { publicUrl });
		const { text } = await browser.submit("/people/invite", { email: newEmail("network") });
		assert.equal(/opens only on the machine/.test(text), publicUrl.startsWith("http:"), publicUrl);
		const welcome = await site.browser().open(/\/welcome\/\w+/.exec(text)?.[0] ?? "");
		assert.match(welcome.text, /The invitation comes from <strong class="break">[^<]+@network\.example</);
	}
});

for (const hasMail of [true, false]) {
	test(`an owner who invites ${hasMail ? "by mail" : "without mail"} cannot tell who has an account, and changes no account`, async (t) => {
		const site = await openTestSite(t, { hasMail });
		const mine = await site.addProgramme("Mine");
		const elsewhere = await site.addProgramme("Elsewhere");
		const staff = await site.addStaff();
		const left = await site.addStaff();
		const boss = await site.signIn(staff);
		await boss.submit(`/people/${left.public_id}/deactivate`, {});
		const colleague = await site.addOwner(elsewhere, newEmail("shop"), "Carla Colleague");
		const pending = newEmail("shop");
		await boss.submit(`/programmes/${elsewhere.public_id}/people/invite`, { email: pending, role: "owner" });
		const browser = await site.signIn(await site.addOwner(mine));
		const path = `/programmes/${mine.public_id}/people`;
		const peopleBefore = await site.store.db.selectFrom("people").selectAll().execute();
		const seen: string[][] = [];
		site.mailbox.length = 0;
		const addresses = [newEmail("shop"), staff.email, left.email, colleague.email, pending];
		for (const email of addresses) {
			const pages = [
				await browser.submit(`${path}/invite`, { email, role: "owner" }),
				await browser.open(path),
			];
			const id = /people\/(lnk_\w+)\/link/.exec(pages[1]?.text ?? "")?.[1] ?? "";
			pages.push(await browser.submit(`${path}/${id}/link`, {}));
			const renewed = /people\/(lnk_\w+)\/link/.exec((await browser.open(path)).text)?.[1] ?? "";
			pages.push(await browser.submit(`${path}/${renewed}/remove`, {}), await browser.open(path));
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
		for (const pages of seen) assert.deepEqual(pages, seen[0]);
		assert.deepEqual(await site.store.db.selectFrom("people").selectAll().execute(), peopleBefore);
		// A mail is queued for every address. If only some were, the response time would reveal who is staff.
		for (const email of addresses) {
			const rows = await site.store.db
				.selectFrom("mail_queue")
				.select("id")
				.where("to_address", "=", email)
				.where("subject", "like", '%"Mine"')
				.execute();
			assert.equal(rows.length, hasMail ? 2 : 0, email);
		}
		const mailed = new Set(site.mailbox.map(({ to }) => to));
		assert.deepEqual(
			mailed,
			new Set(hasMail ? addresses.filter((to) => to !== staff.email && to !== left.email) : []),
		);
	});
}

test("a person with an account accepts an invitation once with a button, and must still sign in with the password", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const mine = await site.addProgramme("Mine");
	const colleague = await site.addOwner(await site.addProgramme("Elsewhere"));
	const browser = await site.signIn(await site.addOwner(mine));
	const path = `/programmes/${mine.public_id}/people`;
	await browser.submit(`${path}/invite`, { email: colleague.email, role: "owner" });
	const theirs = await site.signIn(colleague);
	assert.equal((await theirs.open(path)).status, 404, "they have no access before they accept");
	const link = LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	const reader = site.browser();
	const page = await reader.open(link);
	assert.match(
		page.text,
		/You are invited to <strong class="break">Mine<\/strong> as <strong>owner<\/strong>/,
	);
	assert.doesNotMatch(page.text, /type="password"/);
	assert.equal((await theirs.open(path)).status, 404, "opening it changes nothing");
	const accepted = await reader.submit(link, { name: "Mallory", password: "another horse battery" });
	assert.match(accepted.location ?? "", /^\/sign-in\?next=/);
	assert.equal((await reader.open("/programmes")).status, 303, "the link does not sign anybody in");
	assert.match((await theirs.open(path)).text, /Olga Owner<.*Joined/s);
	assert.equal((await site.browser().open(link)).status, 410);
	await site.signIn(colleague);
	const audit = await site.store.db
		.selectFrom("audit_entries")
		.selectAll()
		.where("programme_id", "=", mine.id)
		.execute();
	assert.deepEqual(
		audit.filter(({ subject }) => subject === colleague.email).map(({ action }) => action),
		["person.invited", "person.joined"],
	);
});

test("an owner's invitation ends after seven days, stays on the list, and can be renewed or withdrawn", async (t) => {
	const { site, programme: mine, owner, browser: inviter } = await openAsOwner(t, { hasMail: true }, "Mine");
	const path = `/programmes/${mine.public_id}/people`;
	const invited = await inviter.submit(`${path}/invite`, { email: newEmail("shop"), role: "owner" });
	const link = LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	site.moveClock(7 * 86_400_000);
	assert.equal((await site.browser().open(link)).status, 410);
	const browser = await site.signIn(owner);
	assert.match((await browser.open(path)).text, /Link expired/);
	const id = /people\/(lnk_\w+)\/link/.exec(invited.text)?.[1] ?? "";
	await browser.submit(`${path}/${id}/link`, {});
	const second = LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	assert.notEqual(second, link);
	assert.equal((await site.browser().open(second)).status, 200);
	const renewed = /people\/(lnk_\w+)\/link/.exec((await browser.open(path)).text)?.[1] ?? "";
	assert.equal((await browser.submit(`${path}/${renewed}/remove`, {})).status, 303);
	assert.equal((await site.browser().open(second)).status, 410);
	const outsider = await site.signIn(await site.addOwner(await site.addProgramme("Other")));
	assert.equal((await outsider.submit(`${path}/${renewed}/link`, {})).status, 404);
});

test("a person who is already in the programme cannot be invited again", async (t) => {
	const { site, programme: mine, owner, browser } = await openAsOwner(t, { hasMail: true }, "Mine");
	const path = `/programmes/${mine.public_id}/people`;
	const refused = await browser.submit(`${path}/invite`, { email: owner.email, role: "owner" });
	assert.equal(refused.status, 409);
	assert.match(refused.text, /is in this programme already/);
	assert.deepEqual(site.mailbox, []);
});

test("an address gets at most five invitations an hour including renewals, and a person can send at most fifty", async (t) => {
	const { site, programme: mine, browser } = await openAsOwner(t, { hasMail: true }, "Mine");
	const path = `/programmes/${mine.public_id}/people`;
	const email = newEmail("shop");
	const invite = (to: string) => browser.submit(`${path}/invite`, { email: to, role: "owner" });
	await invite(email);
	for (let renewal = 0; renewal < 4; renewal += 1) {
		const id = /people\/(lnk_\w+)\/link/.exec((await browser.open(path)).text)?.[1] ?? "";
		assert.equal((await browser.submit(`${path}/${id}/link`, {})).status, 200);
	}
	site.moveClock(13 * 60_000);
	const refused = await invite(email.toUpperCase());
	assert.equal(refused.status, 429);
	assert.match(
		refused.text,
		/Several mails were sent to this address within an hour.*try again in 47 minutes/,
	);
	assert.equal(site.mailbox.length, 5);
	// The refused invitation does not count towards the limit of fifty mails.
	for (let sent = 5; sent < 50; sent += 1) assert.equal((await invite(newEmail("shop"))).status, 200);
	assert.match(
		(await invite(newEmail("shop"))).text,
		/You have sent 50 mails within an hour\. Try again in 47 min/,
	);
	const boss = await site.signIn(await site.addStaff());
	assert.equal(
		(await boss.submit("/people/invite", { email: newEmail("network") })).status,
		200,
		"others can still invite",
	);
	site.moveClock(47 * 60_000);
	assert.equal((await invite(email)).status, 200);
});

test("a deactivated person can be invited again", async (t) => {
	const site = await openTestSite(t);
	const [boss, leaver] = [await site.addStaff(), await site.addStaff()];
	const browser = await site.signIn(boss);
	await browser.submit(`/people/${leaver.public_id}/deactivate`, {});
	const token = LINK.exec((await browser.submit(`/people/${leaver.public_id}/link`, {})).text)?.[2] ?? "";
	const theirs = site.browser();
	await theirs.submit(`/welcome/${token}`, { name: "Back again", password: PASSWORD });
	assert.equal((await (await site.signIn(leaver)).open("/people")).status, 200);
});

test("staff cannot deactivate themselves, and cannot deactivate an owner on the page of staff", async (t) => {
	const site = await openTestSite(t);
	const boss = await site.addStaff();
	const owner = await site.addOwner(await site.addProgramme());
	const browser = await site.signIn(boss);
	const page = await browser.open("/people");
	assert.doesNotMatch(page.text, />Deactivate</);
	assert.equal((await browser.submit(`/people/${boss.public_id}/deactivate`, {})).status, 403);
	assert.equal((await browser.submit(`/people/${owner.public_id}/deactivate`, {})).status, 404);
	assert.equal((await browser.submit(`/people/${owner.public_id}/link`, {})).status, 404);
	assert.equal((await browser.open("/people")).status, 200);
});

test("an address that has an account of the other kind is refused at the field", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	const asStaff = await browser.submit("/people/invite", { email: owner.email });
	assert.equal(asStaff.status, 409);
	assert.match(asStaff.text, /id="email-error"/);
	assert.ok(asStaff.text.includes(`${owner.email} `), "the typed address is still in the field");
	const path = `/programmes/${programme.public_id}/people`;
	const asOwner = await browser.submit(`${path}/invite`, { email: staff.email, role: "owner" });
	assert.equal(asOwner.status, 409);
	assert.match(asOwner.text, /id="email-error"/);
});
