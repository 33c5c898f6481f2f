// Tests who may belong to a partner and to its programmes, who is mailed about the people of a partner, and
// that archived partners and programmes get no new partnership. The tests run on both databases.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { MINUTE_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Mail } from "#core/ports.ts";
import { archiveProgramme } from "#core/programmes/archive.ts";
import { addPartnerPerson, removePartnerPerson, signsInFor } from "#core/store/queries/partner-people.ts";
import { findPersonByEmail } from "#core/store/queries/people.ts";
import { findRole } from "#core/store/queries/programme-people.ts";
import { listSecretsPreparedBy } from "#core/store/queries/signing-secrets.ts";
import { createTestSite, LINK, newEmail, PASSWORD, type TestSite } from "#core/web/test-site.test-support.ts";
import { insertApplication } from "#modules/partners/store/applications.ts";
import { acceptApplication } from "#modules/partners/use-cases/applications.ts";
import { archivePartner } from "#modules/partners/use-cases/archive.ts";
import { addPartnership, invitePartnerTo } from "#modules/partners/use-cases/partnerships.ts";
import { addSamplePartner } from "#modules/partners/use-cases/sample.ts";
import { addCreditingProgramme, addPartner, join } from "#modules/partners/web/partner-shop.test-support.ts";
import { mainlyOn } from "../support/databases.ts";
import { newId } from "../support/rows.ts";
import { signInAs } from "../support/signed-in.ts";

mainlyOn("PostgreSQL", "people of partners", (database) => {
	let site: TestSite;

	before(() => {
		site = createTestSite(database.store, { hasMail: true });
	});

	/** Adds a partner with one person, who is signed in. */
	async function openPartner(name: string) {
		const { partner, email } = await addPartner(site, name);
		const base = `/partner/${partner.public_id}`;
		return { partner, email, base, browser: await site.signIn({ email }) };
	}

	function lastLink(): string {
		return LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	}

	/** Sends the mails about changes that are due now, so that they are not among the mails of the next test. */
	async function sendDueMails(): Promise<Mail[]> {
		site.mailbox.length = 0;
		site.moveClock(15 * MINUTE_MS);
		await site.tellChanges();
		return [...site.mailbox];
	}

	async function idOf(email: string): Promise<number> {
		return (await findPersonByEmail(site.store.db, email))?.id ?? 0;
	}

	test("a person who joins a partner is reported to its other people, and to no programme", async () => {
		// The partner's name is that of a role. The mail must not say that the person has this role.
		const { partner, email, base, browser } = await openPartner("owner");
		const elsewhere = await site.addProgramme("Elsewhere");
		await site.addOwner(elsewhere);
		const invited = await site.addOwner(elsewhere);
		await browser.submit(`${base}/people/invite`, { email: invited.email });
		const link = lastLink();
		await sendDueMails();
		await site.browser().submit(link, {});
		const [mail, ...others] = await sendDueMails();
		deepEqual([mail?.to, mail?.subject, others], [email, 'Person joined a partner: "owner"', []]);
		match(mail?.text ?? "", new RegExp(`${invited.email} joined the partner\\. Done by "Olga Owner"`));
		match(mail?.text ?? "", new RegExp(`^ {3}https://ringback\\.example${base}/people$`, "m"));
		doesNotMatch(mail?.text ?? "", /as owner|programme|password/);
		const joins = await site.audit("partner.person_joined");
		const joined = joins.find(({ detail }) => detail === invited.email);
		deepEqual([joined?.subject, joined?.programme_id], [partner.public_id, null]);
	});

	test("a new account that joins a partner is reported to everybody who still signs in for it", async () => {
		const { partner, email, base, browser } = await openPartner("Growing");
		const staff = await site.signIn(await site.addStaff());
		const [second, third] = [newEmail("shop"), newEmail("shop")];
		// The first invitation is by staff, and the second by the partner's own people.
		const shown = await staff.submit(`${base}/people/invite`, { email: second });
		const secondLink = LINK.exec(shown.text)?.[1] ?? lastLink();
		await sendDueMails();
		await site.browser().submit(secondLink, { name: "Second", password: PASSWORD });
		deepEqual(
			(await sendDueMails()).map(({ to }) => to),
			[email],
		);
		await browser.submit(`${base}/people/invite`, { email: third });
		const thirdLink = lastLink();
		await sendDueMails();
		await site.browser().submit(thirdLink, { name: "Third", password: PASSWORD });
		await removePartnerPerson(site.store.db, partner.id, await idOf(second));
		const mails = await sendDueMails();
		deepEqual(
			mails.map(({ to }) => to),
			[email],
			"a person who was removed before the mail was sent gets none",
		);
		match(mails[0]?.text ?? "", new RegExp(`${third} joined the partner`));
	});

	test("a withdrawn invitation is not mailed to the invited person, and a programme's owners are mailed", async () => {
		const { base, browser } = await openPartner("Withdrawing");
		const programme = await site.addProgramme("Nordlicht");
		const owner = await site.addOwner(programme);
		const invited = await site.addOwner(await site.addProgramme("Elsewhere"));
		const ownerBrowser = await site.signIn(owner);
		await browser.submit(`${base}/people/invite`, { email: invited.email });
		const people = `/programmes/${programme.public_id}/people`;
		await ownerBrowser.submit(`${people}/invite`, { email: invited.email, role: "viewer" });
		await sendDueMails();
		for (const [sender, page] of [
			[browser, `${base}/people`],
			[ownerBrowser, people],
		] as const) {
			const id = /people\/(lnk_\w+)\/remove/.exec((await sender.open(page)).text)?.[1] ?? "";
			await sender.submit(`${page}/${id}/remove`, {});
		}
		const mails = await sendDueMails();
		deepEqual(
			mails.map(({ to, subject }) => [to, subject]),
			[[owner.email, 'Invitation withdrawn: "Nordlicht"']],
		);
		match(mails[0]?.text ?? "", new RegExp(`The invitation of ${invited.email} was withdrawn`));
		deepEqual(
			(await site.audit("invitation.withdrawn")).map(({ subject, detail }) => [subject, detail]),
			[
				[invited.email, "Withdrawing"],
				[invited.email, null],
			],
		);
	});

	test("a person who is removed from a partner called staff is not told that they were staff", async () => {
		const { base, email } = await openPartner("staff");
		const { public_id: id } = (await findPersonByEmail(site.store.db, email)) ?? { public_id: "" };
		const boss = await site.addStaff();
		const left = await site.addStaff();
		const browser = await site.signIn(boss);
		await sendDueMails();
		await browser.submit(`${base}/people/${id}/remove`, {});
		const [ofPartner, ...others] = await sendDueMails();
		deepEqual([ofPartner?.to, others], [email, []]);
		match(ofPartner?.text ?? "", /Your access for the partner "staff" was ended\./);
		await browser.submit(`/people/${left.public_id}/deactivate`, {});
		const [ofStaff] = await sendDueMails();
		deepEqual([ofStaff?.to, ofStaff?.subject], [left.email, "Your access was ended"]);
		match(ofStaff?.text ?? "", /Your access as one of the network's staff was ended\./);
	});

	test("a signing secret that a removed person prepared for the partner ends, and one for another partner stays", async () => {
		const [left, other] = [await openPartner("Left"), await openPartner("Still theirs")];
		const { db } = site.store;
		const person = await findPersonByEmail(db, left.email);
		ok(person);
		await addPartnerPerson(db, other.partner.id, person.id);
		for (const base of [left.base, other.base]) {
			const url = { postbackUrl: "https://blog.example/hook", form: "json", approved: "on" };
			equal((await left.browser.submit(`${base}/callbacks/url`, url)).status, 200);
			await left.browser.submit(`${base}/callbacks/secret`, {});
		}
		const [prepared, kept, ...others] = await listSecretsPreparedBy(db, person.id);
		ok(prepared && kept);
		deepEqual([prepared.partner_id, kept.partner_id, others], [left.partner.id, other.partner.id, []]);
		const staff = await site.signIn(await site.addStaff());
		await staff.submit(`${left.base}/people/${person.public_id}/remove`, {});
		match((await staff.open(`${left.base}/people`)).text, /2 sessions and 1 prepared secret were ended/);
		const usable = await listSecretsPreparedBy(db, person.id);
		deepEqual(
			usable.map(({ id }) => id),
			[kept.id],
		);
		const discarded = await site.audit("partner.secret_discarded");
		deepEqual(
			discarded.map(({ subject, detail }) => [subject, detail]),
			[[left.partner.public_id, `rbs_…${prepared.hint}`]],
		);
		deepEqual(await site.audit("secret.discarded"), []);
	});

	test("a person of a partner cannot accept a role in its programme, but staff can add them", async () => {
		const { partner, email } = await openPartner("Paid");
		const programme = await addCreditingProgramme(site, "Paying");
		await join(site, programme, partner);
		const owner = await site.signIn(await site.addOwner(programme));
		const people = `/programmes/${programme.public_id}/people/invite`;
		await owner.submit(people, { email, role: "owner" });
		const refused = await site.browser().submit(lastLink(), {});
		equal(refused.status, 403);
		match(refused.text, /Only the network&#39;s staff can add you to the programme/);
		equal(await findRole(site.store.db, programme.id, await idOf(email)), undefined);
		const other = await site.addProgramme("Not theirs");
		const otherOwner = await site.signIn(await site.addOwner(other));
		await otherOwner.submit(`/programmes/${other.public_id}/people/invite`, { email, role: "viewer" });
		await site.browser().submit(lastLink(), {});
		equal(await findRole(site.store.db, other.id, await idOf(email)), "viewer");
		const staff = await site.signIn(await site.addStaff());
		await staff.submit(people, { email, role: "viewer" });
		equal(await findRole(site.store.db, programme.id, await idOf(email)), "viewer");
	});

	test("a person who is invited to a programme cannot join its partner, with or without an account", async () => {
		const { partner, base, browser } = await openPartner("Inviting");
		const programme = await addCreditingProgramme(site, "Also inviting");
		await join(site, programme, partner);
		const owner = await site.signIn(await site.addOwner(programme));
		const known = await site.addOwner(await site.addProgramme("Elsewhere"));
		for (const email of [known.email, newEmail("shop")]) {
			await owner.submit(`/programmes/${programme.public_id}/people/invite`, { email, role: "viewer" });
			await browser.submit(`${base}/people/invite`, { email });
			const refused = await site.browser().submit(lastLink(), { name: "New", password: PASSWORD });
			equal(refused.status, 403);
			match(refused.text, /Only the network&#39;s staff can add you to the partner/);
			equal(await signsInFor(site.store.db, partner.id, await idOf(email)), false);
		}
	});

	/** Returns the numbers of rows that a refused partnership must not change. */
	async function countRows(): Promise<number[]> {
		const tables = ["partners", "partnerships", "partner_people", "people", "applications"] as const;
		const counts = [];
		for (const table of [...tables, "sign_in_links", "audit_entries", "mail_queue"] as const) {
			const rows = site.store.db.selectFrom(table).select((eb) => eb.fn.countAll<number>().as("count"));
			counts.push(Number((await rows.executeTakeFirstOrThrow()).count));
		}
		return counts;
	}

	test("an archived partner gets no partnership, and its person's application stays open", async () => {
		const { partner, email } = await openPartner("Archived");
		const programme = await addCreditingProgramme(site, "Open");
		const owner = await signInAs(site.store, await site.addOwner(programme));
		const staff = await signInAs(site.store, await site.addStaff());
		const application = await apply(programme.id, email);
		ok((await archivePartner(site.deps, staff, partner.id)).ok);
		const before = await countRows();
		const added = await addPartnership(site.deps, staff, programme.id, partner);
		match(added.ok ? "" : added.fault.detail, /The network archived the partner Archived/);
		const byOwner = await acceptApplication(site.deps, owner, programme.id, application);
		match(byOwner.ok ? "" : byOwner.fault.detail, /This address cannot be a partner here/);
		const byStaff = await acceptApplication(site.deps, staff, programme.id, application);
		match(byStaff.ok ? "" : byStaff.fault.detail, /The network archived the partner Archived/);
		deepEqual(await countRows(), before, "nothing was written");
	});

	test("an archived programme gets no partnership, and applications to it stay open", async () => {
		const { partner } = await openPartner("Late");
		const programme = await addCreditingProgramme(site, "Closed");
		const owner = await signInAs(site.store, await site.addOwner(programme));
		const staff = await signInAs(site.store, await site.addStaff());
		const application = await apply(programme.id, newEmail("shop"));
		ok((await archiveProgramme(site.deps, COMMAND_LINE, programme.public_id)).ok);
		const before = await countRows();
		const input = { name: "New", site: "", email: newEmail("shop") };
		for (const refused of [
			await addPartnership(site.deps, staff, programme.id, partner),
			await invitePartnerTo(site.deps, staff, programme.id, input),
			await acceptApplication(site.deps, owner, programme.id, application),
			await addSamplePartner(site.deps, COMMAND_LINE, programme.id),
		]) {
			match(refused.ok ? "" : refused.fault.detail, /The network archived the programme Closed/);
		}
		deepEqual(await countRows(), before, "nothing was written");
	});

	async function apply(programmeId: number, email: string): Promise<string> {
		const public_id = newId("apl");
		const row = { public_id, email, name: "Applicant", site: "", about: "News", terms: "" };
		ok(await insertApplication(site.store.db, { ...row, programme_id: programmeId, created_at_ms: 0 }));
		return public_id;
	}
});
