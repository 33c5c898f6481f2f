import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../domain/time.ts";
import {
	composeAccessMail,
	composeInvitationMail,
	composeOwnerInvitationMail,
	composeResetMail,
} from "./account-mail.ts";

const LINK = "https://ringback.example/welcome/abc";
const TO = "a@shop.example";

test("a mail has its link on a line of its own, says how long it works, and is not sent later than that", () => {
	const invitation = { to: TO, link: LINK, role: "owner", programmeName: "Shop", validDays: 7 } as const;
	for (const mail of [composeInvitationMail(invitation), composeOwnerInvitationMail(invitation)]) {
		assert.match(mail.text, new RegExp(`7 days:\n${LINK}\n`));
		assert.match(mail.text, /did not expect/);
		assert.equal(mail.subject, 'You\'re invited to manage "Shop"');
		assert.equal(mail.goodForMs, 7 * 24 * HOUR_MS);
	}
	const reset = composeResetMail(TO, LINK);
	assert.match(reset.text, new RegExp(`one hour:\n${LINK}\n`));
	assert.match(reset.text, /do nothing/);
	assert.equal(reset.goodForMs, HOUR_MS);
	assert.match(composeAccessMail(TO, "Shop", "https://ringback.example").text, /\/sign-in$/);
});

test("the only link in an invitation is ours, whatever the programme is called", () => {
	const programmeName =
		'Shop". Confirm at https://evil.example/login\r\nBcc: all@shop.example\n\nClick www.evil.example';
	const invitation = { to: TO, link: LINK, role: "owner", programmeName, validDays: 7 } as const;
	for (const { subject, text } of [
		composeInvitationMail(invitation),
		composeOwnerInvitationMail(invitation),
		composeAccessMail(TO, programmeName, "https://ringback.example"),
	]) {
		assert.doesNotMatch(subject, /[\r\n]/);
		assert.doesNotMatch(text, /^(?:Bcc|Click)/m);
		const links = `${subject}\n${text}`.match(/\b(?:https?:\/\/|www\.)\S+|\w+\.example\S*/g) ?? [];
		assert.ok(
			links.every((link) => link.startsWith("https://ringback.example/")),
			String(links),
		);
		// One pair of quotation marks around each name, and none that it brought itself.
		assert.equal(subject.split('"').length, 3);
	}
});
