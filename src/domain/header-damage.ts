// What becomes of the value of a signed header on its way, or in a program that writes it.

import { type DamageRule, when } from "./damage.ts";
import { unquote } from "./pasted-request.ts";

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

const WRAPPED: readonly DamageRule[] = [
	{
		cause: "header-missing",
		find: (_, seen) => when(seen === ""),
		callback: () => "The header is missing. A proxy or firewall removed it, or it was not pasted.",
		request: () => "The header is missing. A signed request has all three.",
	},
	{
		cause: "header-quoted",
		find: (signed, seen) => when(unquote(seen) === signed && seen !== signed),
		callback: () => "The value stands in quotation marks that we did not send. Remove them before you check.",
		request: () => "The value stands in quotation marks. Send it without.",
	},
	{
		cause: "header-invisible",
		find: (signed, seen) => when(seen.replace(INVISIBLE, "").trim() === signed),
		callback: () =>
			"The value has a character that cannot be seen and that we did not send, or white space around it. Remove it before you check.",
		request: () =>
			"The value has a character that cannot be seen, or white space around it. Send it without.",
	},
	{
		cause: "header-twice",
		find: (signed, seen) => when(seen.includes(",") && seen.split(",").every((one) => one.trim() === signed)),
		callback: () =>
			"The header arrived twice, and the values were joined: a proxy repeats it. Use one of them.",
		request: () => "The header is sent twice. Send it once.",
	},
];

export const TIMESTAMP_RULES: readonly DamageRule[] = [
	...WRAPPED,
	{
		cause: "timestamp-in-milliseconds",
		find: (signed, seen) => when(/^\d{13}(?:\.\d+)?$/.test(seen) && seen.startsWith(signed)),
		callback: () => "We sent Unix time in seconds; here it is in milliseconds. Use the header as it came.",
		request: () =>
			"It is in milliseconds, but seconds were signed. Send Unix time in seconds: divide by 1,000 and cut the rest off.",
	},
	{
		cause: "timestamp-signed-in-milliseconds",
		find: (signed, seen) => when(/^\d{13}$/.test(signed) && signed.startsWith(seen)),
		callback: () => "It was signed in milliseconds.",
		request: () =>
			"The signature was computed over milliseconds, but the header has seconds. Sign what is sent.",
	},
	{
		cause: "timestamp-as-date",
		find: (signed, seen) =>
			when(/[a-z:-]/i.test(seen) && Math.floor(Date.parse(seen) / 1000) === Number(signed)),
		callback: () =>
			"We sent Unix time in seconds; here it is a date: your framework or log turned it into one. Use the header as it came.",
		request: () => "The header has a date, but Unix time in seconds was signed. Send digits only.",
	},
	{
		cause: "timestamp-as-decimal",
		find: (signed, seen) =>
			when(/[.,e]/i.test(seen) && Math.floor(Number(seen.replaceAll(",", ""))) === Number(signed)),
		callback: () =>
			"We sent digits only; here it was read as a number and written again. Use the header as text.",
		request: () => "It was written as a decimal number. Send Unix time in seconds: digits only.",
	},
	{
		cause: "another-timestamp",
		find: (signed, seen) => when(true, distance(signed, seen)),
		callback: (off) =>
			`It is not the timestamp that we sent and signed${off}. Use the header of this very request.`,
		request: (off) =>
			`The signature was computed with another timestamp${off}. Take the time once, sign it and send the same value.`,
	},
];

function distance(signed: string, seen: string): string {
	const seconds = Number(seen) - Number(signed);
	if (!Number.isFinite(seconds)) return "";
	return ` (${Math.abs(seconds)} seconds ${seconds < 0 ? "earlier" : "later"})`;
}

export const NONCE_RULES: readonly DamageRule[] = [
	...WRAPPED,
	caseRule("nonce"),
	cutRule("nonce"),
	{
		cause: "another-nonce",
		find: () => "",
		callback: () =>
			"It is not the nonce that we sent with this signature: headers of two requests were mixed. Take all headers and the body from the same request.",
		request: () =>
			"The signature was computed with another nonce than the one in the header. Make it once, sign it and send the same value.",
	},
];

export const SIGNATURE_RULES: readonly DamageRule[] = [
	...WRAPPED,
	{
		cause: "signature-prefixed",
		find: (signed, seen) => {
			const prefix = /^(?:sha256|v1|hmac|hmac-sha256)[=,: ]\s*/i.exec(seen)?.[0];
			return prefix !== undefined && seen.slice(prefix.length).toLowerCase() === signed ? prefix : null;
		},
		callback: (prefix) =>
			`It begins with "${prefix}", which we did not send. Compare the 64 hex digits alone.`,
		request: (prefix) => `It begins with "${prefix}". Send the 64 hex digits alone.`,
	},
	{
		cause: "signature-in-base64",
		find: (signed, seen) => when(isBase64(seen) && Buffer.from(seen, "base64").toString("hex") === signed),
		callback: () => "It is in base64 here; we sent hex. Compare with the header as it came.",
		request: () => "It is in base64. Send the HMAC as 64 hex digits.",
	},
	cutRule("signature"),
	{
		cause: "another-signature",
		find: () => "",
		callback: () =>
			"It is not the signature that we sent with this nonce: headers of two requests were mixed, or this is the one that your own code computed.",
		request: () => "It is not the signature of this request.",
	},
];

export const EVENT_RULES: readonly DamageRule[] = [
	...WRAPPED.slice(1),
	caseRule("event name"),
	cutRule("event name"),
	{
		cause: "another-event-header",
		find: (signed) => signed,
		callback: (signed) =>
			`We sent ${signed}. This header is not signed, so the signature does not show the difference: trust the field event of the body.`,
		request: () => "It is not the event that was sent.",
	},
];

/** Of 32 bytes. */
export function isBase64(text: string): boolean {
	return /^[0-9A-Za-z+/_-]{43}=?$/.test(text);
}

function caseRule(what: string): DamageRule {
	return {
		cause: "header-case",
		find: (signed, seen) => when(signed.toLowerCase() === seen.toLowerCase()),
		callback: () => `Letters of the ${what} changed between upper and lower case. Use the header as it came.`,
		request: () => `The ${what} was signed in other upper and lower case letters than it is sent.`,
	};
}

function cutRule(what: string): DamageRule {
	return {
		cause: "header-cut",
		find: (signed, seen) =>
			when(
				seen.length < signed.length && signed.startsWith(seen.toLowerCase()),
				`${seen.length} of ${signed.length}`,
			),
		callback: (count) =>
			`The ${what} was cut: only ${count} characters are there. A log, a database column or a buffer is too short.`,
		request: (count) => `The ${what} was cut: only ${count} characters are sent. Send all of it.`,
	};
}
