import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { composeAccessMail, composeInvitationMail, composeResetMail } from "./account-mail.ts";
import { createMailDispatcher } from "./mail-dispatcher.ts";

const LINK = "https://ringback.example/welcome/abc";

test("a mail has its link on a line of its own, says how long it works, and what to do when it was not expected", () => {
	const invitation = composeInvitationMail({
		to: "a@shop.example",
		link: LINK,
		programmeName: "Shop",
		validDays: 7,
	});
	assert.match(invitation.text, new RegExp(`7 days:\n${LINK}\n`));
	assert.match(invitation.text, /did not expect/);
	const reset = composeResetMail("a@shop.example", LINK);
	assert.match(reset.text, new RegExp(`one hour:\n${LINK}\n`));
	assert.match(reset.text, /do nothing/);
	assert.match(composeAccessMail("a@shop.example", "Shop", "https://ringback.example").text, /\/sign-in$/);
});

test("a programme's name cannot add headers or lines to a mail", () => {
	const name = "Shop\r\nBcc: all@shop.example\n\nClick here";
	for (const { subject, text } of [
		composeInvitationMail({ to: "a@shop.example", link: LINK, programmeName: name, validDays: 7 }),
		composeAccessMail("a@shop.example", name, "https://ringback.example"),
	]) {
		assert.doesNotMatch(subject, /[\r\n]/);
		assert.doesNotMatch(text, /^(?:Bcc|Click)/m);
	}
});

test("a mail that cannot be sent is logged without its text or address, and a stop waits for what is under way", async () => {
	const log = createLog();
	let refuse: (error: Error) => void = () => undefined;
	const mailer = {
		send: () =>
			new Promise<void>((_resolve, reject) => {
				refuse = reject;
			}),
	};
	const mails = createMailDispatcher({ mailer, log });
	mails.send(composeResetMail("person@shop.example", LINK));
	let isSettled = false;
	const settled = mails.settled().then(() => {
		isSettled = true;
	});
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(isSettled, false);
	refuse(new Error("mailbox unavailable"));
	await settled;
	assert.match(log.text(), /a mail could not be sent/);
	for (const secret of [LINK, "person@shop.example"]) assert.equal(log.text().includes(secret), false);
});

test("without a mail server nothing is sent, and everybody can ask", async () => {
	const mails = createMailDispatcher({ mailer: null, log: createLog() });
	assert.equal(mails.isOn, false);
	mails.send(composeResetMail("a@shop.example", LINK));
	await mails.settled();
});
