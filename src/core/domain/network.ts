// Settings of the network that runs this installation: its name, its brand in header names, its support
// address and the sender of its mails. They appear on pages, in headers and in mails, so none of them may
// contain a line break.

import { isMailAddress, MAX_NAME_LENGTH, parseLines, parseName } from "./display-name.ts";
import { type Result, refuse, succeed } from "./fault.ts";

/** Brand of an installation for which nobody has chosen a brand. */
export const DEFAULT_BRAND = "Service";

/**
 * Form of a brand. It is part of header names, so it has only letters, digits and hyphens. RFC 9110 would
 * allow more.
 */
const BRAND = /^[A-Za-z][A-Za-z0-9-]{0,30}$/;
const MAX_BRAND_LENGTH = 31;
/** Description of a valid brand. In a sentence, it follows the words "must be". */
export const BRAND_FORM = "1 to 31 letters, digits or hyphens, the first a letter, such as Acme";

export function isBrand(text: string): boolean {
	return BRAND.test(text);
}

export function parseBrand(text: string): Result<string> {
	const brand = text.trim();
	return isBrand(brand)
		? succeed(brand)
		: refuse("invalid_brand", `The brand must be ${BRAND_FORM}.`, "brand");
}

/**
 * Returns a brand that is made from the network's name, or null if the name starts with a digit or has no
 * Latin letters.
 */
export function suggestBrand(name: string): string | null {
	const plain = name.normalize("NFD").replace(/[\p{M}'’]/gu, "");
	const words = plain.match(/[A-Za-z0-9]+/g) ?? [];
	const brand = words.join("-").slice(0, MAX_BRAND_LENGTH).replace(/-+$/, "");
	return isBrand(brand) ? brand : null;
}

export function sayOtherBrand(known: string): string {
	return `RINGBACK_BRAND is not ${known}, the brand that shops check header names by: their receivers refuse callbacks until they know the new one. Set it to ${known}, or remove it.`;
}

export function networkName({ name, brand }: { name: string | null; brand: string }): string | null {
	return name ?? (brand === DEFAULT_BRAND ? null : brand);
}

/**
 * Parses the support address. Returns null for an empty field, which means that there is no support address.
 */
export function parseSupportAddress(text: string): Result<string | null> {
	return parseAddress(text, "supportAddress", "such as help@network.example");
}

/**
 * Parses the sender address of mails. Returns null for an empty field, which means that MAIL_FROM is used.
 */
export function parseSenderAddress(text: string): Result<string | null> {
	return parseAddress(text, "senderAddress", "such as no-reply@network.example");
}

/**
 * Characters that a sender name must not contain. Mail programs show the name instead of the address, so the
 * name must not look like an address.
 */
const NOT_IN_A_SENDER = /[<>@"\\]/;

/**
 * Parses the sender name of mails. Returns null for an empty field, which means that the network's name is
 * used.
 */
export function parseSenderName(text: string): Result<string | null> {
	if (text.trim() === "") return succeed(null);
	const name = parseName(text);
	if (name !== null && !NOT_IN_A_SENDER.test(name)) return succeed(name);
	const detail = `Enter a name of 1 to ${MAX_NAME_LENGTH} characters, without < > @ " \\ and without invisible characters.`;
	return refuse("invalid_name", detail, "senderName");
}

/** Maximum length of a postal address. It is enough for ten long lines. */
const MAX_POSTAL_ADDRESS_LENGTH = 500;

export function parsePostalAddress(text: string): Result<string | null> {
	const address = parseLines(text, MAX_POSTAL_ADDRESS_LENGTH);
	if (address !== null) return succeed(address === "" ? null : address);
	const detail = `Enter the address in at most ${MAX_POSTAL_ADDRESS_LENGTH} characters, and none that are invisible.`;
	return refuse("invalid_field", detail, "postalAddress");
}

/**
 * Parses an optional email address. Only ASCII is accepted, because not every mail server accepts other
 * characters.
 */
function parseAddress(text: string, field: string, example: string): Result<string | null> {
	const address = text.trim();
	if (address === "") return succeed(null);
	if (isMailAddress(address) && /^[\x21-\x7e]+$/.test(address)) return succeed(address);
	return refuse("invalid_email", `"${text}" is not an email address. Enter one ${example}.`, field);
}
