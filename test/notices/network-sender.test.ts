// Who a mail comes from, as a real mail server gets it.

import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { createNetworkMailer } from "../../src/accounts/network-mailer.ts";
import { createSmtpMailer } from "../../src/outside/mailer.ts";
import type { NetworkFace } from "../../src/store/known-network.ts";
import { startMailServer } from "../support/mail-server.ts";

const PUBLIC_URL = "https://track.acme.example";
const NOTHING: NetworkFace = {
	name: null,
	brand: "Service",
	brandState: "open",
	isBrandChosen: false,
	colour: null,
	supportAddress: null,
	senderName: null,
	senderAddress: null,
	logo: null,
	mailTestedAtMs: null,
	setUpEndedAtMs: null,
};

test("a mail comes from MAIL_FROM until the network says otherwise, and answers go to its support address", async (t) => {
	const server = await startMailServer(Date.now);
	t.after(() => server.goAway());
	const send = async (face: Partial<NetworkFace>, mailFrom: string) => {
		const smtp = createSmtpMailer(server.url, mailFrom);
		const mailer = createNetworkMailer(smtp, { read: async () => ({ ...NOTHING, ...face }) }, PUBLIC_URL);
		deepEqual(await mailer.send({ to: ["mira@network.example"], subject: "Hello", text: "Hello." }), []);
		smtp.close();
		const mail = server.mails.at(-1);
		return [mail?.headers.get("from"), mail?.headers.get("reply-to"), mail?.text];
	};
	const usual = "Ringback <ringback@network.example>";
	const ofNobody = await send({}, usual);
	deepEqual(ofNobody.slice(0, 2), [usual, undefined]);
	match(
		ofNobody[2] ?? "",
		/sent by the affiliate network track\.acme\.example at https:\/\/track\.acme\.example/,
	);

	const named = await send({ name: "Acme, Partners", supportAddress: "help@acme.example" }, usual);
	deepEqual(named.slice(0, 2), ['"Acme, Partners" <ringback@network.example>', "help@acme.example"]);
	match(named[2] ?? "", /affiliate network Acme, Partners[\s\S]*Questions\? Write to help@acme\.example/);

	const sender = { senderName: "Acme", senderAddress: "no-reply@acme.example" };
	equal((await send({ name: "Acme Partners", ...sender }, usual))[0], "Acme <no-reply@acme.example>");
	equal((await send({ name: "Acme" }, "ringback@network.example"))[0], "Acme <ringback@network.example>");
	// What no parser of ours lets through: even then it stays in its own header.
	const forged = await send({ senderName: 'x" <a@b.example>\r\nBcc: all@shop.example' }, usual);
	equal(server.mails.at(-1)?.headers.has("bcc"), false);
	match(forged[0] ?? "", /<ringback@network\.example>$/);
});
