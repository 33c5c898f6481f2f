// Telling a programme's owners that callbacks finally failed: at once, then not in a flood, and never not at
// all. A real service, a shop that refuses, a real SMTP server.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { MAIL_INTERVAL_MS } from "../../src/domain/notice.ts";
import { addFailures, claimMail } from "../../src/store/notices.ts";
import type { ReceivedMail } from "../support/mail-server.ts";
import { newId } from "../support/rows.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { openSite } from "./notice-site.ts";

const MINUTE_MS = 60_000;
/** Due mails are looked for every half a minute; the rest is what the clock runs ahead while one is sent. */
const LATENESS_MS = 5 * MINUTE_MS;

for (const kind of DATABASE_KINDS) {
	describe(`notices by mail (${kind})`, { concurrency: 2 }, () => {
		test("the first final failure is told at once, to all owners of that programme and nobody else", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			const owners = ["one@shop.example", "two@shop.example"];
			const failing = await site.addShop({ name: "Failing", owners });
			const other = await site.addShop({ name: "Other", owners: ["else@other.example"] });
			const soldAtMs = site.clock.nowMs();
			await site.sell(failing);
			await site.until(() => site.mail.mails.length === 1);
			await site.until(async () => (await site.notices(failing))[0]?.mail_due_at_ms === null);
			const [mail] = site.mail.mails;
			ok(mail !== undefined && mail.atMs - soldAtMs < LATENESS_MS);
			deepEqual(mail.to.toSorted(), owners);
			equal(subject(mail), '1 callback failed: "Failing"');
			equal(mail.headers.get("from"), "Ringback <rb@network.example>");
			match(mail.text, new RegExp(`Programme: "Failing" \\(${failing.programmeId}\\)`));
			match(mail.text, /answered HTTP 404, which we take as a deliberate refusal/);
			match(mail.text, /https:\/\/ringback\.example/);
			const [notice, ...more] = await site.notices(failing);
			deepEqual(more, []);
			deepEqual([notice?.kind, notice?.failures, notice?.mailed_failures], ["callbacks_failing", 1, 1]);
			deepEqual(await site.notices(other), []);
		});

		test("more failures within fifteen minutes are one digest, with their number, when those are over", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			const shop = await site.addShop();
			await site.sell(shop);
			await site.until(() => site.mail.mails.length === 1);
			await site.sell(shop, 3);
			await site.until(async () => (await site.notices(shop))[0]?.failures === 4);
			const firstAtMs = site.mail.mails[0]?.atMs ?? 0;
			await site.clock.moveTo(firstAtMs + MAIL_INTERVAL_MS - MINUTE_MS);
			await site.sell(shop, 2);
			await site.until(async () => (await site.notices(shop))[0]?.failures === 6);
			equal(site.mail.mails.length, 1, "nothing within the fifteen minutes");
			await site.untilLater(() => site.mail.mails.length === 2);
			const [, digest] = site.mail.mails;
			ok(digest !== undefined && digest.atMs >= firstAtMs + MAIL_INTERVAL_MS);
			ok(digest.atMs < firstAtMs + MAIL_INTERVAL_MS + LATENESS_MS);
			equal(subject(digest), '5 callbacks failed: "Shop"');
			match(digest.text, /5 callbacks to your shop finally failed \(6 since 2026-01-15 12:00 UTC\)/);
			await site.until(async () => (await site.notices(shop))[0]?.mail_due_at_ms === null);
			await site.clock.moveBy(2 * MAIL_INTERVAL_MS);
			equal(site.mail.mails.length, 2, "nothing new, nothing told");
		});

		test("another programme's quiet time is its own", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			const early = await site.addShop({ name: "Early", owners: ["early@shop.example"] });
			const late = await site.addShop({ name: "Late", owners: ["late@shop.example"] });
			await site.sell(early);
			await site.until(() => site.mail.mails.length === 1);
			await site.sell(early);
			await site.sell(late, 1);
			await site.until(() => site.mail.mails.length === 2);
			deepEqual(
				site.mail.mails.map((mail) => [subject(mail), ...mail.to]),
				[
					['1 callback failed: "Early"', "early@shop.example"],
					['1 callback failed: "Late"', "late@shop.example"],
				],
			);
		});

		test("the next success is told when the fifteen minutes are over, and at once after that", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			const shop = await site.addShop();
			await site.sell(shop);
			await site.until(() => site.mail.mails.length === 1);
			site.shop.answer = () => ({ status: 204 });
			await site.sell(shop, 2);
			await site.until(async () => (await site.notices(shop)).length === 2);
			const kinds = (await site.notices(shop)).map(({ kind, ended_at_ms }) => [kind, ended_at_ms !== null]);
			deepEqual(kinds, [
				["callbacks_failing", true],
				["callbacks_working_again", false],
			]);
			const firstAtMs = site.mail.mails[0]?.atMs ?? 0;
			await site.clock.moveTo(firstAtMs + MAIL_INTERVAL_MS - MINUTE_MS);
			equal(site.mail.mails.length, 1);
			await site.untilLater(() => site.mail.mails.length === 2);
			const [, again] = site.mail.mails;
			ok(again !== undefined && again.atMs >= firstAtMs + MAIL_INTERVAL_MS);
			equal(subject(again), 'Callbacks work again: "Shop"');
			match(again.text, /Since 2026-01-15 12:00 UTC your shop answers callbacks again\./);

			await site.clock.moveTo(again.atMs + 2 * MAIL_INTERVAL_MS);
			site.shop.answer = () => ({ status: 400 });
			await site.sell(shop);
			await site.until(() => site.mail.mails.length === 3);
			await site.clock.moveBy(2 * MAIL_INTERVAL_MS);
			site.shop.answer = () => ({ status: 200 });
			const mendedAtMs = site.clock.nowMs();
			await site.sell(shop);
			await site.until(() => site.mail.mails.length === 4);
			equal(subject(site.mail.mails[3]), 'Callbacks work again: "Shop"');
			ok((site.mail.mails[3]?.atMs ?? 0) - mendedAtMs < LATENESS_MS);
		});

		test("while the mail server is away it is tried again, and told once it is back", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			await site.mail.goAway();
			const shop = await site.addShop();
			await site.sell(shop);
			const complaints = () =>
				site.log.lines.filter(({ message }) => /could not be mailed; trying again/.test(message)).length;
			await site.until(() => complaints() === 1);
			equal((await site.notices(shop))[0]?.mailed_failures, 0, "not told, and not counted as told");
			await site.untilLater(() => complaints() >= 2);
			await site.mail.comeBack();
			await site.untilLater(() => site.mail.mails.length === 1);
			await site.until(async () => (await site.notices(shop))[0]?.mailed_failures === 1);
			await site.clock.moveBy(2 * MINUTE_MS);
			equal(site.mail.mails.length, 1);
		});

		test("a process that died with the mail in its hand has it sent by the next one, a minute later", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			const shop = await site.addShop();
			await site.stop();
			const nowMs = site.clock.nowMs();
			await addFailures(
				site.store.db,
				{
					programmeId: shop.programmeRow,
					failures: 7,
					lastDeliveryId: 1,
					lastVerdict: "refused",
					lastHttpStatus: 410,
				},
				{ publicId: newId("ntc"), mailDueAtMs: nowMs },
				nowMs,
			);
			const [notice] = await site.notices(shop);
			ok(notice !== undefined && (await claimMail(site.store.db, notice, nowMs + MINUTE_MS)));
			equal(await claimMail(site.store.db, notice, nowMs + MINUTE_MS), false, "one process at a time");
			await site.start();
			await site.clock.moveTo(nowMs + MINUTE_MS - 1);
			equal(site.mail.mails.length, 0, "it might still be at it");
			await site.untilLater(() => site.mail.mails.length === 1);
			equal(subject(site.mail.mails[0]), '7 callbacks failed: "Shop"');
		});

		test("a stop finishes the mail under way and leaves the others for the next start", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			site.mail.holds = true;
			for (const name of ["First", "Second"]) {
				await site.sell(await site.addShop({ name, owners: [`${name.toLowerCase()}@shop.example`] }));
			}
			await site.until(async () => site.mail.held.length === 1 && (await countFailing(site)) === 2);
			const stopped = site.stop();
			site.mail.holds = false;
			for (const answer of site.mail.held) answer();
			await stopped;
			equal(site.mail.mails.length, 1, "the second was not begun");
			await site.start();
			await site.untilLater(() => site.mail.mails.length === 2);
			deepEqual(site.mail.mails.map((mail) => subject(mail)).toSorted(), [
				'1 callback failed: "First"',
				'1 callback failed: "Second"',
			]);
		});

		test("without SMTP_URL the notice stays on the page, and the log says that mail is off", async (t) => {
			const site = await openSite(t, kind);
			await site.start({ withoutMail: true });
			const shop = await site.addShop();
			await site.sell(shop, 2);
			await site.until(async () => (await site.notices(shop))[0]?.failures === 2);
			await site.clock.moveBy(2 * MAIL_INTERVAL_MS);
			const [notice] = await site.notices(shop);
			deepEqual([notice?.kind, notice?.ended_at_ms], ["callbacks_failing", null]);
			equal(site.mail.mails.length, 0);
			equal(site.log.lines.filter(({ message }) => /^Mail is off\. .*SMTP_URL/.test(message)).length, 1);
		});

		test("a programme's name cannot add headers or recipients", async (t) => {
			const site = await openSite(t, kind);
			await site.start();
			const name = "Shop\r\nBcc: thief@evil.example\r\n\r\nHello,\nX-Evil: 1";
			const shop = await site.addShop({});
			// Forms refuse such a name; the store may hold one from elsewhere.
			await site.store.db.updateTable("programmes").set({ name }).execute();
			await site.sell(shop);
			await site.until(() => site.mail.mails.length === 1);
			const [mail] = site.mail.mails;
			deepEqual(mail?.to, ["owner@shop.example"]);
			equal(mail?.headers.has("bcc"), false);
			equal(mail?.headers.has("x-evil"), false);
			equal(subject(mail), '1 callback failed: "Shop Bcc: thief[at]evil[.]example Hello, X-Evil: 1"');
		});
	});
}

function subject(mail: ReceivedMail | undefined): string | undefined {
	return mail?.headers.get("subject");
}

async function countFailing({ store }: Awaited<ReturnType<typeof openSite>>): Promise<number> {
	return (await store.db.selectFrom("notices").select("id").execute()).length;
}
