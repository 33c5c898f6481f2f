// Tests mails to a programme's owners about failing callbacks. The first comes early, the next ones are
// limited, and none is lost. The tests use a real service, a shop that refuses, and a real SMTP server.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { MAIL_INTERVAL_MS } from "#core/domain/notice.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import type { ReceivedMail } from "../support/mail-server.ts";
import { newNotice } from "../support/notices.ts";
import { kindsMainly } from "../support/test-database.ts";
import { type Setup, startSetup } from "./notice-setup.ts";

/**
 * Maximum delay of a mail. Due mails are polled every half a minute, and the clock advances further while one
 * is sent.
 */
const LATENESS_MS = 5 * MINUTE_MS;
/**
 * Time after which the next mail may be sent and due mails were polled twice. It is short, because each
 * minute of the clock takes real time.
 */
const QUIET_OVER_MS = MAIL_INTERVAL_MS + MINUTE_MS;

for (const kind of kindsMainly("PostgreSQL")) {
	describe(`notices by mail (${kind})`, { concurrency: 2 }, () => {
		test("the first final failure is mailed at once to all owners of that programme and nobody else", async (t) => {
			const setup = await startSetup(t, kind);
			const owners = ["one@shop.example", "two@shop.example"];
			const failing = await setup.addShop({ name: "Failing", owners });
			const other = await setup.addShop({ name: "Other", owners: ["else@other.example"] });
			const soldAtMs = setup.clock.nowMs();
			await setup.sell(failing);
			await setup.until(() => setup.mail.mails.length === 2);
			deepEqual(readers(setup), owners, "each owner gets a separate mail");
			const [mail] = setup.mail.mails;
			ok(mail !== undefined && mail.atMs - soldAtMs < LATENESS_MS);
			equal(subject(mail), '1 callback failed permanently: "Failing"');
			equal(mail.headers.get("from"), "Ringback <rb@network.example>");
			match(mail.text, new RegExp(`Programme: "Failing" \\(${failing.programmeId}\\)`));
			match(mail.text, /HTTP 404\. .* We take it as a deliberate refusal and do not retry\./);
			const [delivery] = await setup.store.db.selectFrom("deliveries").select("public_id").execute();
			const page = `https://ringback.example/programmes/${failing.programmeId}`;
			ok(
				mail.text.includes(`${page}/deliveries/${delivery?.public_id}`),
				"the mail links to the failed callback",
			);
			ok(mail.text.includes(`${page}/overview#failed`), "the mail links to the list of failed callbacks");
			match(mail.text, /order "1" \(conversion\.recorded\)/);
			const [notice, ...more] = await setup.notices(failing);
			deepEqual(more, []);
			deepEqual([notice?.kind, notice?.failures, notice?.mailed_failures], ["callbacks_failing", 1, 1]);
			deepEqual(await setup.notices(other), []);
		});

		test("trouble is mailed after ten minutes without a success, long before a final failure", async (t) => {
			const setup = await startSetup(t, kind);
			setup.shop.answer = () => ({ status: 500 });
			const shop = await setup.addShop();
			const soldAtMs = setup.clock.nowMs();
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop)).length === 1);
			await setup.clock.moveTo(soldAtMs + 9 * MINUTE_MS);
			equal((await setup.notices(shop))[0]?.told_at_ms, null, "the failure is only watched yet");
			await setup.untilLater(() => setup.mail.mails.length === 1);
			const [mail] = setup.mail.mails;
			ok(mail !== undefined && mail.atMs >= soldAtMs + 10 * MINUTE_MS);
			ok(mail.atMs < soldAtMs + 10 * MINUTE_MS + LATENESS_MS);
			equal(subject(mail), 'Callbacks are failing: "Shop"');
			match(mail.text, /failing since 2026-01-15 12:00 UTC: \d attempts in a row failed\./);
			match(mail.text, /HTTP 500\. Your server had an error\./);
			match(mail.text, /Waiting: 1 callback; the next attempt is at 2026-01-15 12:\d\d UTC\./);
			await setup.clock.moveBy(QUIET_OVER_MS);
			equal(setup.mail.mails.length, 1, "no further mail comes without news");

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

		test("a recipient whom the server refuses delays nobody, and staff see it", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop({ owners: ["one@shop.example", "two@shop.example"] });
			setup.mail.unknown.add("one@shop.example");
			await setup.sell(shop);
			await setup.untilLater(async () => {
				const unsent = await setup.unsent();
				return setup.mail.mails.length === 1 && unsent.length === 1 && unsent[0]?.refusal !== null;
			});
			deepEqual(readers(setup), ["two@shop.example"]);
			const [given, ...more] = await setup.unsent();
			deepEqual([given?.to_address, more], ["one@shop.example", []]);
			match(given?.refusal ?? "", /550 no such mailbox/);
			const complaints = setup.log.lines.filter(({ message }) =>
				/^a mail (could not|was given up)/.test(message),
			);
			ok(complaints.length >= 1);
			doesNotMatch(JSON.stringify(complaints), /one@shop/, "the log does not contain the address");
			equal(setup.service().mailer?.failure, null, "the mail server counts as working");
		});

		test("a mail that waits when the service stops is sent after the next start, and a due notice once the interval has passed", async (t) => {
			const setup = await startSetup(t, kind);
			const shop = await setup.addShop();
			const { mails } = setup.service();
			const left = { to: "left@shop.example", subject: "Left", text: "Left.", goodForMs: 60 * MINUTE_MS };
			await setup.store.transact((trx) => mails.enqueue(trx, left));
			await setup.stop();
			const nowMs = setup.clock.nowMs();
			const claimed = { told_at_ms: nowMs, mail_due_at_ms: nowMs + MINUTE_MS, failures: 7 };
			await setup.store.db
				.insertInto("notices")
				.values(newNotice(shop.programme.receiver_id, claimed))
				.execute();
			await setup.store.db.updateTable("receivers").set({ last_mailed_at_ms: nowMs }).execute();
			await setup.start();
			await setup.until(() => setup.mail.mails.length > 0);
			await setup.clock.moveTo(nowMs + MAIL_INTERVAL_MS - 1);
			deepEqual(readers(setup), ["left@shop.example"], "the programme was mailed just now");
			await setup.untilLater(() => setup.mail.mails.length === 2);
			equal(subject(setup.mail.mails[1]), '7 callbacks failed permanently: "Shop"');
			await setup.clock.moveBy(QUIET_OVER_MS);
			equal(setup.mail.mails.length, 2);
		});

		test("a stop finishes the mail that is being sent and leaves the others for the next start", async (t) => {
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
			equal(setup.mail.mails.length, 1, "the second mail was not started");
			await setup.start();
			await setup.untilLater(() => setup.mail.mails.length === 2);
			deepEqual(setup.mail.mails.map((mail) => subject(mail)).toSorted(), [
				'1 callback failed permanently: "First"',
				'1 callback failed permanently: "Second"',
			]);
		});

		// The following tests run on one database only, because due times do not depend on it and each minute of
		// the clock takes real time.
		if (kind !== "SQLite") return;

		test("further failures within fifteen minutes are mailed as one digest with their number, after the fifteen minutes", async (t) => {
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
			equal(setup.mail.mails.length, 2, "no further mail comes without news");
		});

		test("the interval between mails is separate for each programme", async (t) => {
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

		test("a recovery is mailed once fifteen minutes have passed since the last mail", async (t) => {
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
		});

		test("while the mail server is away it is tried again every minute; afterwards it gets one mail, and later one digest", async (t) => {
			const setup = await startSetup(t, kind);
			await setup.mail.goAway();
			const shop = await setup.addShop();
			await setup.sell(shop);
			const complaints = () =>
				setup.log.lines.filter(({ message }) => message === "a mail could not be sent; trying again").length;
			await setup.until(() => complaints() === 1);
			await setup.sell(shop, 2);
			await setup.untilLater(() => complaints() >= 3);
			const [waiting, ...others] = await setup.unsent();
			doesNotMatch(waiting?.sealed_text ?? "", /callback|ringback/, "the text of a waiting mail is sealed");
			deepEqual(others, [], "later failures wait for the digest");
			await setup.mail.comeBack();
			await setup.untilLater(() => setup.mail.mails.length === 1);
			await setup.clock.moveBy(5 * MINUTE_MS);
			equal(setup.mail.mails.length, 1);
			await setup.untilLater(() => setup.mail.mails.length === 2);
			deepEqual(
				setup.mail.mails.map((mail) => subject(mail)),
				['1 callback failed permanently: "Shop"', '2 callbacks failed permanently: "Shop"'],
			);
			const [first, digest] = setup.mail.mails.map(({ atMs }) => atMs);
			ok(
				(digest ?? 0) - (first ?? 0) >= MAIL_INTERVAL_MS,
				"the interval starts when the server accepts the first mail",
			);
		});

		for (const [trouble, missed] of [
			["breaking", "one@shop.example"],
			["deferred", "two@shop.example"],
		] as const) {
			test(`an owner who cannot be mailed now (${trouble}) gets the mail later, with times in their own zone, and nobody gets it twice`, async (t) => {
				const setup = await startSetup(t, kind);
				const owners = ["one@shop.example", "two@shop.example"];
				const shop = await setup.addShop({ owners });
				const { id } = await setup.person("one@shop.example");
				await setup.store.db.updateTable("people").set({ zone: "Asia/Tokyo" }).where("id", "=", id).execute();
				setup.mail[trouble].add(missed);
				await setup.sell(shop);
				await setup.untilLater(
					async () =>
						setup.mail.mails.length === 1 && (await setup.unsent()).some(({ refusal }) => refusal !== null),
				);
				deepEqual(
					readers(setup),
					owners.filter((email) => email !== missed),
				);
				const [notice] = await setup.notices(shop);
				deepEqual([notice?.mailed_failures, notice?.mail_due_at_ms], [1, null]);
				// The mail that is still missing must survive a restart.
				await setup.stop();
				setup.mail[trouble].clear();
				await setup.start();
				await setup.untilLater(() => setup.mail.mails.length === 2);
				await setup.clock.moveBy(QUIET_OVER_MS);
				deepEqual(readers(setup), owners);
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

		test("without SMTP_URL the notice is only on the page, and the log says that mail is off", async (t) => {
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
	});
}

function subject(mail: ReceivedMail | undefined): string | undefined {
	return mail?.headers.get("subject");
}

function readers({ mail }: Setup): string[] {
	return mail.mails.flatMap(({ to }) => to).toSorted();
}

async function countFailing({ store }: Setup): Promise<number> {
	return (await store.db.selectFrom("notices").select("id").execute()).length;
}
