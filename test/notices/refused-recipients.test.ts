// For whom a real mail server does not take a mail, as whoever sends it is told.

import { deepEqual, equal, match } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { watchMailer } from "../../src/accounts/mail-watch.ts";
import { createSmtpMailer } from "../../src/outside/mailer.ts";
import { createClock } from "../support/clock.ts";
import { startMailServer } from "../support/mail-server.ts";

const WORDS = { subject: "Hello", text: "Hello." };

for (const { email, written } of [
	{ email: "dev@bücher.example", written: "dev@xn--bcher-kva.example" },
	{ email: "dev(x)@shop.example", written: '"dev(x)"@shop.example' },
]) {
	test(`a mail that is refused for ${email} is told as refused for that address and nobody else`, async (t) => {
		const { server, smtp } = await open(t);
		const to = ["one@shop.example", email];
		deepEqual(await smtp.send({ to, ...WORDS }), []);
		equal(server.mails[0]?.to.length, 2);
		for (const name of [email, written]) server.unknown.add(name);
		const some = await smtp.send({ to, ...WORDS });
		deepEqual(
			some.map((refusal) => [refusal.to, refusal.isPermanent]),
			[[email, true]],
		);
		match(some[0]?.reason ?? "", /550 no such mailbox/);
		server.deferred.add("one@shop.example");
		const all = await smtp.send({ to, ...WORDS });
		deepEqual(
			all.map((refusal) => [refusal.to, refusal.isPermanent]),
			[
				["one@shop.example", false],
				[email, true],
			],
			"each with the server's own words",
		);
	});
}

test("a mail that is taken for one reader and refused for another is no failure of the server", async (t) => {
	const { server, smtp } = await open(t);
	const watched = watchMailer(smtp, createClock());
	const failure = () => watched.failure;
	const to = ["one@shop.example", "two@shop.example"];
	server.unknown.add("two@shop.example");
	equal((await watched.send({ to, ...WORDS })).length, 1);
	equal(failure(), null);
	server.unknown.add("one@shop.example");
	await watched.send({ to, ...WORDS });
	match(failure()?.reason ?? "", /550 no such mailbox/);
	server.unknown.delete("one@shop.example");
	await watched.send({ to, ...WORDS });
	equal(failure(), null, "another one was taken");
});

async function open(t: TestContext) {
	const server = await startMailServer(Date.now);
	const smtp = createSmtpMailer(server.url, "Ringback <ringback@network.example>");
	t.after(async () => {
		smtp.close();
		await server.goAway();
	});
	return { server, smtp };
}
