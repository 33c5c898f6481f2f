import assert from "node:assert/strict";
import { test } from "node:test";
import { addOwner } from "../../store/programmes.ts";
import { newEmail, openTestSite, PASSWORD, type TestSite } from "../test-site.test-support.ts";

const LINK = /https:\/\/ringback\.example\/welcome\/(\w+)/;

test("staff invite another owner, who joins by the link and sees the programme", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Our shop");
	const browser = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/people`;
	await browser.open(path);
	const email = newEmail("shop");
	const invited = await browser.submit(`${path}/invite`, { email });
	assert.equal(invited.status, 200);
	const token = LINK.exec(invited.text)?.[1] ?? "";
	const again = await browser.open(path);
	assert.match(again.text, /Invited<\/span><span class="secondary">link good until/);
	assert.ok(!again.text.includes(token), "the link is shown once");
	const second = site.browser();
	await second.open(`/welcome/${token}`);
	await second.submit(`/welcome/${token}`, { name: "Otto", password: PASSWORD });
	const theirs = await (await site.signIn({ email })).open(path);
	assert.equal(theirs.status, 200);
	assert.match(theirs.text, /Otto<.*Joined/s);
});

test("what is no address is said at the field, with what was typed as text", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const browser = await site.signIn(await site.addOwner(programme));
	const path = `/programmes/${programme.public_id}/people`;
	await browser.open(path);
	const { status, text } = await browser.submit(`${path}/invite`, { email: '"><script>alert(1)</script>' });
	assert.equal(status, 422);
	assert.match(text, /id="email-error"/);
	assert.doesNotMatch(text, /<script>alert/);
});

test("a new link takes the place of the old one, and is for those alone who have not joined", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	const browser = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/people`;
	await browser.open(path);
	const first =
		LINK.exec((await browser.submit(`${path}/invite`, { email: newEmail("shop") })).text)?.[1] ?? "";
	const invitee = await site.store.db
		.selectFrom("people")
		.selectAll()
		.where("name", "=", "")
		.executeTakeFirstOrThrow();
	const second = LINK.exec((await browser.submit(`${path}/${invitee.public_id}/link`, {})).text)?.[1] ?? "";
	assert.notEqual(first, second);
	assert.equal((await site.browser().open(`/welcome/${first}`)).status, 410);
	assert.equal((await site.browser().open(`/welcome/${second}`)).status, 200);
	const joined = await browser.submit(`${path}/${owner.public_id}/link`, {});
	assert.equal(joined.status, 403);
	assert.match(joined.text, /has a password already/);
	assert.doesNotMatch(joined.text, LINK);
});

test("an owner is not shown the link of somebody they invite: its holder becomes that person, here and elsewhere", async (t) => {
	for (const hasMail of [false, true]) {
		const site = await openTestSite(t, { hasMail });
		const victim = await site.addProgramme("Victim");
		const staff = await site.signIn(await site.addStaff());
		const email = newEmail("shop");
		await staff.open(`/programmes/${victim.public_id}/people`);
		await staff.submit(`/programmes/${victim.public_id}/people/invite`, { email });
		const mine = await site.addProgramme("Mine");
		const browser = await site.signIn(await site.addOwner(mine));
		const path = `/programmes/${mine.public_id}/people`;
		await browser.open(path);
		// Not yet anybody's: whoever took this link would be that person wherever they are invited later.
		assert.doesNotMatch((await browser.submit(`${path}/invite`, { email: newEmail("shop") })).text, LINK);
		const invited = await browser.submit(`${path}/invite`, { email });
		assert.equal(invited.status, 200);
		assert.doesNotMatch(invited.text, LINK);
		assert.match(
			invited.text,
			hasMail ? /A mail is on its way/ : /Ask the network&#39;s staff|Ask the network's staff/,
		);
		const { public_id } = await personOf(site, email);
		assert.doesNotMatch((await browser.submit(`${path}/${public_id}/link`, {})).text, LINK);
		// Staff may hand it over.
		assert.match((await staff.submit(`${path}/${public_id}/link`, {})).text, LINK);
	}
});

test("an owner's link cannot be made through a programme they do not look after", async (t) => {
	const site = await openTestSite(t);
	const mine = await site.addProgramme("Mine");
	const theirs = await site.addProgramme("Theirs");
	const staff = await site.signIn(await site.addStaff());
	const email = newEmail("shop");
	await staff.open(`/programmes/${theirs.public_id}/people`);
	await staff.submit(`/programmes/${theirs.public_id}/people/invite`, { email });
	const { public_id } = await personOf(site, email);
	const browser = await site.signIn(await site.addOwner(mine));
	await browser.open(`/programmes/${mine.public_id}/people`);
	for (const action of ["link", "remove"]) {
		const answer = await browser.submit(`/programmes/${mine.public_id}/people/${public_id}/${action}`, {});
		assert.equal(answer.status, 404);
		assert.ok(!answer.text.includes(email));
	}
});

test("a removed owner is out at once; the last one stays", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const [one, two] = [await site.addOwner(programme), await site.addOwner(programme)];
	const [first, second] = [await site.signIn(one), await site.signIn(two)];
	const path = `/programmes/${programme.public_id}/people`;
	assert.match((await first.open(path)).text, new RegExp(`Remove ${two.email}`));
	assert.equal((await first.submit(`${path}/${two.public_id}/remove`, {})).status, 303);
	assert.equal((await second.open(path)).status, 404);
	const alone = await first.open(path);
	assert.doesNotMatch(alone.text, />Remove</);
	const last = await first.submit(`${path}/${one.public_id}/remove`, {});
	assert.equal(last.status, 403);
	assert.match(last.text, /is the last owner/);
	assert.equal((await first.open(path)).status, 200);
});

test("an owner who leaves lands on their own list", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const [one] = [await site.addOwner(programme), await site.addOwner(programme)];
	const browser = await site.signIn(one);
	const path = `/programmes/${programme.public_id}/people`;
	await browser.open(path);
	const left = await browser.submit(`${path}/${one.public_id}/remove`, {});
	assert.deepEqual([left.status, left.location], [303, "/programmes"]);
	assert.match((await browser.open("/programmes")).text, /You left/);
});

test("staff invite staff; whoever is deactivated is signed out at once and cannot come back by themselves", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const [boss, leaver] = [await site.addStaff(), await site.addStaff()];
	const [browser, theirs] = [await site.signIn(boss), await site.signIn(leaver)];
	await browser.open("/people");
	const invited = await browser.submit("/people/invite", { email: newEmail("network") });
	assert.match(invited.text, LINK);
	assert.equal((await theirs.open("/people")).status, 200);
	assert.equal((await browser.submit(`/people/${leaver.public_id}/deactivate`, {})).status, 303);
	assert.equal((await theirs.open("/people")).status, 303);
	const back = site.browser();
	await back.open("/sign-in");
	assert.equal((await back.submit("/sign-in", { email: leaver.email, password: PASSWORD })).status, 401);
	site.mailbox.length = 0;
	await back.open("/forgot-password");
	await back.submit("/forgot-password", { email: leaver.email });
	assert.deepEqual(site.mailbox, []);
	const shown = await browser.open("/people");
	assert.match(shown.text, /Deactivated/);
	assert.match(shown.text, /Invite [^<"]+ again/);
	const audit = await site.store.db
		.selectFrom("audit_entries")
		.selectAll()
		.where("action", "=", "person.removed")
		.execute();
	assert.deepEqual(
		audit.map(({ person_id, subject }) => [person_id, subject]),
		[[boss.id, leaver.email]],
	);
});

test("somebody who was deactivated can be asked back", async (t) => {
	const site = await openTestSite(t);
	const [boss, leaver] = [await site.addStaff(), await site.addStaff()];
	const browser = await site.signIn(boss);
	await browser.open("/people");
	await browser.submit(`/people/${leaver.public_id}/deactivate`, {});
	const token = LINK.exec((await browser.submit(`/people/${leaver.public_id}/link`, {})).text)?.[1] ?? "";
	const theirs = site.browser();
	await theirs.open(`/welcome/${token}`);
	await theirs.submit(`/welcome/${token}`, { name: "Back again", password: PASSWORD });
	assert.equal((await (await site.signIn(leaver)).open("/people")).status, 200);
});

test("an open link of somebody who is deactivated stops working", async (t) => {
	const site = await openTestSite(t);
	const browser = await site.signIn(await site.addStaff());
	await browser.open("/people");
	const email = newEmail("network");
	const token = LINK.exec((await browser.submit("/people/invite", { email })).text)?.[1] ?? "";
	const { public_id } = await personOf(site, email);
	await browser.submit(`/people/${public_id}/deactivate`, {});
	assert.equal((await site.browser().open(`/welcome/${token}`)).status, 410);
});

test("nobody deactivates themselves, and an owner is none of the staff", async (t) => {
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

test("an address that has an account with another role is refused at the field", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	await browser.open("/people");
	const asStaff = await browser.submit("/people/invite", { email: owner.email });
	assert.equal(asStaff.status, 409);
	assert.match(asStaff.text, /id="email-error"/);
	const path = `/programmes/${programme.public_id}/people`;
	const asOwner = await browser.submit(`${path}/invite`, { email: staff.email });
	assert.equal(asOwner.status, 409);
	assert.match(asOwner.text, /id="email-error"/);
});

test("a name of markup is text in both lists", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const markup = "<b onmouseover=alert(1)>Olga</b>";
	const owner = await site.addOwner(programme, newEmail("shop"), markup);
	const staff = await site.addStaff(newEmail("network"), markup);
	await addOwner(site.store.db, programme.id, owner.id);
	const browser = await site.signIn(staff);
	for (const path of ["/people", `/programmes/${programme.public_id}/people`]) {
		const { text } = await browser.open(path);
		assert.ok(!text.includes(markup), path);
		assert.match(text, /&lt;b onmouseover/, path);
	}
});

function personOf({ store }: TestSite, email: string) {
	return store.db.selectFrom("people").selectAll().where("email", "=", email).executeTakeFirstOrThrow();
}
