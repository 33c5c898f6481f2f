// Tests roles on the People page: inviting with a role, changing a role, and the rights that end with a role.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectValue } from "../../../../test/support/shop-account.ts";
import { COMMAND_LINE } from "../../people/actor.ts";
import { issueKey } from "../../programmes/keys.ts";
import type { Person } from "../../store/queries/people.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { listSecretsPreparedBy } from "../../store/queries/signing-secrets.ts";
import {
	type Browser,
	LINK,
	newEmail,
	openTestSite,
	PASSWORD,
	type TestSite,
} from "../test-site.test-support.ts";

for (const inviter of ["owner", "staff"] as const) {
	test(`an invitation as developer by ${inviter} names the role, and the invited person gets only the rights of this role`, async (t) => {
		const { site, programme, path, browser } = await openShop(t, inviter);
		const email = newEmail("shop");
		const unnamed = await browser.submit(`${path}/invite`, { email });
		assert.deepEqual(
			[unnamed.status, /id="role-error"/.test(unnamed.text)],
			[422, true],
			"a role must be chosen",
		);
		assert.equal((await browser.submit(`${path}/invite`, { email, role: "developer" })).status, 200);
		const mail = site.mailbox.at(-1);
		assert.equal(mail?.subject, 'You\'re invited to "Garden & Tools" as a developer');
		assert.match(
			mail?.text ?? "",
			/Your role: developer\. This role manages keys.*cannot approve conversions/,
		);
		const link = LINK.exec(mail?.text ?? "")?.[1] ?? "";
		const reader = site.browser();
		const page = await reader.open(link);
		if (inviter === "owner")
			assert.match(page.text, /Garden &amp; Tools<\/strong> as <strong>developer<\/strong>/);
		assert.equal((await reader.submit(link, { name: "Dora", password: PASSWORD })).status, 303);
		assert.equal(await roleOf(site, programme, email), "developer");
		assert.equal((await reader.open(`/programmes/${programme.public_id}/integration`)).status, 200);
		const list = await reader.open(path);
		assert.equal(list.status, 200);
		assert.doesNotMatch(list.text, /Invite a person|>Remove<|>Change<|New link/);
		for (const [action, fields] of [
			["invite", { email: newEmail("shop"), role: "owner" }],
			[`${(await personOf(site, email)).public_id}/role`, { role: "owner" }],
		] as const) {
			const denied = await reader.submit(`${path}/${action}`, fields);
			assert.equal(denied.status, 403, action);
			assert.match(denied.text, /You don&#39;t have access/);
		}
		assert.equal(await roleOf(site, programme, email), "developer");
	});
}

test("a role that is changed on the list is mailed to the person and to the owners, and is in the audit log", async (t) => {
	const { site, programme, path, browser, owner } = await openShop(t, "owner");
	const person = await site.addPerson(programme, "viewer");
	const saved = await browser.submit(`${path}/${person.public_id}/role`, { role: "developer" });
	assert.deepEqual([saved.status, saved.location], [303, path]);
	assert.match((await browser.open(path)).text, /Saved\. Some viewer is now developer \(was viewer\)\./);
	assert.equal(await roleOf(site, programme, person.email), "developer");
	await site.tellChanges();
	const mails = new Map(site.mailbox.map(({ to, subject, text }) => [to, { subject, text }]));
	assert.deepEqual([...mails.keys()].sort(), [owner.email, person.email].sort());
	assert.equal(mails.get(person.email)?.subject, 'Your role was changed: "Garden & Tools"');
	assert.match(
		mails.get(person.email)?.text ?? "",
		/Your role in the programme "Garden & Tools" was changed: viewer → developer\./,
	);
	assert.match(mails.get(owner.email)?.text ?? "", /The role of \S+ was changed \(viewer → developer\)/);
	const again = await browser.submit(`${path}/${person.public_id}/role`, { role: "developer" });
	assert.equal(again.status, 303);
	assert.match((await browser.open(path)).text, /is developer already\. Nothing was changed/);
	assert.deepEqual(await changesOf(site), [[owner.id, person.email, "viewer → developer"]]);
	const king = await browser.submit(`${path}/${person.public_id}/role`, { role: "king" });
	assert.equal(king.status, 422);
	assert.doesNotMatch(king.text, /id="role-error"/, "the field with this id belongs to the invitation form");
	assert.match(king.text, /Choose a role: owner, developer or viewer/);
});

test("the last owner cannot be removed or get another role, not even by staff", async (t) => {
	const { site, programme, path, browser, owner } = await openShop(t, "owner");
	const other = await site.addPerson(programme, "developer");
	const staff = await site.signIn(await site.addStaff());
	for (const who of [browser, staff]) {
		const page = await who.open(path);
		assert.doesNotMatch(page.text, new RegExp(`people/${owner.public_id}/(role|remove)`));
		for (const [action, fields] of [
			["role", { role: "viewer" }],
			["remove", {}],
		] as const) {
			const refused = await who.submit(`${path}/${owner.public_id}/${action}`, fields);
			assert.equal(refused.status, 403);
			assert.match(refused.text, /is the last owner of this programme\. Make another person an owner first/);
		}
	}
	assert.equal(await roleOf(site, programme, owner.email), "owner");
	await browser.submit(`${path}/${other.public_id}/role`, { role: "owner" });
	const lowered = await browser.submit(`${path}/${owner.public_id}/role`, { role: "viewer" });
	assert.deepEqual(
		[lowered.status, lowered.location],
		[303, path],
		"with a second owner it is allowed, and they stay signed in",
	);
	assert.equal((await browser.open(path)).status, 200);
	assert.equal(
		(await browser.submit(`${path}/invite`, { email: newEmail("shop"), role: "owner" })).status,
		403,
	);
});

for (const role of ["developer", "viewer", "owner"] as const) {
	test(`a ${role} can leave the programme, is signed out, and the owners get a mail`, async (t) => {
		const { site, programme, path, owner } = await openShop(t, "owner");
		const person = await site.addPerson(programme, role);
		const browser = await site.signIn(person);
		const { text } = await browser.open(path);
		assert.equal(text.match(/people\/leave"/g)?.length, 1, "only in their own row");
		assert.match((await browser.open(`${path}/leave`)).text, /<h1>Leave Garden &amp; Tools\?<\/h1>/);
		const left = await browser.submit(`${path}/leave`, { personId: owner.public_id });
		assert.deepEqual([left.status, left.location], [303, "/sign-in"]);
		assert.match((await browser.open("/sign-in")).text, /You left Garden &amp; Tools\./);
		assert.equal(await roleOf(site, programme, person.email), undefined);
		assert.equal(await roleOf(site, programme, owner.email), "owner");
		assert.equal((await (await site.signIn(person)).open(path)).status, 404);
		await site.tellChanges();
		const ownerMail = site.mailbox.find(({ to }) => to === owner.email);
		assert.match(
			ownerMail?.text ?? "",
			new RegExp(`The access of ${person.email} was ended\\. Done by .*${person.email}`),
		);
	});
}

test("the last owner and staff cannot leave, and the page does not offer it", async (t) => {
	const { site, programme, path, browser, owner } = await openShop(t, "owner");
	const staff = await site.signIn(await site.addStaff());
	for (const who of [browser, staff]) {
		assert.doesNotMatch((await who.open(path)).text, /people\/leave/);
		const status = (await who.submit(`${path}/leave`, {})).status;
		assert.equal(status, who === browser ? 403 : 404);
	}
	assert.equal(await roleOf(site, programme, owner.email), "owner");
});

test("a person who may no longer invite loses the invitations sent for this programme, and nothing else", async (t) => {
	const { site, programme, path, browser } = await openShop(t, "owner");
	const elsewhere = await site.addProgramme("Elsewhere");
	const lowered = await site.addOwner(programme, newEmail("shop"), "Lara");
	await site.store.db
		.insertInto("programme_people")
		.values({ programme_id: elsewhere.id, person_id: lowered.id, role: "owner" })
		.execute();
	const theirs = await site.signIn(lowered);
	const here = await inviteBy(site, theirs, path, "x@shop.example");
	const there = await inviteBy(site, theirs, `/programmes/${elsewhere.public_id}/people`, "y@shop.example");
	const others = await inviteBy(site, browser, path, "z@shop.example");
	assert.equal(
		(await browser.submit(`${path}/${lowered.public_id}/role`, { role: "developer" })).status,
		303,
	);
	const page = await browser.open(path);
	assert.match(page.text, /Lara is now developer \(was owner\)\. 1 link was ended\./);
	assert.match(page.text, /x@<wbr>shop.*Withdrawn<\/span>/s);
	const statuses = [];
	for (const link of [here, there, others]) statuses.push((await site.browser().open(link)).status);
	assert.deepEqual(statuses, [410, 200, 200]);
	assert.equal((await theirs.open("/account")).status, 200, "they stay signed in");
	const withdrawn = await site.audit("link.withdrawn");
	assert.deepEqual(
		withdrawn.map(({ subject, detail }) => [subject, detail]),
		[["x@shop.example", `programme invitation: ${lowered.email} may no longer invite people`]],
	);
});

for (const role of ["developer", "viewer"] as const) {
	test(`an owner who becomes ${role} leaves no API key or prepared secret that can do more than a ${role}`, async (t) => {
		const { site, programme, path, browser, owner } = await openShop(t, "owner");
		const { store } = site;
		const lowered = await site.addOwner(programme, newEmail("shop"), "Lara");
		const keysOf = async (person: Person) => {
			const rows = await store.db
				.selectFrom("api_keys")
				.selectAll()
				.where("issued_by", "=", person.id)
				.orderBy("id")
				.execute();
			return rows.map(({ key_right, revoked_at_ms }) => [key_right, revoked_at_ms === null]);
		};
		const issued = [
			[lowered, "decide"],
			[owner, "decide"],
			[lowered, "report"],
			[lowered, "decide"],
		] as const;
		for (const [person, key_right] of issued) {
			const { keyId } = expectValue(await issueKey(site.deps, programme.public_id, COMMAND_LINE));
			const values = { key_right, issued_by: person.id };
			await store.db.updateTable("api_keys").set(values).where("public_id", "=", keyId).execute();
		}
		const theirs = await site.signIn(lowered);
		await theirs.submit(`/programmes/${programme.public_id}/integration/keys/secret`, {});
		assert.equal(
			(await listSecretsPreparedBy(store.db, lowered.id, { programmeId: programme.id })).length,
			1,
		);
		const announced: (number | null)[] = [];
		store.onChange((id) => announced.push(id));
		await browser.submit(`${path}/${lowered.public_id}/role`, { role });
		const isDeveloper = role === "developer";
		const expected = isDeveloper
			? /was owner\)\. 2 API keys can no longer approve or reject\./
			: /was owner\)\. 3 API keys and 1 prepared secret were ended\./;
		const { text } = await browser.open(path);
		assert.match(text, expected);
		assert.match(text, /A lower role also limits the API keys that the person issued/);
		const report = ["report", true];
		const revoked = [
			["decide", false],
			["report", false],
			["decide", false],
		];
		assert.deepEqual(await keysOf(lowered), isDeveloper ? [report, report, report] : revoked);
		assert.deepEqual(await keysOf(owner), [["decide", true]], "the keys of the other owner are unchanged");
		const prepared = await listSecretsPreparedBy(store.db, lowered.id, { programmeId: programme.id });
		assert.equal(prepared.length, isDeveloper ? 1 : 0);
		assert.equal((await site.audit("key.lowered")).length, isDeveloper ? 2 : 0);
		assert.equal((await site.audit("key.revoked")).length, isDeveloper ? 0 : 3);
		assert.equal((await site.audit("secret.discarded")).length, isDeveloper ? 0 : 1);
		assert.ok(announced.includes(programme.id), "the change is announced, so that cached keys are reloaded");
	});
}

test("the role of an open invitation cannot be changed, and a new link has the same role", async (t) => {
	const { site, path, browser } = await openShop(t, "owner");
	const first = await inviteBy(site, browser, path, newEmail("shop"), "developer");
	const page = (await browser.open(path)).text;
	assert.doesNotMatch(page, /people\/lnk_\w+\/role/);
	const waiting = /people\/(lnk_\w+)\/link/.exec(page)?.[1] ?? "";
	assert.equal((await browser.submit(`${path}/${waiting}/role`, { role: "viewer" })).status, 404);
	await browser.submit(`${path}/${waiting}/link`, {});
	assert.match(site.mailbox.at(-1)?.subject ?? "", /as a developer$/);
	assert.equal((await site.browser().open(first)).status, 410);
});

interface Shop {
	site: TestSite;
	programme: Programme;
	path: string;
	owner: Person;
	/** Browser of the owner or of a member of staff, whichever the test chose. */
	browser: Browser;
}

async function openShop(t: Parameters<typeof openTestSite>[0], inviter: "owner" | "staff"): Promise<Shop> {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme("Garden & Tools");
	const owner = await site.addOwner(programme);
	const path = `/programmes/${programme.public_id}/people`;
	const browser = await site.signIn(inviter === "owner" ? owner : await site.addStaff());
	return { site, programme, path, owner, browser };
}

async function inviteBy(
	site: TestSite,
	browser: Browser,
	path: string,
	email: string,
	role = "owner",
): Promise<string> {
	assert.equal((await browser.submit(`${path}/invite`, { email, role })).status, 200);
	return LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? assert.fail("no link was mailed");
}

function personOf({ store }: TestSite, email: string): Promise<Person> {
	return store.db.selectFrom("people").selectAll().where("email", "=", email).executeTakeFirstOrThrow();
}

async function roleOf({ store }: TestSite, { id }: Programme, email: string): Promise<string | undefined> {
	const row = await store.db
		.selectFrom("programme_people")
		.innerJoin("people", "people.id", "programme_people.person_id")
		.select("programme_people.role")
		.where("programme_people.programme_id", "=", id)
		.where("people.email", "=", email)
		.executeTakeFirst();
	return row?.role;
}

async function changesOf({ audit }: TestSite) {
	const rows = await audit("person.role_changed");
	return rows.map(({ person_id, subject, detail }) => [person_id, subject, detail]);
}
