// Tests which mails about money are written, and when, on both databases: news about sales to the people of partners,
// and the weekly mail to owners. test/notices/sale-mail.test.ts sends them through a real mail server.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { changeOrders } from "#core/conversions/change-orders.ts";
import { decideConversion } from "#core/conversions/decide.ts";
import { recordConversion } from "#core/conversions/record.ts";
import type { Move, Reason } from "#core/domain/conversion.ts";
import type { SaleMails } from "#core/domain/notice.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "#core/domain/time.ts";
import { createPerson } from "#core/people/people.ts";
import type { Mail } from "#core/ports.ts";
import { findNewestMove } from "#core/store/queries/announced-moves.ts";
import { type Conversion, findByPublicId } from "#core/store/queries/conversions.ts";
import { addPartnerPerson } from "#core/store/queries/partner-people.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { findPersonByEmail } from "#core/store/queries/people.ts";
import { createTestSite, START_MS, type TestSite } from "#core/web/test-site.test-support.ts";
import { tellSales } from "#modules/partners/mail/sale-news.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import {
	addCredited,
	addCreditingProgramme,
	addPartner,
	join,
	type PartnerShop,
} from "#modules/partners/web/partner-shop.test-support.ts";
import { refundOn } from "#modules/refunds/use-cases/refund.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { setProgramme } from "../support/change-rows.ts";
import { mainlyOn } from "../support/databases.ts";
import { signInAs } from "../support/signed-in.ts";
import { until } from "../support/until.ts";

mainlyOn("SQLite", "mails about money", (database) => {
	let site: TestSite;
	let shop: Pick<PartnerShop, "site" | "programme" | "partner" | "partnership" | "email">;
	let readerId = 0;

	before(async () => {
		site = createTestSite(database.store, { hasMail: true });
		await site.setZone("Europe/Berlin");
		const programme = await addCreditingProgramme(site, "Nordlicht");
		const { partner, email } = await addPartner(site, "Blog");
		shop = { site, programme, partner, email, partnership: await join(site, programme, partner) };
		readerId = (await findPersonByEmail(site.store.db, email))?.id ?? 0;
	});

	beforeEach(async () => {
		await tellAll();
		// Mails of earlier tests must not delay those of this one.
		site.moveClock(DAY_MS);
		await tellAll();
		await site.store.db.deleteFrom("sale_news").execute();
		await site.store.db.deleteFrom("mail_queue").execute();
		await choose("daily");
		site.mailbox.length = 0;
	});

	async function tellAll(store = site.store): Promise<void> {
		// Moves are read once every earlier transaction of the server has ended, also those of other test files.
		await until(async () => {
			const [newest, ended] = [await findNewestMove(store, "all"), await findNewestMove(store, "ended")];
			return newest?.id === ended?.id;
		});
		await tellSales({ ...site.deps, store }, () => false);
		await site.deps.mails.settled();
	}

	async function choose(mails: SaleMails, personId = readerId): Promise<void> {
		await site.store.db
			.updateTable("people")
			.set({ mails_sales: mails })
			.where("id", "=", personId)
			.execute();
	}

	/** Moves the clock to a time of the current day in Berlin, or of the next day if that time has passed. */
	function moveTo(hour: number): void {
		const localMs = site.deps.clock.nowMs() + HOUR_MS;
		const wantedMs = Math.floor(localMs / DAY_MS) * DAY_MS + hour * HOUR_MS;
		site.moveClock(wantedMs > localMs ? wantedMs - localMs : wantedMs + DAY_MS - localMs);
	}

	async function sell(commission = "8.00", change: Partial<Conversion> = {}): Promise<Conversion> {
		const conversion = await addCredited(shop, shop.partnership, { commission, ...change });
		await makeMove(conversion, "record");
		return conversion;
	}

	async function makeMove(
		{ id: conversion_id, programme_id, status }: Conversion,
		move: Move,
		reason: Reason | null = null,
	): Promise<void> {
		const { store, deps } = site;
		const at_ms = deps.clock.nowMs();
		const row = { programme_id, conversion_id, move, to_status: status, decided_by: null, person_id: null };
		await store.transact((trx) => store.batch.write(trx, { moves: [{ ...row, reason, at_ms }] }));
	}

	const subjects = () => site.mailbox.map(({ subject }) => subject);

	test("a summary says after the network's day what was recorded, approved, rejected and reversed, with reasons and sums", async () => {
		moveTo(23);
		const [one, two, three] = [await sell(), await sell("4.20"), await sell("1.00")];
		await makeMove(one, "approve");
		await makeMove(two, "reject", "OUT_OF_STOCK");
		await makeMove(three, "approve");
		await makeMove(three, "reverse", "RETURN");
		await sell("90.00", { test: 1 });
		await sell("70.00", { source: "pixel" });
		await makeMove(await sell("60.00", { source: "import" }), "import");
		await tellAll();
		site.moveClock(HOUR_MS + 9 * MINUTE_MS);
		await tellAll();
		deepEqual(subjects(), [], "late moves of the day may still be missing");
		site.moveClock(MINUTE_MS);
		await tellAll();
		await tellAll();
		const [mail, ...others] = site.mailbox;
		deepEqual([mail?.to, others], [shop.email, []]);
		match(
			mail?.subject ?? "",
			/^Your sales on 2026-\d\d-\d\d: 4 recorded, 2 approved, 1 rejected, 1 reversed$/,
		);
		const text = mail?.text ?? "";
		match(text, /^Sales of "Blog" on 2026-\d\d-\d\d \(Europe\/Berlin\)\n\n"Nordlicht":\n/);
		match(text, /^Recorded: 4 sales, commission 73\.20 EUR\. This waits for approval\.$/m);
		match(text, /^Approved: 2 sales, commission 9\.00 EUR\. This is owed to you\.$/m);
		match(
			text,
			/^Rejected: 1 sale, commission 4\.20 EUR\. Reason: out of stock\. This is not paid\.\n- cnv_\w+: 4\.20 EUR$/m,
		);
		match(text, /^Reversed: 1 sale, commission 1\.00 EUR\. Reason: return\..*\n- cnv_\w+: 1\.00 EUR$/m);
		doesNotMatch(text, /Nothing was approved|order/);
		match(text, /^https:\/\/ringback\.example\/partner\/ptn_\w+\/conversions$/m);
		match(text, /^https:\/\/ringback\.example\/account#settings$/m);
	});

	test("a summary says why nothing was earned, and sums in currencies with 0, 2 and 3 decimals are exact", async () => {
		moveTo(12);
		await sell("0.00");
		await sell("100", { currency: "JPY" });
		await sell("250", { currency: "JPY" });
		await sell("0.001", { currency: "KWD" });
		await sell("1.100", { currency: "KWD" });
		await tellAll();
		moveTo(1);
		await tellAll();
		const [{ text }] = site.mailbox as [Mail];
		match(
			text,
			/^Recorded: 1 sale, commission 0\.00 EUR\. At the agreed rate these baskets earn nothing\.$/m,
		);
		match(text, /^Recorded: 2 sales, commission 350 JPY\./m);
		match(text, /^Recorded: 2 sales, commission 1\.101 KWD\./m);
		match(text, /Nothing was approved on this day, so nothing was added to your earnings/);
	});

	test("a partner who loses a sale is mailed the lost commission, whether or not another partner gets the sale", async () => {
		await choose("each");
		const staff = await signInAs(site.store, await site.addStaff());
		const assign = async ({ public_id }: Conversion, partner: string) =>
			ok((await assignAsShown(site.deps, staff, public_id, { partner, reason: "a wrong link" })).ok);
		const { partner: other, email: otherEmail } = await addPartner(site, "Other");
		await join(site, shop.programme, other);
		const otherId = (await findPersonByEmail(site.store.db, otherEmail))?.id ?? 0;
		await choose("each", otherId);
		const [open, approved] = [
			await sell("4.20", { basket_value: "100.00" }),
			await sell("1.80", { basket_value: "100.00", status: "APPROVED" }),
		];
		await tellAll();
		site.moveClock(11 * MINUTE_MS);
		site.mailbox.length = 0;
		await assign(open, other.public_id);
		await assign(approved, "");
		await tellAll();
		const textTo = (email: string) => site.mailbox.find(({ to }) => to === email)?.text ?? "";
		match(
			textTo(shop.email),
			/^No longer credited to you: 2 sales, commission 6\.00 EUR\. .*deducted if it was approved already\.$/m,
		);
		match(textTo(shop.email), new RegExp(`^- ${open.public_id}: 4\\.20 EUR$`, "m"));
		match(textTo(otherEmail), /^Credited to you: 1 sale, commission 8\.00 EUR\./m);
		doesNotMatch(textTo(otherEmail), /No longer|4\.20/);
		site.mailbox.length = 0;
		site.moveClock(11 * MINUTE_MS);
		await assign(open, other.public_id);
		await tellAll();
		doesNotMatch(textTo(otherEmail), /No longer/, "the partner stays the same");
		await choose("none", otherId);
	});

	test("a mail names the partner and the commission that each move left, whatever happened to the sale since", async () => {
		await choose("each");
		const { store, deps } = site;
		const staff = await signInAs(store, await site.addStaff());
		const { partner: other, email: otherEmail } = await addPartner(site, "Successor");
		await join(site, shop.programme, other, "20.0000");
		const otherId = (await findPersonByEmail(store.db, otherEmail))?.id ?? 0;
		await choose("each", otherId);
		const code = { partnership_id: shop.partnership.id, programme_id: shop.programme.id };
		await insertCode(store.db, { ...code, folded: "NEWS", code: "NEWS", created_at_ms: START_MS });
		const programme = { ...shop.programme, credits_partners: 1 as const };
		const report = {
			...({ source: "postback", eventType: "SALE", orderId: "moved on", isTest: false } as const),
			...{ basketValue: "100.00", occurredAtMs: null, couponCodes: ["NEWS"] },
		};
		const recorded = await store.transact((trx) => recordConversion(trx, deps, programme, report));
		ok(recorded.ok);
		const { conversion } = recorded.value;
		const decide = async (decision: Parameters<typeof decideConversion>[3]) => {
			const found = await findByPublicId(store.db, programme.id, conversion.public_id);
			ok(found);
			ok((await store.transact((trx) => decideConversion(trx, deps, found, decision))).ok);
		};
		const refund = async (refundId: string, amount: string) => {
			const found = await findByPublicId(store.db, programme.id, conversion.public_id);
			ok(found);
			const asked = {
				move: "refund",
				decidedBy: "shop",
				reason: "RETURN",
				refundId,
				value: { amount },
			} as const;
			await store.transact((trx) => changeOrders(trx, deps, [refundOn(found, asked, null)]));
		};
		await refund("R-1", "50.00");
		const input = { partner: other.public_id, reason: "a wrong code" };
		ok((await assignAsShown(deps, staff, conversion.public_id, input)).ok);
		await decide({ move: "approve", decidedBy: "shop" });
		await refund("R-2", "25.00");
		await tellAll();
		const linesTo = (email: string) =>
			site.mailbox
				.filter(({ to }) => to === email)
				.flatMap(({ text }) => text.split("\n"))
				.flatMap(
					(line) => /^(\w[\w ]*): 1 sale, commission ([\d.]+ EUR)/.exec(line)?.slice(1).join(" ") ?? [],
				);
		deepEqual(linesTo(shop.email), [
			"Recorded 8.00 EUR",
			"No longer credited to you 4.00 EUR",
			"Refunded in part 4.00 EUR",
		]);
		deepEqual(linesTo(otherEmail), [
			"Credited to you 10.00 EUR",
			"Approved 10.00 EUR",
			"Refunded in part 5.00 EUR",
		]);
		await choose("none", otherId);
	});

	test("a day without news has no mail, and a service that was down for a day tells of both days in one mail", async () => {
		moveTo(12);
		await tellAll();
		moveTo(1);
		await tellAll();
		deepEqual(subjects(), []);
		const sale = await sell();
		site.moveClock(DAY_MS);
		await makeMove(sale, "approve");
		site.moveClock(DAY_MS);
		await tellAll();
		deepEqual(subjects(), ["Your sales on 2 days: 1 recorded, 1 approved"]);
	});

	test("each sale is mailed at once, and a batch within ten minutes is one mail that names the first ten", async () => {
		await choose("each");
		await sell();
		await tellAll();
		deepEqual(subjects(), ["Sale recorded: 8.00 EUR"]);
		for (let n = 0; n < 12; n++) await sell("1.50");
		site.moveClock(9 * MINUTE_MS);
		await tellAll();
		equal(site.mailbox.length, 1);
		site.moveClock(MINUTE_MS);
		await tellAll();
		equal(subjects()[1], "Your sales: 12 recorded");
		const text = site.mailbox[1]?.text ?? "";
		match(text, /Recorded: 12 sales, commission 18\.00 EUR/);
		equal(text.match(/^- cnv_/gm)?.length, 10);
		match(text, /^- and 2 more$/m);
	});

	test("nobody is mailed who wants no mails, left the partner or was deactivated", async () => {
		const { db } = site.store;
		const colleague = await site.addStaff("colleague@blog.example");
		await addPartnerPerson(db, shop.partner.id, colleague.id);
		await choose("none");
		await sell();
		await tellAll();
		await db
			.updateTable("people")
			.set({ deactivated_at_ms: START_MS })
			.where("id", "=", colleague.id)
			.execute();
		site.moveClock(2 * DAY_MS);
		await tellAll();
		deepEqual(subjects(), []);
		deepEqual(await db.selectFrom("sale_news").selectAll().execute(), []);
		await db.updateTable("people").set({ deactivated_at_ms: null }).where("id", "=", colleague.id).execute();
		await sell();
		await tellAll();
		await db.deleteFrom("partner_people").where("person_id", "=", colleague.id).execute();
		site.moveClock(2 * DAY_MS);
		await tellAll();
		deepEqual(subjects(), []);
	});

	test("a person who was added to the partner is not mailed before they accept their invitation", async () => {
		const { db } = site.store;
		await choose("none");
		const created = await createPerson(site.deps, { email: "uninvited@blog.example", kind: "shop" });
		ok(created.ok);
		const { id, email } = created.value;
		await addPartnerPerson(db, shop.partner.id, id);
		await choose("each", id);
		await sell();
		await tellAll();
		deepEqual(subjects(), []);
		deepEqual(await db.selectFrom("sale_news").selectAll().execute(), []);
		await setPassword(db, id, "hash", START_MS);
		await sell();
		await tellAll();
		deepEqual(
			site.mailbox.map(({ to }) => to),
			[email],
		);
		await db.deleteFrom("partner_people").where("person_id", "=", id).execute();
	});

	test("two processes at once mail every move exactly once", async () => {
		await choose("each");
		for (let round = 0; round < 5; round++) {
			for (let n = 0; n < 3; n++) await sell("1.00");
			await Promise.all([tellAll(), tellAll(database.rival), tellAll(), tellAll(database.rival)]);
			site.moveClock(11 * MINUTE_MS);
		}
		await tellAll();
		const counted = site.mailbox.map(({ text }) => Number(/Recorded: (\d+) sale/.exec(text)?.[1]));
		equal(
			counted.reduce((sum, sales) => sum + sales, 0),
			15,
			subjects().join("\n"),
		);
	});

	test("moves from before the first run and from more than two days ago are not mailed", async () => {
		await choose("each");
		await sell();
		await site.store.db.updateTable("network").set({ sales_read_at: null, sales_read_id: null }).execute();
		await tellAll();
		await sell();
		site.moveClock(2 * DAY_MS + 1);
		await tellAll();
		deepEqual(subjects(), []);
	});

	test("owners who want it are mailed on Monday about conversions that wait, with number, sum and next approval", async () => {
		const { db } = site.store;
		await choose("none");
		const programme = await site.addProgramme("Garden");
		const owner = await site.addOwner(programme);
		const off = await site.addOwner(programme);
		await site.addPerson(programme, "developer");
		await db.updateTable("people").set({ mails_decisions_waiting: 0 }).where("id", "=", off.id).execute();
		const endsAtMs = site.deps.clock.nowMs() + 20 * DAY_MS;
		const waiting = { programme_id: programme.id, window_ends_at_ms: endsAtMs };
		await addWaiting({ ...waiting, basket_value: "100.00", commission: "8.00" });
		await addWaiting({
			...waiting,
			basket_value: "9.99",
			commission: "0.80",
			window_ends_at_ms: endsAtMs + 1,
		});
		await addWaiting({ ...waiting, test: 1 });
		await addWaiting({ ...waiting, status: "APPROVED" });
		await tellAll();
		const about = () => site.mailbox.filter(({ subject }) => subject.includes("Garden"));
		deepEqual(about(), [], "the programme was opened this week");
		for (let day = 0; day < 7; day++) {
			site.moveClock(DAY_MS);
			await Promise.all([tellAll(), tellAll(database.rival)]);
		}
		const [mail, ...others] = about();
		deepEqual([mail?.to, others], [owner.email, []]);
		equal(mail?.subject, '2 conversions wait for your decision: "Garden"');
		match(mail?.text ?? "", /Baskets: 109\.99 EUR\. Commission: 8\.80 EUR\./);
		match(
			mail?.text ?? "",
			/The next automatic approval is on 2026-\d\d-\d\d \d\d:\d\d \(Europe\/Berlin\)\./,
		);
		match(mail?.text ?? "", /\/programmes\/prg_\w+\/conversions\?status=RECORDED$/m);
		await db
			.updateTable("conversions")
			.set({ status: "REJECTED" })
			.where("programme_id", "=", programme.id)
			.execute();
		site.moveClock(8 * DAY_MS);
		await tellAll();
		equal(about().length, 1, "nothing waits any more");
		await setProgramme(db, programme.id, { weekly_mail_at_ms: site.deps.clock.nowMs() });

		async function addWaiting({ programme_id, ...change }: Partial<Conversion> & { programme_id: number }) {
			await addCredited(shop, { ...shop.partnership, programme_id }, change);
		}
	});
});
