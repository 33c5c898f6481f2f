// Whatever changed nothing is no news: neither on record nor in anybody's mailbox.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { removePostbackUrl, savePostbackUrl } from "../../src/accounts/postback-url.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { expectValue } from "../support/shop-account.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { openSetup } from "./notice-setup.ts";

for (const kind of DATABASE_KINDS) {
	describe(`what changed nothing (${kind})`, () => {
		test("the same Postback URL saved again, and one removed that is not there, are told to nobody", async (t) => {
			const setup = await openSetup(t, kind);
			await setup.start();
			const { programmeId } = await setup.addShop({ owners: ["one@shop.example"] });
			const service = setup.service();
			const audited = async () =>
				(
					await setup.store.db
						.selectFrom("audit_entries")
						.select("action")
						.where("action", "like", "postback_url.%")
						.orderBy("id")
						.execute()
				).map(({ action }) => action);
			const known = await audited();
			const url = setup.shop.url("/a?token=1");
			expectValue(await savePostbackUrl(service, programmeId, url));
			equal(expectValue(await savePostbackUrl(service, programmeId, url)).replaced, url);
			// What differs in the query alone is a change, though the mail does not show it.
			expectValue(await savePostbackUrl(service, programmeId, setup.shop.url("/a?token=2")));
			expectValue(await removePostbackUrl(service, programmeId));
			equal(expectValue(await removePostbackUrl(service, programmeId)), 0);
			const saved = "postback_url.saved";
			deepEqual((await audited()).slice(known.length), [saved, saved, "postback_url.removed"]);
			await setup.clock.moveBy(MINUTE_MS);
			await setup.until(() => setup.mail.mails.length === 1);
			equal(setup.mail.mails[0]?.headers.get("subject"), '3 changes to the programme: "Shop"');
			expectValue(await removePostbackUrl(service, programmeId));
			await setup.clock.moveBy(20 * MINUTE_MS);
			equal(setup.mail.mails.length, 1);
		});
	});
}
