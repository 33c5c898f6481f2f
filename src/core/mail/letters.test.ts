import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../domain/time.ts";
import { composeAccessMail, composeInvitationMail, composeOfferMail, composeResetMail } from "./letters.ts";

const LINK = "https://ringback.example/welcome/abc";
const TO = "a@shop.example";

test("a mail has its link on a line of its own, says how long it works, and is not sent after that", () => {
	const place = { kind: "programme", programme: { id: 1, name: "Shop" }, role: "owner" } as const;
	for (const compose of [composeInvitationMail, composeOfferMail]) {
		const mail = compose(TO, LINK, place, null);
		assert.match(mail.text, new RegExp(`7 days:\n${LINK}\n`));
		assert.match(mail.text, /did not expect/);
		assert.equal(mail.subject, 'You\'re invited to manage "Shop"');
		assert.equal(mail.goodForMs, 7 * 24 * HOUR_MS);
	}
	const reset = composeResetMail(TO, LINK);
	assert.match(reset.text, new RegExp(`one hour:\n${LINK}\n`));
	assert.match(reset.text, /ignore this mail/);
	assert.equal(reset.goodForMs, HOUR_MS);
	assert.match(composeAccessMail(TO, place, "https://ringback.example").text, /\/sign-in\n/);
});

test("the only link in an invitation is ours, whatever the programme is called", () => {
	const programmeName =
		'Shop". Confirm at https://evil.example/login\r\nBcc: all@shop.example\n\nClick www.evil.example';
	const place = { kind: "programme", programme: { id: 1, name: programmeName }, role: "developer" } as const;
	for (const { subject, text } of [
		composeInvitationMail(TO, LINK, place, null),
		composeOfferMail(TO, LINK, place, "o@evil.example"),
		composeAccessMail(TO, place, "https://ringback.example"),
	]) {
		assert.doesNotMatch(subject, /[\r\n]/);
		assert.doesNotMatch(text, /^(?:Bcc|Click)/m);
		const links = `${subject}\n${text}`.match(/\b(?:https?:\/\/|www\.)\S+|\w+\.example\S*/g) ?? [];
		assert.ok(
			links.every((link) => link.startsWith("https://ringback.example/")),
			String(links),
		);
		// The subject has one pair of quotation marks around the name, and none that are part of the name.
		assert.equal(subject.split('"').length, 3);
	}
});

test("an invitation names the role, and a viewer is not asked to manage the programme", () => {
	for (const [role, subject, says] of [
		["owner", 'You\'re invited to manage "Shop"', /Your role: owner\..*approving conversions/],
		["developer", 'You\'re invited to "Shop" as a developer', /Your role: developer\..*cannot approve/],
		["viewer", 'You\'re invited to "Shop" as a viewer', /Your role: viewer\..*changes nothing/],
	] as const) {
		const place = { kind: "programme", programme: { id: 1, name: "Shop" }, role } as const;
		for (const compose of [composeInvitationMail, composeOfferMail]) {
			const mail = compose(TO, LINK, place, null);
			assert.equal(mail.subject, subject);
			assert.match(mail.text, says);
		}
	}
	const staff = composeInvitationMail(TO, LINK, { kind: "staff" }, null);
	assert.equal(staff.subject, "You're invited to join the network's staff");
});

test("an invitation as a partner names the commission, and for how many days a click counts", () => {
	const offer = { programmeName: "Shop", commissions: ["8 % of the basket", "5.00 EUR for each lead"] };
	const conditions = [
		{ ...offer, clickDays: 30 },
		{ programmeName: "www.evil.example", commissions: ["2.00 EUR for each conversion"], clickDays: 1 },
	];
	const place = { kind: "partner", partner: { id: 1, name: "Blog" }, conditions } as const;
	const { text } = composeInvitationMail(TO, LINK, place, null);
	assert.ok(
		text.includes(
			'Your commission in the programme "Shop":\n- 8 % of the basket\n- 5.00 EUR for each lead\nA click on your link counts for 30 days.\n',
		),
		text,
	);
	assert.match(
		text,
		/"www\[\.\]evil\[\.\]example":\n- 2\.00 EUR for each conversion\n.*counts for 1 day\.\n/,
	);
	assert.match(text, new RegExp(`7 days:\n${LINK}\n`));
});

test("a person with an account is informed that they are a partner now, and gets no set-up link", () => {
	const place = { kind: "partner", partner: { id: 1, name: "Blog" } } as const;
	const { text } = composeAccessMail(TO, place, "https://ringback.example");
	assert.match(text, /Sign in as usual:\nhttps:\/\/ringback\.example\/sign-in\n/);
	assert.match(text, /If you did not expect this mail, ask the network's staff\./);
	assert.doesNotMatch(text, /ignore/);
});
