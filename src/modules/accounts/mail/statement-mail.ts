// Composes the mails to a partner's people about its money: a statement was issued or paid, a payment was undone, or the
// payment details were changed.

import { quote } from "#core/domain/mail-text.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { minuteIn, sayMonth } from "#core/domain/zone-day.ts";
import type { WrittenMail } from "#core/mail/dispatcher.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import type { Statement } from "../store/statements.ts";

/**
 * Lifetime of mails about statements. Their content stays correct, and a mail server may be down for days.
 */
const GOOD_FOR_MS = 14 * DAY_MS;

type Named = Pick<Partner, "name" | "public_id">;

/** Composes the mail about a new statement. It also goes out if nothing is paid, so that nobody waits for a payment. */
export function composeIssuedMail(
	to: string,
	partner: Named,
	statement: Pick<Statement, "public_id" | "number" | "month" | "total" | "currency" | "is_carried">,
	publicUrl: string,
): WrittenMail {
	const { number, month, total, currency } = statement;
	const outcome =
		statement.is_carried === 1
			? ["It is carried forward. Nothing is paid now, and your next statement starts with this amount."]
			: [
					"It will be paid to the account in your payment details. Check that they are complete:",
					`${pageOf(partner, publicUrl)}/payment-details`,
				];
	return letter(to, `Statement ${number}: ${total} ${currency}`, [
		`Statement ${number} for ${quote(partner.name)} was issued. It covers everything up to the end of ${sayMonth(month)} that no earlier statement contains.`,
		"",
		`Total: ${total} ${currency}. ${outcome.join("\n")}`,
		"",
		"Your statement:",
		`${pageOf(partner, publicUrl)}/statements/${statement.public_id}`,
	]);
}

export function composePaidMail(
	to: string,
	partner: Named,
	payment: Pick<Statement, "public_id" | "number" | "total" | "currency"> & {
		paidOn: string;
		reference: string;
	},
	publicUrl: string,
): WrittenMail {
	const { number, total, currency, paidOn, reference } = payment;
	return letter(to, `Statement ${number} was paid`, [
		`Statement ${number} for ${quote(partner.name)} was paid on ${paidOn}: ${total} ${currency}.`,
		...(reference === "" ? [] : [`Reference: ${quote(reference)}`]),
		"",
		"Your statement:",
		`${pageOf(partner, publicUrl)}/statements/${payment.public_id}`,
	]);
}

/**
 * Composes the mail that a payment was undone, which takes back the mail about the payment. The mail gives
 * the reason that the partner's account shows.
 */
export function composeUndoneMail(
	to: string,
	partner: Named,
	payment: Pick<Statement, "public_id" | "number" | "total" | "currency"> & {
		paidOn: string;
		reason: string;
	},
	publicUrl: string,
): WrittenMail {
	const { number, total, currency, paidOn, reason } = payment;
	return letter(to, `Payment of statement ${number} was undone`, [
		`Statement ${number} for ${quote(partner.name)} is no longer marked as paid. The payment of ${total} ${currency} on ${paidOn} was undone.`,
		`Reason: ${quote(reason)}`,
		"The amount is still owed to you. You get another mail when the statement is paid.",
		"",
		"Your statement:",
		`${pageOf(partner, publicUrl)}/statements/${payment.public_id}`,
	]);
}

export function composeDetailsMail(
	to: string,
	zone: string,
	{ partner, detail, atMs, isByStaff }: { partner: Named; detail: string; atMs: number; isByStaff: boolean },
	publicUrl: string,
): WrittenMail {
	const person = isByStaff ? "the network's staff" : "a person who signs in for the partner";
	return letter(to, "Your payment details were changed", [
		`${minuteIn(atMs, zone)}: The payment details of ${quote(partner.name)} were changed by ${person}: ${detail}.`,
		"They are used from the next statement on.",
		"",
		"If you did not expect this:",
		"1. Choose a new password at once. This ends every session of your account:",
		`   ${publicUrl}/forgot-password`,
		"2. Sign in and correct the payment details:",
		`   ${pageOf(partner, publicUrl)}/payment-details`,
		"3. Tell the network's staff.",
	]);
}

/** Returns the URL with which the addresses of the partner's pages begin. */
function pageOf({ public_id: publicId }: Named, publicUrl: string): string {
	return `${publicUrl}/partner/${publicId}`;
}

function letter(to: string, subject: string, lines: readonly string[]): WrittenMail {
	return { to, subject, text: lines.join("\n"), goodForMs: GOOD_FOR_MS };
}
