// Invitations by mail: none is lost by a restart, and every address in a mail is the same. A real service, a real SMTP
// server, both databases.

import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { invitePerson, renewLink } from "../../src/accounts/invitations.ts";
import { createMailDispatcher } from "../../src/accounts/mail-dispatcher.ts";
import { DAY_MS } from "../../src/domain/time.ts";
import { expectValue } from "../support/shop-account.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { startSetup } from "./notice-setup.ts";

for (const kind of DATABASE_KINDS) {
	describe(`invitations by mail (${kind})`, { concurrency: 2 }, () => {
		test("a process that dies right after an invitation leaves its mail to the next one", async (t) => {
			const setup = await startSetup(t, kind);
			const service = setup.service();
			// As a process that dies with the commit: nothing that comes later ever happens.
			const clock = { ...setup.clock, yieldLoop: () => new Promise<void>(() => undefined) };
			const dying = { ...service, mails: createMailDispatcher({ ...service, clock }) };
			const email = "new@network.example";
			const input = { email, membership: null, invitedBy: null };
			const links = [expectValue(await invitePerson(dying, input)).link];
			const person = await setup.person(email);
			links.push(expectValue(await renewLink(dying, null, person, null)).link);
			service.mails.wake();
			await setup.until(() => setup.mail.mails.length === 2);
			for (const [index, { to, text }] of setup.mail.mails.entries()) {
				deepEqual(to, [email]);
				ok(text.includes(links[index] ?? "no link"), text);
			}
		});

		test("an address that the mail server refuses keeps nobody else from their mail", async (t) => {
			const setup = await startSetup(t, kind);
			const { mail, log } = setup;
			const { store, mails } = setup.service();
			const write = async (...addresses: readonly string[]) => {
				const letter = { subject: "Hello", text: "Hello.", goodForMs: DAY_MS };
				await store.transact(async (trx) => {
					for (const to of addresses) await mails.enqueue(trx, { to, ...letter });
				});
				mails.wake();
				await mails.settled();
				return log.lines.filter(({ message }) => message === "a mail could not be sent").length;
			};
			for (const address of ["gone@shop.example", "left@shop.example"]) mail.unknown.add(address);
			equal(await write("gone@shop.example", "left@shop.example", "here@shop.example"), 2);
			deepEqual(
				mail.mails.map(({ to }) => to),
				[["here@shop.example"]],
			);
			// A server that is away ends the round: the others would wait for it in vain.
			await mail.goAway();
			equal(await write("one@shop.example", "two@shop.example"), 3);
			mail.unknown.clear();
			await mail.comeBack();
			await setup.untilLater(() => mail.mails.length === 5);
		});

		test("without PUBLIC_URL the link, and the line that says who writes, name the port that is listened on", async (t) => {
			const setup = await startSetup(t, kind, { withoutPublicUrl: true });
			const service = setup.service();
			const input = { email: "new@network.example", membership: null, invitedBy: null };
			expectValue(await invitePerson(service, input));
			await setup.until(() => setup.mail.mails.length === 1);
			const addresses = setup.mail.mails[0]?.text.match(/https?:\/\/[^\s/]+/g) ?? [];
			deepEqual(addresses, [service.url, service.url]);
			equal(service.publicUrl, service.url);
		});
	});
}
