// Telling a programme's owners that callbacks fail: early, then not in a flood, and never not at all. A real service, a
// shop that refuses, a real SMTP server.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { MAIL_INTERVAL_MS } from "../../src/domain/notice.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { listGivenUpMails } from "../../src/store/mail-queue.ts";
import { claimMail } from "../../src/store/notice-mails.ts";
import type { ReceivedMail } from "../support/mail-server.ts";
import { newNotice } from "../support/notices.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { type Setup, startSetup } from "./notice-setup.ts";

/** Due mails are looked for every half a minute; the rest is what the clock runs ahead while one is sent. */
const LATENESS_MS = 5 * MINUTE_MS;
/** The next mail might go, and due ones were looked for twice. Every minute of the clock takes real time. */
const QUIET_OVER_MS = MAIL_INTERVAL_MS + MINUTE_MS;

for (const kind of DATABASE_KINDS) {
	describe(`notices by mail (${kind})`, { concurrency: 2 }, () => {
		test("the first final failure is told at once, to all owners of that programme and nobody else", async (t) => {
			const setup = await startSetup(t, kind);
			const owners = ["one@shop.example", "two@shop.example"];
			const failing = await setup.addShop({ name: "Failing", owners });
			const other = await setup.addShop({ name: "Other", owners: ["else@other.example"] });
			const soldAtMs = setup.clock.nowMs();
			await setup.sell(failing);
			await setup.until(() => setup.mail.mails.length === 1);
			await setup.until(async () => (await setup.notices(failing))[0]?.mail_due_at_ms === null);
			const [mail] = setup.mail.mails;
			ok(mail !== undefined && mail.atMs - soldAtMs < LATENESS_MS);
			deepEqual(mail.to.toSorted(), owners);
			equal(subject(mail), '1 callback failed permanently: "Failing"');
			equal(mail.headers.get("from"), "Ringback <rb@network.example>");
			match(mail.text, new RegExp(`Programme: "Failing" \\(${failing.programmeId}\\)`));
			match(mail.text, /HTTP 404\. .* We take it as a deliberate refusal and do not retry\./);
			const [delivery] = await setup.store.db.selectFrom("deliveries").select("public_id").execute();
			const page = `https://ringback.example/programmes/${failing.programmeId}`;
			ok(mail.text.includes(`${page}/deliveries/${delivery?.public_id}`), "the very callback");
			ok(mail.text.includes(`${page}/integration?state=failed#deliveries`), "and the list to resend from");
			match(mail.text, /order "1" \(conversion\.recorded\)/);
			const [notice, ...more] = await setup.notices(failing);
			deepEqual(more, []);
			deepEqual([notice?.kind, notice?.failures, notice?.mailed_failures], ["callbacks_failing", 1, 1]);
			deepEqual(await setup.notices(other), []);
		});

		test("trouble is told after ten minutes without a success, long before anything has finally failed", async (t) => {
			const setup = await startSetup(t, kind);
			setup.shop.answer = () => ({ status: 500 });
			const shop = await setup.addShop();
			const soldAtMs = setup.clock.nowMs();
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop)).length === 1);
			await setup.clock.moveTo(soldAtMs + 9 * MINUTE_MS);
			equal((await setup.notices(shop))[0]?.told_at_ms, null, "only watched");
			await setup.untilLater(() => setup.mail.mails.length === 1);
			const [mail] = setup.mail.mails;
			ok(mail !== undefined && mail.atMs >= soldAtMs + 10 * MINUTE_MS);
			ok(mail.atMs < soldAtMs + 10 * MINUTE_MS + LATENESS_MS);
			equal(subject(mail), 'Callbacks are failing: "Shop"');
			match(mail.text, /failing since 2026-01-15 12:00 UTC: \d attempts in a row failed\./);
			match(mail.text, /HTTP 500\. Your server had an error\./);
			match(mail.text, /Waiting: 1 callback; the next attempt is at 2026-01-15 12:\d\d UTC\./);
			await setup.clock.moveBy(QUIET_OVER_MS);
			equal(setup.mail.mails.length, 1, "one mail, while nothing new is to be told");

			setup.shop.answer = () => ({ status: 204 });
			await setup.sell(shop);
			await setup.until(() => setup.mail.mails.length === 2);
			match(subject(setup.mail.mails[1]) ?? "", /^Callbacks recovered: "Shop"$/);
			const kinds = (await setup.notices(shop)).map(({ kind, ended_by }) => [kind, ended_by]);
			deepEqual(kinds, [
				["callbacks_failing", "success"],
				["callbacks_working_again", null],
			]);
		});

		test("five failed attempts in a row are told at once", async (t) => {
			const setup = await startSetup(t, kind);
			setup.shop.answer = () => ({ status: 503 });
			const shop = await setup.addShop();
			const soldAtMs = setup.clock.nowMs();
			await setup.sell(shop, 4);
			await setup.until(async () => (await setup.notices(shop))[0]?.failed_attempts === 4);
			equal((await setup.notices(shop))[0]?.told_at_ms, null);
			await setup.sell(shop);
			await setup.until(() => setup.mail.mails.length === 1);
			ok((setup.mail.mails[0]?.atMs ?? 0) - soldAtMs < MINUTE_MS);
			equal(subject(setup.mail.mails[0]), 'Callbacks are failing: "Shop"');
			match(setup.mail.mails[0]?.text ?? "", /Waiting: 5 callbacks; the next attempt is at /);
		});

		test("a failure that the next attempt mends is told to nobody", async (t) => {
			const setup = await startSetup(t, kind);
			let asked = 0;
			setup.shop.answer = () => ({ status: asked++ === 0 ? 500 : 204 });
			const shop = await setup.addShop();
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop)).length === 1);
			await setup.clock.moveBy(MINUTE_MS);
			await setup.until(async () => (await setup.notices(shop)).length === 0);
			await setup.clock.moveBy(QUIET_OVER_MS);
			equal(setup.mail.mails.length, 0);
		});

		test("more failures within fifteen minutes are one digest, with their number, when those are over", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop();
			await setup.sell(shop);
			await setup.until(() => setup.mail.mails.length === 1);
			await setup.sell(shop, 3);
			await setup.until(async () => (await setup.notices(shop))[0]?.failures === 4);
			const firstAtMs = setup.mail.mails[0]?.atMs ?? 0;
			await setup.clock.moveTo(firstAtMs + MAIL_INTERVAL_MS - MINUTE_MS);
			await setup.sell(shop, 2);
			await setup.until(async () => (await setup.notices(shop))[0]?.failures === 6);
			equal(setup.mail.mails.length, 1, "nothing within the fifteen minutes");
			await setup.untilLater(() => setup.mail.mails.length === 2);
			const [, digest] = setup.mail.mails;
			ok(digest !== undefined && digest.atMs >= firstAtMs + MAIL_INTERVAL_MS);
			ok(digest.atMs < firstAtMs + MAIL_INTERVAL_MS + LATENESS_MS);
			equal(subject(digest), '5 callbacks failed permanently: "Shop"');
			match(digest.text, /5 callbacks to your shop failed permanently \(6 since 2026-01-15 12:00 UTC\)/);
			await setup.until(async () => (await setup.notices(shop))[0]?.mail_due_at_ms === null);
			await setup.clock.moveBy(QUIET_OVER_MS);
			equal(setup.mail.mails.length, 2, "nothing new, nothing told");
		});

		test("another programme's quiet time is its own", async (t) => {
			const setup = await startSetup(t, kind);
			const early = await setup.addShop({ name: "Early", owners: ["early@shop.example"] });
			const late = await setup.addShop({ name: "Late", owners: ["late@shop.example"] });
			await setup.sell(early);
			await setup.until(() => setup.mail.mails.length === 1);
			await setup.sell(early);
			await setup.sell(late, 1);
			await setup.until(() => setup.mail.mails.length === 2);
			deepEqual(
				setup.mail.mails.map((mail) => [subject(mail), ...mail.to]),
				[
					['1 callback failed permanently: "Early"', "early@shop.example"],
					['1 callback failed permanently: "Late"', "late@shop.example"],
				],
			);
		});

		test("the next success is told when the fifteen minutes are over, and at once after that", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop();
			await setup.sell(shop);
			await setup.until(() => setup.mail.mails.length === 1);
			setup.shop.answer = () => ({ status: 204 });
			await setup.sell(shop, 2);
			await setup.until(async () => (await setup.notices(shop)).length === 2);
			const kinds = (await setup.notices(shop)).map(({ kind, ended_at_ms }) => [kind, ended_at_ms !== null]);
			deepEqual(kinds, [
				["callbacks_failing", true],
				["callbacks_working_again", false],
			]);
			const firstAtMs = setup.mail.mails[0]?.atMs ?? 0;
			await setup.clock.moveTo(firstAtMs + MAIL_INTERVAL_MS - MINUTE_MS);
			equal(setup.mail.mails.length, 1);
			await setup.untilLater(() => setup.mail.mails.length === 2);
			const [, again] = setup.mail.mails;
			ok(again !== undefined && again.atMs >= firstAtMs + MAIL_INTERVAL_MS);
			equal(subject(again), 'Callbacks recovered, 1 callback not delivered: "Shop"');
			match(again.text, /Since 2026-01-15 12:00 UTC your server accepts callbacks again\./);
			match(again.text, /Failed permanently and not resent: 1 callback\./);

			await setup.clock.moveTo(again.atMs + QUIET_OVER_MS);
			setup.shop.answer = () => ({ status: 400 });
			await setup.sell(shop);
			await setup.until(() => setup.mail.mails.length === 3);
			await setup.clock.moveBy(QUIET_OVER_MS);
			setup.shop.answer = () => ({ status: 200 });
			const mendedAtMs = setup.clock.nowMs();
			await setup.sell(shop);
			await setup.until(() => setup.mail.mails.length === 4);
			equal(subject(setup.mail.mails[3]), 'Callbacks recovered, 2 callbacks not delivered: "Shop"');
			ok((setup.mail.mails[3]?.atMs ?? 0) - mendedAtMs < LATENESS_MS);
		});

		test("while the mail server is away it is tried again, and told once it is back", async (t) => {
			const setup = await startSetup(t, kind);
			await setup.mail.goAway();
			const shop = await setup.addShop();
			await setup.sell(shop);
			const complaints = () =>
				setup.log.lines.filter(({ message }) => /could not be mailed; trying again/.test(message)).length;
			await setup.until(() => complaints() === 1);
			equal((await setup.notices(shop))[0]?.mailed_failures, 0, "not told, and not counted as told");
			await setup.untilLater(() => complaints() >= 2);
			await setup.mail.comeBack();
			await setup.untilLater(() => setup.mail.mails.length === 1);
			await setup.until(async () => (await setup.notices(shop))[0]?.mailed_failures === 1);
			await setup.clock.moveBy(2 * MINUTE_MS);
			equal(setup.mail.mails.length, 1);
		});

		// Mails go in the order of the addresses: one group is the first, the other the last.
		for (const [trouble, missed] of [
			["breaking", "one@shop.example"],
			["deferred", "two@shop.example"],
		] as const) {
			test(`when the mail of one time zone fails (${trouble}), it comes later, and nobody is mailed twice`, async (t) => {
				const setup = await startSetup(t, kind);
				const owners = ["one@shop.example", "two@shop.example"];
				const shop = await setup.addShop({ owners });
				const { id } = await setup.person("one@shop.example");
				await setup.store.db.updateTable("people").set({ zone: "Asia/Tokyo" }).where("id", "=", id).execute();
				setup.mail[trouble].add(missed);
				await setup.sell(shop);
				const queued = () => setup.store.db.selectFrom("mail_queue").selectAll().execute();
				await setup.untilLater(async () => ((await queued())[0]?.tries ?? 0) >= 1);
				deepEqual(
					setup.mail.mails.flatMap(({ to }) => to),
					owners.filter((email) => email !== missed),
				);
				const [notice] = await setup.notices(shop);
				deepEqual([notice?.mailed_failures, notice?.mail_due_at_ms], [1, null]);
				// What is missing outlives the process.
				await setup.stop();
				setup.mail[trouble].clear();
				await setup.start();
				await setup.untilLater(() => setup.mail.mails.length === 2);
				await setup.clock.moveBy(QUIET_OVER_MS);
				deepEqual(setup.mail.mails.flatMap(({ to }) => to).toSorted(), owners);
				for (const mail of setup.mail.mails) {
					equal(subject(mail), '1 callback failed permanently: "Shop"');
					const isInTokyo = mail.to.includes("one@shop.example");
					match(
						mail.text,
						isInTokyo ? /since 2026-01-15 21:00 \(Asia\/Tokyo\)/ : /since 2026-01-15 12:00 UTC/,
					);
				}
			});
		}

		test("the mail of a time zone that is refused for good is not tried again once others were told", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ owners: ["one@shop.example", "two@shop.example"] });
			const { id } = await setup.person("one@shop.example");
			await setup.store.db.updateTable("people").set({ zone: "Asia/Tokyo" }).where("id", "=", id).execute();
			setup.mail.unknown.add("one@shop.example");
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop))[0]?.mailed_failures === 1);
			await checkRefused(setup, shop);
		});

		test("of several who get one mail, somebody refused for good holds up nobody and is told to staff", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ owners: ["one@shop.example", "two@shop.example"] });
			setup.mail.unknown.add("one@shop.example");
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop))[0]?.mailed_failures === 1);
			await checkRefused(setup, shop);
		});

		test("of several who get one mail, somebody who is to come back later gets it then, and alone", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ owners: ["one@shop.example", "two@shop.example"] });
			setup.mail.deferred.add("one@shop.example");
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop))[0]?.mailed_failures === 1);
			setup.mail.deferred.clear();
			await setup.untilLater(() => setup.mail.mails.length === 2);
			deepEqual(
				setup.mail.mails.map(({ to }) => to),
				[["two@shop.example"], ["one@shop.example"]],
			);
			equal((await setup.notices(shop))[0]?.mailed_to, "two@shop.example, one@shop.example");
		});

		test("a mail that is refused for everybody is tried for a day and no longer, and staff see it", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop();
			setup.mail.unknown.add("owner@shop.example");
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop))[0]?.mailed_failures === 1);
			const [notice] = await setup.notices(shop);
			deepEqual(
				[notice?.mailed_to, notice?.mail_refused_to, notice?.mail_due_at_ms],
				["", "owner@shop.example", null],
				"no more rounds every minute",
			);
			// The queue tries eight times in all: here comes the last.
			await setup.stop();
			const last = { tries: 7, due_at_ms: setup.clock.nowMs() };
			const { numUpdatedRows } = await setup.store.db
				.updateTable("mail_queue")
				.set(last)
				.where("due_at_ms", "is not", null)
				.executeTakeFirst();
			equal(numUpdatedRows, 1n);
			await setup.start();
			await setup.untilLater(async () => (await listGivenUpMails(setup.store.db, 5)).length === 1);
			const [given] = await listGivenUpMails(setup.store.db, 5);
			deepEqual(
				[given?.to_address, given?.subject],
				["owner@shop.example", '1 callback failed permanently: "Shop"'],
			);
			match(given?.refusal ?? "", /550 no such mailbox/);
			equal(setup.mail.mails.length, 0);
		});

		test("a process that died with the mail in its hand has it sent by the next one, a minute later", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop();
			await setup.stop();
			const nowMs = setup.clock.nowMs();
			const told = { told_at_ms: nowMs, mail_due_at_ms: nowMs, failures: 7 };
			await setup.store.db.insertInto("notices").values(newNotice(shop.programmeRow, told)).execute();
			const [notice] = await setup.notices(shop);
			ok(notice !== undefined && (await claimMail(setup.store.db, notice, nowMs + MINUTE_MS)));
			equal(await claimMail(setup.store.db, notice, nowMs + MINUTE_MS), false, "one process at a time");
			await setup.start();
			await setup.clock.moveTo(nowMs + MINUTE_MS - 1);
			equal(setup.mail.mails.length, 0, "it might still be at it");
			await setup.untilLater(() => setup.mail.mails.length === 1);
			equal(subject(setup.mail.mails[0]), '7 callbacks failed permanently: "Shop"');
		});

		test("a stop finishes the mail under way and leaves the others for the next start", async (t) => {
			const setup = await startSetup(t, kind);
			setup.mail.holds = true;
			for (const name of ["First", "Second"]) {
				await setup.sell(await setup.addShop({ name, owners: [`${name.toLowerCase()}@shop.example`] }));
			}
			await setup.until(async () => setup.mail.held.length === 1 && (await countFailing(setup)) === 2);
			const stopped = setup.stop();
			setup.mail.holds = false;
			for (const answer of setup.mail.held) answer();
			await stopped;
			equal(setup.mail.mails.length, 1, "the second was not begun");
			await setup.start();
			await setup.untilLater(() => setup.mail.mails.length === 2);
			deepEqual(setup.mail.mails.map((mail) => subject(mail)).toSorted(), [
				'1 callback failed permanently: "First"',
				'1 callback failed permanently: "Second"',
			]);
		});

		test("without SMTP_URL the notice stays on the page, and the log says that mail is off", async (t) => {
			const setup = await startSetup(t, kind, { withoutMail: true });
			const shop = await setup.addShop();
			await setup.sell(shop, 2);
			await setup.until(async () => (await setup.notices(shop))[0]?.failures === 2);
			await setup.clock.moveBy(QUIET_OVER_MS);
			const [notice] = await setup.notices(shop);
			deepEqual([notice?.kind, notice?.ended_at_ms], ["callbacks_failing", null]);
			equal(setup.mail.mails.length, 0);
			equal(setup.log.lines.filter(({ message }) => /^Mail is off\. .*SMTP_URL/.test(message)).length, 1);
		});

		test("a programme's name cannot add headers or recipients", async (t) => {
			const setup = await startSetup(t, kind);
			const name = "Shop\r\nBcc: thief@evil.example\r\n\r\nHello,\nX-Evil: 1";
			const shop = await setup.addShop({});
			// Forms refuse such a name; the store may hold one from elsewhere.
			await setup.store.db.updateTable("programmes").set({ name }).execute();
			await setup.sell(shop);
			await setup.until(() => setup.mail.mails.length === 1);
			const [mail] = setup.mail.mails;
			deepEqual(mail?.to, ["owner@shop.example"]);
			equal(mail?.headers.has("bcc"), false);
			equal(mail?.headers.has("x-evil"), false);
			equal(
				subject(mail),
				'1 callback failed permanently: "Shop Bcc: thief[at]evil[.]example Hello, X-Evil: 1"',
			);
		});
	});
}

function subject(mail: ReceivedMail | undefined): string | undefined {
	return mail?.headers.get("subject");
}

/** The first was refused for good, and the second has the mail. */
async function checkRefused(setup: Setup, shop: Awaited<ReturnType<Setup["addShop"]>>): Promise<void> {
	deepEqual(
		setup.mail.mails.map(({ to }) => to),
		[["two@shop.example"]],
	);
	const [notice] = await setup.notices(shop);
	deepEqual(
		[notice?.mailed_to, notice?.mail_refused_to, notice?.mail_due_at_ms],
		["two@shop.example", "one@shop.example", null],
	);
	const [given, ...more] = await setup.store.db.selectFrom("mail_queue").selectAll().execute();
	deepEqual([given?.to_address, given?.due_at_ms, more], ["one@shop.example", null, []], "not tried again");
	match(given?.refusal ?? "", /550 no such mailbox/);
	const complaints = setup.log.lines.filter(({ message }) => /refused a notice/.test(message));
	equal(complaints.length, 1);
	doesNotMatch(JSON.stringify(complaints), /one@shop/, "whose address it is, staff see on the page alone");
}

async function countFailing({ store }: Setup): Promise<number> {
	return (await store.db.selectFrom("notices").select("id").execute()).length;
}
