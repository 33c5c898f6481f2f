import { doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import {
	composeDetailsMail,
	composeIssuedMail,
	composePaidMail,
	composeUndoneMail,
} from "./statement-mail.ts";

const URL = "https://ringback.example";
const PARTNER = { name: "Blog.example", public_id: "ptn_1" };
const STATEMENT = {
	...{ public_id: "stm_1", number: "2026-0042", month: "2026-10", total: "123.45", currency: "EUR" },
	is_carried: 0 as const,
};

test("the mail about a statement names month and total, and says whether it is paid or carried forward", () => {
	const { subject, text } = composeIssuedMail("pia@blog.example", PARTNER, STATEMENT, URL);
	equal(subject, "Statement 2026-0042: 123.45 EUR");
	match(text, /"Blog\[\.\]example" was issued\. It covers everything up to the end of October 2026/);
	match(text, /will be paid to the account in your payment details/);
	match(text, /^https:\/\/ringback\.example\/partner\/ptn_1\/payment-details$/m);
	match(text, /^https:\/\/ringback\.example\/partner\/ptn_1\/statements\/stm_1$/m);
	const carried = composeIssuedMail("pia@blog.example", PARTNER, { ...STATEMENT, is_carried: 1 }, URL);
	match(carried.text, /It is carried forward\. Nothing is paid now/);
	doesNotMatch(carried.text, /will be paid/);
});

test("the mail about a payment names day and reference, which cannot contain a link", () => {
	const payment = { ...STATEMENT, paidOn: "2026-11-18", reference: "evil.example" };
	const { subject, text } = composePaidMail("pia@blog.example", PARTNER, payment, URL);
	equal(subject, "Statement 2026-0042 was paid");
	match(text, /was paid on 2026-11-18: 123\.45 EUR\.\nReference: "evil\[\.\]example"/);
	match(text, /^https:\/\/ringback\.example\/partner\/ptn_1\/statements\/stm_1$/m);
});

test("the mail about an undone payment says why, and that the amount is still owed", () => {
	const payment = { ...STATEMENT, paidOn: "2026-11-18", reason: "see evil.example" };
	const { subject, text } = composeUndoneMail("pia@blog.example", PARTNER, payment, URL);
	equal(subject, "Payment of statement 2026-0042 was undone");
	match(text, /payment of 123\.45 EUR on 2026-11-18 was undone\.\nReason: "see evil\[\.\]example"\n/);
	match(text, /still owed to you/);
	match(text, /^https:\/\/ringback\.example\/partner\/ptn_1\/statements\/stm_1$/m);
});

test("the mail about changed payment details says who changed them and what to do", () => {
	const change = { partner: PARTNER, detail: "none → IBAN …1234", atMs: 0, isByStaff: false };
	const { text } = composeDetailsMail("pia@blog.example", "UTC", change, URL);
	match(text, /were changed by a person who signs in for the partner: none → IBAN …1234/);
	match(text, /^ {3}https:\/\/ringback\.example\/partner\/ptn_1\/payment-details$/m);
});
