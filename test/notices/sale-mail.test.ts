// Tests mails about sales, sent by a real service to a real SMTP server, on both databases. test/contract/sale-mails.test.ts
// tests which mails are written, and when.

import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { MINUTE_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { createPerson } from "#core/people/people.ts";
import { addPartnerPerson } from "#core/store/queries/partner-people.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { foldCode } from "#modules/partners/domain/credit.ts";
import { tellSales } from "#modules/partners/mail/sale-news.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { addPartnership } from "#modules/partners/use-cases/partnerships.ts";
import type { ReceivedMail } from "../support/mail-server.ts";
import { expectValue, type ShopAccount } from "../support/shop-account.ts";
import { createShopClient } from "../support/shop-client.ts";
import { type DatabaseKind, kindsMainly } from "../support/test-database.ts";
import { type Setup, startSetup } from "./notice-setup.ts";

const ZONE = "Europe/Berlin";
const READER = "pia@blog.example";

for (const kind of kindsMainly("SQLite")) {
	test(`a partner's person is mailed about each sale, and a restart or eight rounds at once lose and repeat nothing (${kind})`, async (t) => {
		const { setup, report } = await openPartner(t, kind);
		await report("conversions", { ...SALE, orderId: "A-1" });
		await setup.untilLater(() => about(setup).length === 1);
		const [first] = about(setup);
		deepEqual([first?.to, subject(first)], [[READER], "Sale recorded: 8.00 EUR"]);
		match(textOf(first), /^Sales of "Blog" on 2026-01-15 \(Europe\/Berlin\)$/m);
		match(textOf(first), /^- cnv_\w+: 8\.00 EUR$/m);
		doesNotMatch(textOf(first), /A-1/);

		await setup.stop();
		await setup.start({ withoutMail: true });
		await report("rejections", { orderId: "A-1", reason: "OUT_OF_STOCK" });
		await setup.stop();
		await setup.clock.moveBy(11 * MINUTE_MS);
		await setup.start();
		const deps = { ...setup.service(), publicUrl: "https://ringback.example" };
		await Promise.all(Array.from({ length: 8 }, () => tellSales(deps, () => false)));
		await setup.untilLater(() => about(setup).length === 2);
		match(textOf(about(setup)[1]), /^Rejected: 1 sale, commission 8\.00 EUR\. Reason: out of stock\./m);
		await setup.clock.moveBy(2 * MINUTE_MS);
		equal(about(setup).length, 2);
		deepEqual(await setup.store.db.selectFrom("sale_news").selectAll().execute(), []);
	});
}

const SALE = { basketValue: "100.00", currency: "EUR", couponCode: "BLOG10" };

/** Opens a shop that credits a partner by its coupon code. */
async function openPartner(t: Parameters<typeof startSetup>[0], kind: DatabaseKind) {
	const setup = await startSetup(t, kind);
	const { store } = setup;
	await store.db.updateTable("network").set({ time_zone: ZONE }).execute();
	// The first run of the chore notes where the moves end.
	await setup.untilLater(async () => {
		const { sales_read_at } = await store.db
			.selectFrom("network")
			.select("sales_read_at")
			.executeTakeFirstOrThrow();
		return sales_read_at !== null;
	});
	const shop = await setup.addShop({ name: "Nordlicht", creditsPartners: true });
	const created = { name: "Blog", site: "", created_at_ms: setup.clock.nowMs() };
	const partner = await insertPartner(store.db, { ...created, public_id: `ptn_${"0".repeat(26)}` });
	const { id } = expectValue(await createPerson(setup.service(), { email: READER, kind: "shop" }));
	await setPassword(store.db, id, "hash", setup.clock.nowMs());
	await addPartnerPerson(store.db, partner.id, id);
	await store.db.updateTable("people").set({ mails_sales: "each" }).where("id", "=", id).execute();
	const joined = expectValue(await addPartnership(setup.service(), COMMAND_LINE, shop.programmeRow, partner));
	await insertCode(store.db, {
		...{
			programme_id: shop.programmeRow,
			partnership_id: joined.id,
			code: "BLOG10",
			folded: foldCode("BLOG10"),
		},
		created_at_ms: setup.clock.nowMs(),
	});
	await store.db.deleteFrom("changes_to_tell").execute();
	const report = (call: string, body: Record<string, unknown>) => post(setup, shop, call, body);
	return { setup, report };
}

async function post(
	setup: Setup,
	{ apiKey, secret }: ShopAccount,
	call: string,
	body: Record<string, unknown>,
) {
	const client = createShopClient(setup.service().url, apiKey, secret, setup.clock.nowMs);
	await client.post(`/v1/${call}`, body);
}

/** Returns the mails about sales. */
function about({ mail }: Setup): ReceivedMail[] {
	return mail.mails.filter((one) => /^(?:Sale |Your sales)/.test(subject(one)));
}

function subject(mail: ReceivedMail | undefined): string {
	return mail?.headers.get("subject") ?? "";
}

function textOf(mail: ReceivedMail | undefined): string {
	return mail?.text.replaceAll("\r\n", "\n") ?? "";
}
