// Whatever changed nothing is no news: neither on record nor in anybody's mailbox.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { removePostbackUrl, savePostbackUrl } from "../../src/accounts/postback-url.ts";
import { expectValue } from "../support/shop-account.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { openSite } from "./notice-site.ts";

const MINUTE_MS = 60_000;

for (const kind of DATABASE_KINDS) {
	describe(`what changed nothing (${kind})`, () => {
		test("the same Postback URL saved again, and one removed that is not there, are told to nobody", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			const { programmeId } = await site.addShop({ owners: ["one@shop.example"] });
			const service = site.service();
			const audited = async () =>
				(
					await site.store.db
						.selectFrom("audit_entries")
						.select("action")
						.where("action", "like", "postback_url.%")
						.orderBy("id")
						.execute()
				).map(({ action }) => action);
			const known = await audited();
			const url = site.shop.url("/a?token=1");
			expectValue(await savePostbackUrl(service, programmeId, url));
			equal(expectValue(await savePostbackUrl(service, programmeId, url)).replaced, url);
			// What differs in the query alone is a change, though the mail does not show it.
			expectValue(await savePostbackUrl(service, programmeId, site.shop.url("/a?token=2")));
			expectValue(await removePostbackUrl(service, programmeId));
			equal(expectValue(await removePostbackUrl(service, programmeId)), 0);
			const saved = "postback_url.saved";
			deepEqual((await audited()).slice(known.length), [saved, saved, "postback_url.removed"]);
			await site.clock.moveBy(MINUTE_MS);
			await site.until(() => site.mail.mails.length === 1);
			equal(site.mail.mails[0]?.headers.get("subject"), '3 changes to the programme: "Shop"');
			expectValue(await removePostbackUrl(service, programmeId));
			await site.clock.moveBy(20 * MINUTE_MS);
			equal(site.mail.mails.length, 1);
		});
	});
}
