// Whoever loses access hears of that, and of nothing else: what happens afterwards is no longer theirs to know. A
// real service, a real SMTP server, both databases.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { issueKey } from "../../src/accounts/keys.ts";
import { savePostbackUrl } from "../../src/accounts/postback-url.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { noteAudit } from "../../src/store/audit.ts";
import { setDeactivated } from "../../src/store/people.ts";
import { expectValue } from "../support/shop-account.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { type Setup, startSetup } from "./notice-setup.ts";

const LOOK_MS = 5_000;
const STAYS = "stays@shop.example";
const REMOVED = "removed@shop.example";

for (const kind of DATABASE_KINDS) {
	describe(`mails to people whose access ended (${kind})`, { concurrency: 2 }, () => {
		test("a removed owner hears of the removal alone, whatever is told together with it", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ name: "Garden & Tools", owners: [STAYS, REMOVED] });
			const actor = await setup.person(STAYS);
			const { id: removedId } = await setup.person(REMOVED);
			// The first mail, so that what follows waits and goes together.
			await savePostbackUrl(setup.service(), shop.programmeId, setup.shop.url("/first"), actor.id);
			await setup.clock.moveBy(LOOK_MS);
			await setup.until(() => setup.mail.mails.length === 2);
			const before = expectValue(await issueKey(setup.service(), shop.programmeId, actor.id));
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
			const after = expectValue(await issueKey(setup.service(), shop.programmeId, actor.id));
			await savePostbackUrl(setup.service(), shop.programmeId, setup.shop.url("/second"), actor.id);
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
			equal(told?.headers.get("subject"), '5 changes to the programme: "Garden & Tools"');
			for (const { key } of [before, after]) ok(told?.text.includes(`rbk_…${key.slice(-4)}`));
			match(told?.text ?? "", /The access of removed@shop\.example was ended/);
			await setup.clock.moveBy(20 * MINUTE_MS);
			equal(setup.mail.mails.length, 4);
		});

		test("deactivated staff are told whom to ask, and not to choose a password that opens nothing", async (t) => {
			const setup = await startSetup(t, kind);
			await setup.addShop({ owners: [STAYS, REMOVED] });
			await setup.store.db.updateTable("people").set({ kind: "staff" }).execute();
			const [actor, left] = [await setup.person(STAYS), await setup.person(REMOVED)];
			const nowMs = setup.clock.nowMs();
			await setup.store.transact(async (trx) => {
				await noteAudit(trx, { personId: left.id, action: "password.changed" }, nowMs);
				await setDeactivated(trx, left.id, nowMs);
				const note = { personId: actor.id, action: "person.removed", subject: left.email } as const;
				await noteAudit(trx, { ...note, detail: "staff" }, nowMs);
			});
			await setup.clock.moveBy(LOOK_MS);
			await setup.until(() => setup.mail.mails.length === 2);
			deepEqual(
				mailsTo(setup, REMOVED)
					.map(({ headers }) => headers.get("subject"))
					.toSorted(),
				["Your access was ended", "Your password was changed"],
			);
			for (const { text } of mailsTo(setup, REMOVED)) {
				match(text, /If you did not expect this, ask the network's staff\./);
				doesNotMatch(text, /Choose a new password|forgot-password|\/account/);
			}
		});
	});
}

function mailsTo({ mail }: Setup, address: string) {
	return mail.mails.filter(({ to }) => to.includes(address));
}
