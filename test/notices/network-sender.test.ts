// Tests the sender of mails as a real mail server receives it, and what is reported about a mail that the
// server refuses.

import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createNetworkMailer, sayMailError, sayMailReply } from "#core/mail/network-mailer.ts";
import type { NetworkFace } from "#core/store/network-cache.ts";
import { createSmtpMailer } from "../../src/outside/mailer.ts";
import { startMailServer } from "../support/mail-server.ts";

const PUBLIC_URL = "https://track.acme.example";
const WORDS = { subject: "Hello", text: "Hello." };
const NOTHING: NetworkFace = {
	name: null,
	brand: "Service",
	brandState: "open",
	isBrandChosen: false,
	colour: null,
	supportAddress: null,
	timeZone: "UTC",
	senderName: null,
	senderAddress: null,
	logo: null,
	mailTestedAtMs: null,
	setUpEndedAtMs: null,
	hasSample: false,
};

test("a mail comes from MAIL_FROM or the network's sender, and replies go to the support address", async (t) => {
	const server = await startMailServer(Date.now);
	t.after(() => server.goAway());
	const send = async (face: Partial<NetworkFace>, mailFrom: string) => {
		const smtp = createSmtpMailer(server.url, mailFrom);
		const network = { read: async () => ({ ...NOTHING, ...face }) };
		const mailer = createNetworkMailer(smtp, network, PUBLIC_URL, { nowMs: Date.now });
		equal(await mailer.send({ to: "mira@network.example", ...WORDS }), null);
		smtp.close();
		const mail = server.mails.at(-1);
		return [mail?.headers.get("from"), mail?.headers.get("reply-to"), mail?.text];
	};
	const usual = "Ringback <ringback@network.example>";
	const ofNobody = await send({}, usual);
	deepEqual(ofNobody.slice(0, 2), [usual, undefined]);
	match(ofNobody[2] ?? "", /sent by the affiliate network at https:\/\/track\.acme\.example/);

	const named = await send({ name: "Acme, Partners", supportAddress: "help@acme.example" }, usual);
	deepEqual(named.slice(0, 2), ['"Acme, Partners" <ringback@network.example>', "help@acme.example"]);
	match(named[2] ?? "", /affiliate network Acme, Partners[\s\S]*Questions\? Write to help@acme\.example/);

	const sender = { senderName: "Acme", senderAddress: "no-reply@acme.example" };
	equal((await send({ name: "Acme Partners", ...sender }, usual))[0], "Acme <no-reply@acme.example>");
	equal((await send({ name: "Acme" }, "ringback@network.example"))[0], "Acme <ringback@network.example>");
	// Our parsers refuse such a sender name. Even if they did not, it could not add another header.
	const forged = await send({ senderName: 'x" <a@b.example>\r\nBcc: all@shop.example' }, usual);
	equal(server.mails.at(-1)?.headers.has("bcc"), false);
	match(forged[0] ?? "", /<ringback@network\.example>$/);
});

for (const [email, written] of [
	["dev@bücher.example", "dev@xn--bcher-kva.example"],
	["dev(x)@shop.example", '"dev(x)"@shop.example'],
	["dev@shop.example", "dev@shop.example"],
] as const) {
	test(`a mail to ${email} reaches that address, and a refusal shows the server's own words`, async (t) => {
		const { server, mailer } = await open(t);
		equal(await mailer.send({ to: email, ...WORDS }), null);
		equal(server.mails.length, 1);
		for (const name of [email, written]) server.unknown.add(name);
		const refused = await mailer.send({ to: email, ...WORDS });
		match(refused?.reason ?? "", /550 no such mailbox/);
	});
}

test("the mail server counts as failing if it is unreachable or refuses two readers in a row, not for one bad address", async (t) => {
	const { server, mailer } = await open(t);
	const failure = () => mailer.failure;
	const send = (name: string) => mailer.send({ to: `${name}@shop.example`, ...WORDS });
	for (const name of ["one", "two"]) server.unknown.add(`${name}@shop.example`);
	await send("one");
	await send("one");
	equal(failure(), null);
	await send("two");
	match(failure()?.reason ?? "", /550 no such mailbox/);
	await send("three");
	equal(failure(), null, "the server has accepted another mail");
	await server.goAway();
	await rejects(send("three"));
	match(failure()?.reason ?? "", /ECONNREFUSED/);
});

const REPLIES: readonly [what: string, said: string][] = [
	["550 no\r\n550 such mailbox\n", "550 no 550 such mailbox"],
	["\0 turned \u202eround\ud800", "turned  round\ufffd"],
	["x".repeat(500), `${"x".repeat(400)}…`],
];
for (const [reply, said] of REPLIES) {
	test(`a reply of the mail server is shortened to one line that can be stored: ${JSON.stringify(reply.slice(0, 20))}`, () => {
		equal(sayMailReply(reply).replace(/ +/g, " "), said.replace(/ +/g, " "));
	});
}

test("if several addresses of the mail server were tried, the error of each one is shown", () => {
	const error = new AggregateError([new Error("ECONNREFUSED ::1"), new Error("ECONNREFUSED 127.0.0.1")]);
	equal(sayMailError(error), "ECONNREFUSED ::1; ECONNREFUSED 127.0.0.1");
});

async function open(t: TestContext) {
	const server = await startMailServer(Date.now);
	const smtp = createSmtpMailer(server.url, "Ringback <ringback@network.example>");
	const clock = { nowMs: Date.now };
	const mailer = createNetworkMailer(smtp, { read: async () => NOTHING }, PUBLIC_URL, clock);
	t.after(async () => {
		smtp.close();
		await server.goAway();
	});
	return { server, mailer };
}
