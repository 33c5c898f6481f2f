// The payment details of a partner: who is paid, and into which account. An IBAN is checked by its check digits, because
// a wrong digit would send the money to somebody else, or nowhere.

import { parseLines } from "#core/domain/display-name.ts";
import {
	type Checked,
	checkAll,
	type Fault,
	type Result,
	refuse,
	refuseAll,
	succeed,
} from "#core/domain/fault.ts";
import { parseCountry } from "./country.ts";

export interface PaymentDetails {
	/** Name of the account's holder. */
	payee: string;
	/** Postal address with line breaks. */
	address: string;
	/** ISO 3166 code of the country, such as "DE", or empty. */
	country: string;
	vatId: string;
	/** IBAN without spaces, or empty if the partner is paid in another way. */
	iban: string;
	/** BIC of the bank, or empty. */
	bic: string;
	/** Another account in the partner's own words, such as an address for a payment service, or empty. */
	account: string;
}

export const PAYMENT_FIELDS = ["payee", "address", "country", "vatId", "iban", "bic", "account"] as const;

export type PaymentDetailsInput = Readonly<Record<keyof PaymentDetails, string>>;

const MAX_LINE_LENGTH = 140;
const MAX_ADDRESS_LENGTH = 500;
const MAX_VAT_ID_LENGTH = 30;

/** Parses payment details. They need a payee, and either an IBAN or another account. */
export function parsePaymentDetails(input: PaymentDetailsInput): Checked<PaymentDetails> {
	const read = checkAll<PaymentDetails>({
		payee: parseLine(input.payee, "payee", "the payee's name", MAX_LINE_LENGTH, true),
		address: parseAddress(input.address),
		country: parseCountry(input.country, "country"),
		vatId: parseLine(input.vatId, "vatId", "the VAT ID", MAX_VAT_ID_LENGTH, false),
		iban: input.iban.trim() === "" ? succeed("") : parseIban(input.iban),
		bic: input.bic.trim() === "" ? succeed("") : parseBic(input.bic),
		account: parseLine(input.account, "account", "the account", MAX_LINE_LENGTH, false),
	});
	if (!read.ok) return read;
	const problem = findContradiction(read.value);
	return problem === null ? read : refuseAll([problem]);
}

function findContradiction({ iban, bic, account }: PaymentDetails): Fault | null {
	if (iban === "" && account === "") {
		return refuse("invalid_field", "Enter an IBAN, or another account that money can be sent to.", "iban")
			.fault;
	}
	if (iban !== "" && account !== "") {
		const detail = "Enter either an IBAN or another account, so that it is clear where the money goes.";
		return refuse("invalid_field", detail, "account").fault;
	}
	if (bic !== "" && iban === "") {
		return refuse("invalid_field", "A BIC belongs to an IBAN. Enter the IBAN, or remove the BIC.", "bic")
			.fault;
	}
	return null;
}

/** Describes the account without revealing it: "IBAN …1234". */
function hintOfAccount({ iban, account }: PaymentDetails): string {
	return iban === "" ? `another account …${account.slice(-2)}` : `IBAN …${iban.slice(-4)}`;
}

const FIELD_WORDS: Readonly<Record<keyof PaymentDetails, string>> = {
	payee: "payee",
	address: "address",
	country: "country",
	vatId: "VAT ID",
	iban: "IBAN",
	bic: "BIC",
	account: "other account",
};

/**
 * Describes a change for the audit log and for mails: the account as a hint, and the names of the other fields that
 * changed. `before` is null if there were no details.
 */
export function describeChange(before: PaymentDetails | null, after: PaymentDetails): string {
	if (before === null) return `none → ${hintOfAccount(after)}`;
	const changed = PAYMENT_FIELDS.filter((field) => before[field] !== after[field]);
	const isOtherAccount = before.iban !== after.iban || before.account !== after.account;
	const others = changed.filter((field) => field !== "iban" && field !== "account");
	return [
		...(isOtherAccount ? [`${hintOfAccount(before)} → ${hintOfAccount(after)}`] : []),
		...(others.length === 0 ? [] : [`new ${others.map((field) => FIELD_WORDS[field]).join(", ")}`]),
	].join("; ");
}

/** Writes an IBAN in groups of four, as people read it. */
export function groupIban(iban: string): string {
	return iban.replace(/.{4}(?=.)/g, "$& ");
}

/** Lengths of IBANs by country, from the registry of SWIFT. Other countries are checked by the check digits alone. */
const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
	`AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
	ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20
	LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29
	PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
	YE30`
		.split(/\s+/)
		.map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);

/** Parses an IBAN and returns it without spaces. */
export function parseIban(text: string): Result<string> {
	const iban = text.replace(/[\s\u00a0-]/g, "").toUpperCase();
	if (!/^[A-Z]{2}\d{2}[A-Z\d]{10,30}$/.test(iban)) {
		return refuse(
			"invalid_iban",
			"An IBAN has two letters, two digits and up to 30 more characters. Copy it again from the bank.",
			"iban",
		);
	}
	const country = iban.slice(0, 2);
	const length = IBAN_LENGTHS.get(country);
	if (length !== undefined && iban.length !== length) {
		const detail = `An IBAN from ${country} has ${length} characters, and this one has ${iban.length}. Copy it again from the bank.`;
		return refuse("invalid_iban", detail, "iban");
	}
	if (remainderOf97(iban) === 1n) return succeed(iban);
	const detail = "The check digits of this IBAN do not match. Copy it again from the bank.";
	return refuse("invalid_iban", detail, "iban");
}

/** Computes the remainder of ISO 13616: the first four characters go to the end, and letters count from 10. */
function remainderOf97(iban: string): bigint {
	const digits = `${iban.slice(4)}${iban.slice(0, 4)}`.replace(/[A-Z]/g, (letter) =>
		String(Number.parseInt(letter, 36)),
	);
	return BigInt(digits) % 97n;
}

function parseBic(text: string): Result<string> {
	const bic = text.replace(/\s/g, "").toUpperCase();
	if (/^[A-Z]{6}[A-Z\d]{2}(?:[A-Z\d]{3})?$/.test(bic)) return succeed(bic);
	const detail = "A BIC has 8 or 11 letters and digits, such as DEUTDEFF. Copy it again, or leave it empty.";
	return refuse("invalid_bic", detail, "bic");
}

function parseAddress(text: string): Result<string> {
	const address = parseLines(text, MAX_ADDRESS_LENGTH);
	if (address !== null) return succeed(address);
	const detail = `Enter the address in at most ${MAX_ADDRESS_LENGTH} characters, and none that are invisible.`;
	return refuse("invalid_field", detail, "address");
}

function parseLine(
	text: string,
	field: keyof PaymentDetails,
	what: string,
	maxLength: number,
	isRequired: boolean,
): Result<string> {
	const line = parseLines(text, maxLength);
	if (line !== null && !line.includes("\n") && !(isRequired && line === "")) return succeed(line);
	const empty = isRequired ? "" : ", or leave it empty";
	return refuse(
		"invalid_field",
		`Enter ${what} in one line of at most ${maxLength} characters${empty}.`,
		field,
	);
}
