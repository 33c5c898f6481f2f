// Tests mails about accounts and programmes, sent by a real service to a real SMTP server, on both databases.
// The tests check contents, recipients and times, that no mail is lost or sent twice, and that a person who
// loses access is mailed only about that.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { createMailDispatcher } from "#core/mail/dispatcher.ts";
import { tellChanges } from "#core/mail/tell.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { inviteStaff, renewLink } from "#core/people/invitations.ts";
import { issueKey, revokeKey } from "#core/programmes/keys.ts";
import { removePostbackUrl, savePostbackUrl } from "#core/programmes/postback-url.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "#core/programmes/signing-secret.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import type { ReceivedMail } from "../support/mail-server.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { expectValue } from "../support/shop-account.ts";
import { signInAs } from "../support/signed-in.ts";
import { kindsMainly } from "../support/test-database.ts";
import { type Setup, startSetup } from "./notice-setup.ts";

const LOOK_MS = 5_000;
const OWNERS = ["one@shop.example", "two@shop.example"];
const STAYS = "stays@shop.example";
const REMOVED = "removed@shop.example";

for (const kind of kindsMainly("SQLite")) {
	describe(`mails about accounts and programmes (${kind})`, { concurrency: 2 }, () => {
		test("a new key is mailed at once to every owner and nobody else, with person, time and advice", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ name: "Garden & Tools", owners: OWNERS });
			await setup.addShop({ name: "Other", owners: ["else@other.example"] });
			const maker = await signInAs(setup.store, await setup.person("one@shop.example"));
			const { key } = expectValue(await issueKey(setup.service(), shop.programmeId, maker));
			await mails(setup, 2);
			deepEqual(setup.mail.mails.flatMap(({ to }) => to).toSorted(), OWNERS);
			const [mail] = setup.mail.mails;
			equal(subject(mail), 'API key issued: "Garden & Tools"');
			const text = textOf(mail);
			match(
				text,
				new RegExp(
					`^2026-01-15 12:00 UTC: A new API key rbk_…${key.slice(-4)} \\("Key 2"\\) was issued\\.`,
					"m",
				),
			);
			match(text, /Done by one@shop\.example\./);
			for (const page of ["integration", "integration/keys"]) {
				const link = `https://ringback\\.example/programmes/${shop.programmeId}/${page}$`;
				match(text, new RegExp(link, "m"));
			}
			match(text, /https:\/\/ringback\.example\/account$/m);
			match(text, /This mail was sent by the affiliate network at https:\/\/ringback\.example/);
			equal(text.includes(key), false);
			// Twenty minutes later there is no further mail.
			await setup.clock.moveBy(20 * MINUTE_MS);
			equal(setup.mail.mails.length, 2);
		});

		test("each change of a programme is mailed, and changes within fifteen minutes go into one mail", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ owners: [OWNERS[0] ?? ""] });
			await walk(setup, shop);
			await mails(setup, 1);
			const told = textOf(setup.mail.mails[0]);
			for (const words of WALKED) match(told, words);
			doesNotMatch(told, /rbk_[0-9a-f]{8}|rbs_[0-9a-f]{8}/);
			equal(subject(setup.mail.mails[0]), '9 changes to the programme: "Shop"');
			const firstAtMs = setup.mail.mails[0]?.atMs ?? 0;
			await savePostbackUrl(setup.service(), shop.programmeId, setup.shop.url(), COMMAND_LINE);
			await setup.clock.moveTo(firstAtMs + 14 * MINUTE_MS);
			await issueKey(setup.service(), shop.programmeId, COMMAND_LINE);
			equal(setup.mail.mails.length, 1, "nothing within the fifteen minutes");
			await setup.clock.moveTo(firstAtMs + 15 * MINUTE_MS);
			await mails(setup, 2);
			equal(subject(setup.mail.mails[1]), '2 changes to the programme: "Shop"');
		});

		test("saving the same Postback URL again, or removing a missing one, is not mailed", async (t) => {
			const setup = await startSetup(t, kind);
			const { programmeId } = await setup.addShop({ owners: ["one@shop.example"] });
			const service = setup.service();
			const audited = async () => {
				const entries = setup.store.db.selectFrom("audit_entries").select("action").orderBy("id");
				const saved = await entries.where("action", "like", "postback_url.%").execute();
				return saved.map(({ action }) => action);
			};
			const known = await audited();
			const url = setup.shop.url("/a?token=1");
			expectValue(await savePostbackUrl(service, programmeId, url, COMMAND_LINE));
			equal(expectValue(await savePostbackUrl(service, programmeId, url, COMMAND_LINE)).replaced, url);
			// A change of the URL's query alone is mailed, although the mail does not show the query.
			expectValue(await savePostbackUrl(service, programmeId, setup.shop.url("/a?token=2"), COMMAND_LINE));
			expectValue(await removePostbackUrl(service, programmeId, COMMAND_LINE));
			equal(expectValue(await removePostbackUrl(service, programmeId, COMMAND_LINE)).count, 0);
			const saved = "postback_url.saved";
			deepEqual((await audited()).slice(known.length), [saved, saved, "postback_url.removed"]);
			await setup.clock.moveBy(MINUTE_MS);
			await setup.until(() => setup.mail.mails.length === 1);
			equal(setup.mail.mails[0]?.headers.get("subject"), '3 changes to the programme: "Shop"');
			expectValue(await removePostbackUrl(service, programmeId, COMMAND_LINE));
			await setup.clock.moveBy(20 * MINUTE_MS);
			equal(setup.mail.mails.length, 1);
		});

		test("a change of an account is mailed to its person only, and a removed owner is mailed", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ owners: OWNERS });
			const thief = await setup.person("one@shop.example");
			const victim = await setup.person("two@shop.example");
			const nowMs = setup.clock.nowMs();
			const address = "203.0.113.9";
			await setup.store.transact((trx) =>
				noteAudit(trx, { personId: victim.id, action: "password.changed", address }, nowMs),
			);
			await mails(setup, 1);
			const [mail] = setup.mail.mails;
			deepEqual([mail?.to, subject(mail)], [["two@shop.example"], "Your account: password changed"]);
			match(textOf(mail), /From the IP address 203\.0\.113\.9\./);
			match(textOf(mail), /https:\/\/ringback\.example\/forgot-password$/m);
			const { programmeRow: programmeId } = shop;
			await setup.store.transact(async (trx) => {
				await trx.deleteFrom("programme_people").where("person_id", "=", victim.id).execute();
				const note = { personId: thief.id, programmeId, action: "person.removed" } as const;
				await noteAudit(trx, { ...note, subject: victim.email, detail: "owner" }, nowMs);
			});
			// The mail about the password was the last to this person, so the next one waits a minute.
			await setup.clock.moveBy(MINUTE_MS);
			await mails(setup, 3);
			deepEqual(
				setup.mail.mails
					.slice(1)
					.flatMap(({ to }) => to)
					.toSorted(),
				OWNERS,
			);
		});

		test("many changes are all mailed, at most 200 in each mail", async (t) => {
			const setup = await startSetup(t, kind);
			await setup.addShop({ owners: OWNERS });
			const { id: personId } = await setup.person("one@shop.example");
			await setup.store.transact(async (trx) => {
				for (let change = 0; change < 230; change++) {
					await noteAudit(trx, { personId, action: "password.changed" }, setup.clock.nowMs());
				}
			});
			await mails(setup, 1);
			await setup.clock.moveBy(MINUTE_MS);
			await mails(setup, 2);
			const told = setup.mail.mails.map(
				(mail) => textOf(mail).split("password of your account was changed").length - 1,
			);
			deepEqual(told, [200, 30]);
		});

		test("a change that is rolled back is not mailed, and nothing breaks without a mail server", async (t) => {
			const setup = await startSetup(t, kind, { withoutMail: true });
			const shop = await setup.addShop({ owners: OWNERS });
			const { id } = await setup.person("one@shop.example");
			const note = { personId: id, action: "password.changed" } as const;
			const failed = setup.store.transact(async (trx) => {
				await noteAudit(trx, note, setup.clock.nowMs());
				throw new Error("rolled back");
			});
			await failed.catch(() => undefined);
			deepEqual(await setup.store.db.selectFrom("changes_to_tell").selectAll().execute(), []);
			expectValue(await issueKey(setup.service(), shop.programmeId, COMMAND_LINE));
			await setup.clock.moveBy(MINUTE_MS);
			equal(setup.mail.mails.length, 0);
			// The change is mailed as soon as there is a mail server, if it is not too old by then.
			await setup.stop();
			await setup.start();
			await mails(setup, 2);
		});

		test("a restart between a change and its mail loses nothing, and two processes mail it once", async (t) => {
			const setup = await startSetup(t, kind, { withoutMail: true });
			const shop = await setup.addShop({ owners: OWNERS });
			await issueKey(setup.service(), shop.programmeId, COMMAND_LINE);
			await setup.stop();
			await setup.start();
			const deps = { ...setup.service(), publicUrl: "https://ringback.example" };
			const isStopping = () => false;
			const rounds = Array.from({ length: 8 }, () => tellChanges(deps, isStopping));
			await Promise.all(rounds);
			await mails(setup, 2);
			await setup.clock.moveBy(20 * MINUTE_MS);
			equal(setup.mail.mails.length, 2);
		});

		test("a removed owner is mailed about the removal only, whatever else is in the digest", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ name: "Garden & Tools", owners: [STAYS, REMOVED] });
			const actor = await setup.person(STAYS);
			const maker = await signInAs(setup.store, actor);
			const { id: removedId } = await setup.person(REMOVED);
			// After this first mail the following changes wait and go into one mail.
			await savePostbackUrl(setup.service(), shop.programmeId, setup.shop.url("/first"), maker);
			await setup.clock.moveBy(LOOK_MS);
			await setup.until(() => setup.mail.mails.length === 2);
			const before = expectValue(await issueKey(setup.service(), shop.programmeId, maker));
			await setup.service().store.transact(async (trx) => {
				await trx.deleteFrom("programme_people").where("person_id", "=", removedId).execute();
				const note = { personId: actor.id, programmeId: shop.programmeRow, detail: "owner" } as const;
				await noteAudit(trx, { ...note, action: "person.removed", subject: REMOVED }, setup.clock.nowMs());
				await noteAudit(
					trx,
					{ ...note, action: "person.invited", subject: "new@shop.example" },
					setup.clock.nowMs(),
				);
			});
			const after = expectValue(await issueKey(setup.service(), shop.programmeId, maker));
			await savePostbackUrl(setup.service(), shop.programmeId, setup.shop.url("/second"), maker);
			await setup.clock.moveBy(16 * MINUTE_MS);
			await setup.until(() => setup.mail.mails.length === 4);
			const toRemoved = mailsTo(setup, REMOVED).slice(1);
			equal(toRemoved.length, 1);
			equal(toRemoved[0]?.headers.get("subject"), 'Your access was ended: "Garden & Tools"');
			const text = toRemoved[0]?.text ?? "";
			match(text, /Your access to the programme "Garden & Tools" was ended\. Done by stays@shop\.example\./);
			match(text, /If you did not expect this, ask the network's staff\./);
			for (const { key } of [before, after]) equal(text.includes(key.slice(-4)), false);
			doesNotMatch(text, /API key|secret|Postback|second|new@shop|programmes\/prg_|password|\/account/);
			const [, told] = mailsTo(setup, STAYS);
			equal(told?.headers.get("subject"), '4 changes to the programme: "Garden & Tools"');
			for (const { key } of [before, after]) ok(told?.text.includes(`rbk_…${key.slice(-4)}`));
			match(told?.text ?? "", /The access of removed@shop\.example was ended/);
			doesNotMatch(told?.text ?? "", /new@shop/, "the mail does not mention an invitation to its sender");
			await setup.clock.moveBy(20 * MINUTE_MS);
			equal(setup.mail.mails.length, 4);
		});

		test("the mail to deactivated staff says whom to ask, and does not tell them to choose a new password", async (t) => {
			const setup = await startSetup(t, kind);
			await setup.addShop({ owners: [STAYS, REMOVED] });
			await setup.store.db.updateTable("people").set({ kind: "staff" }).execute();
			const [actor, left] = [await setup.person(STAYS), await setup.person(REMOVED)];
			const nowMs = setup.clock.nowMs();
			await setup.store.transact(async (trx) => {
				await noteAudit(trx, { personId: left.id, action: "password.changed" }, nowMs);
				await trx.updateTable("people").set({ deactivated_at_ms: nowMs }).where("id", "=", left.id).execute();
				await noteAudit(trx, { personId: actor.id, action: "staff.removed", subject: left.email }, nowMs);
			});
			await setup.clock.moveBy(LOOK_MS);
			await setup.until(() => setup.mail.mails.length === 2);
			deepEqual(
				mailsTo(setup, REMOVED)
					.map(({ headers }) => headers.get("subject"))
					.toSorted(),
				["Your access was ended", "Your account: password changed"],
			);
			for (const { text } of mailsTo(setup, REMOVED)) {
				match(text, /If you did not expect this, ask the network's staff\./);
				doesNotMatch(text, /Choose a new password|forgot-password|\/account/);
			}
		});

		test("if a process dies right after an invitation, the next one sends its mail", async (t) => {
			const setup = await startSetup(t, kind);
			const service = setup.service();
			// This simulates a process that dies at the commit, so that nothing happens after it.
			const clock = { ...setup.clock, yieldLoop: () => new Promise<void>(() => undefined) };
			const dying = { ...service, mails: createMailDispatcher({ ...service, clock }) };
			const email = "new@network.example";
			const links = [expectValue(await inviteStaff(dying, COMMAND_LINE, email)).link];
			const person = await setup.person(email);
			links.push(expectValue(await renewLink(dying, COMMAND_LINE, person.id, { kind: "staff" })).link);
			service.mails.wake();
			await setup.until(() => setup.mail.mails.length === 2);
			for (const [index, { to, text }] of setup.mail.mails.entries()) {
				deepEqual(to, [email]);
				ok(text.includes(links[index] ?? "no link"), text);
			}
		});

		test("while the time is uncertain, no mail is sent or given up", async (t) => {
			const setup = await startSetup(t, kind);
			const { store, mails, ...service } = setup.service();
			const nowMs = () => setup.clock.nowMs() + 31 * DAY_MS;
			const clock = { ...setup.clock, nowMs, isSure: () => false };
			const unsure = createMailDispatcher({ ...service, store, clock });
			const letter = { to: "here@shop.example", subject: "Hello", text: "Hello.", goodForMs: DAY_MS };
			await store.transact((trx) => mails.enqueue(trx, letter));
			unsure.wake();
			await unsure.settled();
			const [row] = await store.db.selectFrom("mail_queue").selectAll().execute();
			deepEqual([row?.sent_at_ms, row?.given_up_at_ms], [null, null]);
			mails.wake();
			await setup.until(() => setup.mail.mails.length === 1);
		});

		test("without PUBLIC_URL, links and the sender line name the listening port", async (t) => {
			const setup = await startSetup(t, kind, { withoutPublicUrl: true });
			const service = setup.service();
			expectValue(await inviteStaff(service, COMMAND_LINE, "new@network.example"));
			await setup.until(() => setup.mail.mails.length === 1);
			const addresses = setup.mail.mails[0]?.text.match(/https?:\/\/[^\s/]+/g) ?? [];
			deepEqual(addresses, [service.url, service.url]);
			equal(service.publicUrl, service.url);
		});
	});
}

const WALKED = [
	/A new API key rbk_…[0-9a-f]{4} \("Key \d"\) was issued/,
	/The API key rbk_…[0-9a-f]{4} \("Key \d"\) was revoked/,
	/A new signing secret rbs_…[0-9a-f]{4} was prepared/,
	/The prepared signing secret rbs_…[0-9a-f]{4} was discarded/,
	/The new signing secret rbs_…[0-9a-f]{4} was activated: callbacks are signed with it/,
	/The old signing secret rbs_…[0-9a-f]{4} was ended/,
	/The Postback URL "https\[:\]\/\/\S+\?…" was saved/,
	/The Postback URL was removed/,
];

async function walk(setup: Setup, { programmeId }: ShopAccount): Promise<void> {
	const service = setup.service();
	const { keyId } = expectValue(await issueKey(service, programmeId, COMMAND_LINE));
	expectValue(await revokeKey(service, programmeId, keyId, COMMAND_LINE));
	const first = expectValue(await prepareSecret(service, programmeId, COMMAND_LINE));
	expectValue(await discardSecret(service, programmeId, first.secretId, COMMAND_LINE));
	const second = expectValue(await prepareSecret(service, programmeId, COMMAND_LINE));
	expectValue(await activateSecret(service, programmeId, second.secretId, COMMAND_LINE));
	expectValue(await endReplacedSecrets(service, programmeId, COMMAND_LINE));
	expectValue(
		await savePostbackUrl(service, programmeId, setup.shop.url("/other?token=very-secret"), COMMAND_LINE),
	);
	expectValue(await removePostbackUrl(service, programmeId, COMMAND_LINE));
}

async function mails(setup: Setup, count: number): Promise<void> {
	// The clock moves to the next poll. Then the mail server needs some time.
	await setup.clock.moveBy(LOOK_MS);
	await setup.until(() => setup.mail.mails.length >= count);
	equal(setup.mail.mails.length, count);
}

function subject(mail: ReceivedMail | undefined): string | undefined {
	return mail?.headers.get("subject");
}

function textOf(mail: ReceivedMail | undefined): string {
	return (mail?.text ?? "").replace(/\r\n/g, "\n");
}

function mailsTo({ mail }: Setup, address: string) {
	return mail.mails.filter(({ to }) => to.includes(address));
}
