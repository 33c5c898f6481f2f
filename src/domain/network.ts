// What the network that runs Ringback says of itself: its name, its brand on the wire, its support address and the
// sender of its mails. All of it ends up on pages, in headers or in mails, so none of it may hold what would end a line.

import { isMailAddress, MAX_NAME_LENGTH, parseName } from "./display-name.ts";
import { type Result, refuse, succeed } from "./fault.ts";

/** The brand of an instance that has none: it names nobody. */
export const DEFAULT_BRAND = "Service";

/** It becomes part of header names: RFC 9110 tokens, without the odd ones. */
const BRAND = /^[A-Za-z][A-Za-z0-9-]{0,30}$/;
export const MAX_BRAND_LENGTH = 31;
/** Behind "must be". */
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

/** For whoever has none in mind. Null for a name that begins with a digit, or has no Latin letters to make one of. */
export function suggestBrand(name: string): string | null {
	const plain = name.normalize("NFD").replace(/[\p{M}'’]/gu, "");
	const words = plain.match(/[A-Za-z0-9]+/g) ?? [];
	const brand = words.join("-").slice(0, MAX_BRAND_LENGTH).replace(/-+$/, "");
	return isBrand(brand) ? brand : null;
}

/** RINGBACK_BRAND is another one than the network had when its first key was issued. */
export function sayOtherBrand(known: string): string {
	return `RINGBACK_BRAND is not ${known}, the brand that shops check header names by: their receivers refuse callbacks until they know the new one. Set it to ${known}, or remove it.`;
}

/** What people call the network: the name that was chosen, or its brand. Null where nobody has chosen anything. */
export function networkName({ name, brand }: { name: string | null; brand: string }): string | null {
	return name ?? (brand === DEFAULT_BRAND ? null : brand);
}

/** Null for an empty field: people then answer to nobody in particular. */
export function parseSupportAddress(text: string): Result<string | null> {
	return parseAddress(text, "supportAddress", "such as help@network.example");
}

/** Null for an empty field: the address of MAIL_FROM. */
export function parseSenderAddress(text: string): Result<string | null> {
	return parseAddress(text, "senderAddress", "such as no-reply@network.example");
}

/** What mail programs show in place of the address: nothing in it may pass for an address, or end a quoted text. */
const NOT_IN_A_SENDER = /[<>@"\\]/;

/** Null for an empty field: the network's name. */
export function parseSenderName(text: string): Result<string | null> {
	if (text.trim() === "") return succeed(null);
	const name = parseName(text);
	if (name !== null && !NOT_IN_A_SENDER.test(name)) return succeed(name);
	const detail = `Enter a name of 1 to ${MAX_NAME_LENGTH} characters, without < > @ " \\ and without any that cannot be seen.`;
	return refuse("invalid_name", detail, "senderName");
}

/** ASCII alone: what else an address may hold, not every mail server takes. */
function parseAddress(text: string, field: string, example: string): Result<string | null> {
	const address = text.trim();
	if (address === "") return succeed(null);
	if (isMailAddress(address) && /^[\x21-\x7e]+$/.test(address)) return succeed(address);
	return refuse("invalid_email", `"${text}" is not an email address. Enter one ${example}.`, field);
}
