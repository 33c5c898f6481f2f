// What proxies, frameworks, logs and editors make of a body, and what people sign in its place.

import {
	BOM,
	changedFields,
	hasLostCharacters,
	invisibleIn,
	isBase64Of,
	isFormText,
	isKeyOrderChanged,
	isQuotation,
	isSameJson,
	isSameWithNumbers,
	isSameWithoutNulls,
	misreadAs,
	plainTypography,
	printedBy,
	spelledAs,
	tail,
	unescapeHtml,
} from "./body-likeness.ts";
import { type DamageRule, when } from "./damage.ts";
import type { Direction } from "./pasted-request.ts";

const REWRITTEN = "The body was re-serialised: the same JSON, in other bytes";
const SIGNED_REWRITTEN = "The body was re-serialised before it was signed: the same JSON, in other bytes";
const HASH_RAW = "Hash the raw bytes exactly as they are sent, and do not parse and write the JSON again.";
const USE_RAW_BODY =
	"Check the signature over the raw bytes as they arrive, before anything parses or changes them.";
const SEND_WHAT_IS_SIGNED = "Sign exactly the bytes that are sent.";

export const BODY_RULES: readonly DamageRule[] = [
	{
		cause: "body-empty",
		find: (_, seen) => when(seen === ""),
		callback: () =>
			`There is no body: something has read it before your code did, or it was not pasted. ${USE_RAW_BODY}`,
		request: () => "A body was signed, but none is sent.",
	},
	{
		cause: "body-not-signed",
		find: (signed) => when(signed === ""),
		callback: () => "We sent no body.",
		request: () => "An empty body was signed. Hash the body that is sent.",
	},
	{
		cause: "body-byte-order-mark",
		find: (signed, seen) => when(BOM + signed === seen || BOM + seen === signed),
		callback: () =>
			`A byte order mark (U+FEFF) stands at its beginning: an editor or a text decoder put it there. ${USE_RAW_BODY}`,
		request: () => `One of the two has a byte order mark (U+FEFF) at its beginning. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-line-break-added",
		find: (signed, seen) => when(/^(?:\r?\n)+$/.test(tail(signed, seen) ?? "")),
		callback: () => `A line break was added at its end: an editor, a log or echo does that. ${USE_RAW_BODY}`,
		request: () => `It was signed without the line break at its end. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-line-break-removed",
		find: (signed, seen) => when(/^(?:\r?\n)+$/.test(tail(seen, signed) ?? "")),
		callback: () => `The line break at its end is missing. ${USE_RAW_BODY}`,
		request: () => `It was signed with a line break at its end that was not sent. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-white-space",
		find: (signed, seen) => when(signed.trim() === seen.trim()),
		callback: () => `White space was added or removed around it. ${USE_RAW_BODY}`,
		request: () => `It was signed with other white space around it. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-line-breaks",
		find: (signed, seen) => when(signed.replaceAll("\r\n", "\n") === seen.replaceAll("\r\n", "\n")),
		callback: () => `Its line breaks were turned into others (CRLF or LF). ${USE_RAW_BODY}`,
		request: () =>
			`It was signed with other line breaks (CRLF or LF) than it is sent with. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-quoted",
		find: (signed, seen) => when(isQuotation(signed, seen) || isQuotation(seen, signed)),
		callback: () =>
			`It is wrapped in quotation marks or escaped with backslashes: it was printed as a string. ${USE_RAW_BODY}`,
		request: () => `It was signed or sent as a quoted string. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-in-base64",
		find: (signed, seen) => when(isBase64Of(signed, seen) || isBase64Of(seen, signed)),
		callback: () =>
			"It is in base64: a gateway hands bodies on like this (AWS: isBase64Encoded). Decode it before you check.",
		request: () => `One of the two is in base64. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-url-encoded",
		find: (signed, seen) => when(isFormText(signed, seen) || isFormText(seen, signed)),
		callback: () => `It was percent-encoded, as a form is: something took it for form data. ${USE_RAW_BODY}`,
		request: () => `One of the two is percent-encoded, as a form is. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-html-escaped",
		find: (signed, seen) => when(unescapeHtml(seen) === signed || unescapeHtml(signed) === seen),
		callback: () =>
			`Quotation marks became &quot; or the like: a filter or a page escapes it as HTML. ${USE_RAW_BODY}`,
		request: () => `One of the two is escaped as HTML. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-printed-object",
		find: (signed, seen) => printedBy(seen) ?? printedBy(signed),
		callback: (language) =>
			`This is not the body but how ${language} prints the object that was made of it. ${USE_RAW_BODY}`,
		request: (language) =>
			`How ${language} prints the object was signed or sent, not its JSON. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-invisible",
		find: invisibleIn,
		callback: (point) =>
			`It has a character that cannot be seen (${point}) and that we did not send. ${USE_RAW_BODY}`,
		request: (point) =>
			`One of the two has a character that cannot be seen (${point}). ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-charset",
		find: (signed, seen) => misreadAs(signed, seen) ?? misreadAs(seen, signed),
		callback: (charset) =>
			`UTF-8 was read as ${charset}: letters beyond ASCII are broken. ${USE_RAW_BODY} If text is needed, decode it as UTF-8.`,
		request: (charset) => `UTF-8 was read as ${charset} before it was signed or sent. Use UTF-8 for both.`,
	},
	{
		cause: "body-characters-lost",
		find: (signed, seen) => when(hasLostCharacters(signed, seen) || hasLostCharacters(seen, signed)),
		callback: () =>
			`Characters beyond ASCII became "?", "\uFFFD" or nothing: it was written in a character set that lacks them. ${USE_RAW_BODY}`,
		request: () =>
			`Characters beyond ASCII became "?", "\uFFFD" or nothing in one of the two. Use UTF-8 for both.`,
	},
	{
		cause: "body-unicode-form",
		find: (signed, seen) => when(signed.normalize("NFC") === seen.normalize("NFC")),
		callback: () =>
			`Accented letters are composed in another way (Unicode NFC or NFD): they look the same and are other bytes. ${USE_RAW_BODY}`,
		request: () =>
			`Accented letters are composed in another way (Unicode NFC or NFD) in what was signed. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "json-spaces",
		find: (...texts) => spelledAs("json-spaces", ...writtenFrom(...texts)),
		callback: (how) => `${REWRITTEN} (${how}). ${USE_RAW_BODY}`,
		request: (how) => `${SIGNED_REWRITTEN} (${how}). ${HASH_RAW}`,
	},
	{
		cause: "json-escapes",
		find: (...texts) => spelledAs("json-escapes", ...writtenFrom(...texts)),
		callback: (how) => `${REWRITTEN} (${how}). ${USE_RAW_BODY}`,
		request: (how) => `${SIGNED_REWRITTEN} (${how}). ${HASH_RAW}`,
	},
	{
		cause: "json-key-order",
		find: (signed, seen) => when(isKeyOrderChanged(signed, seen)),
		callback: () => `${REWRITTEN} (its fields in another order). ${USE_RAW_BODY}`,
		request: () => `${SIGNED_REWRITTEN} (its fields in another order). ${HASH_RAW}`,
	},
	{
		cause: "json-rewritten",
		find: (signed, seen) => when(isSameJson(signed, seen)),
		callback: () => `${REWRITTEN}. ${USE_RAW_BODY}`,
		request: () => `${SIGNED_REWRITTEN}. ${HASH_RAW}`,
	},
	{
		cause: "json-numbers",
		find: (signed, seen) => when(isSameWithNumbers(signed, seen), changedFields(signed, seen).join(", ")),
		callback: (fields) =>
			`An amount was turned into a number and written again: ${fields}. "129.90" is not 129.9. ${USE_RAW_BODY}`,
		request: (fields) =>
			`A text of digits was turned into a number, or back, and written again: ${fields}. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "json-nulls-dropped",
		find: (signed, seen) => when(isSameWithoutNulls(signed, seen), changedFields(signed, seen).join(", ")),
		callback: (fields) =>
			`${REWRITTEN} (fields that are null were left out or added: ${fields}). ${USE_RAW_BODY}`,
		request: (fields) => `${SIGNED_REWRITTEN} (fields that are null: ${fields}). ${HASH_RAW}`,
	},
	{
		cause: "body-typography",
		find: (signed, seen) => when(plainTypography(signed) === plainTypography(seen)),
		callback: () =>
			"Quotation marks, dashes or spaces were replaced by typographic ones: a chat, a mail or a word processor does that. Paste it from where it arrived.",
		request: () =>
			`Quotation marks, dashes or spaces are typographic ones in one of the two. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-cut",
		find: (signed, seen) => {
			const kept = seen.replace(/(?:…|\.\.\.)$/, "");
			return when(
				kept !== "" && signed.startsWith(kept),
				`${Buffer.byteLength(kept)} of ${Buffer.byteLength(signed)}`,
			);
		},
		callback: (count) =>
			`It was cut: only ${count} bytes are there. A log line, a buffer or a size limit is too short. ${USE_RAW_BODY}`,
		request: (count) => `Only ${count} of the signed bytes are sent.`,
	},
	{
		cause: "body-extended",
		find: (signed, seen) => when(seen.includes(signed)),
		callback: () => `Something was added around it. ${USE_RAW_BODY}`,
		request: () => `Only a part of the body was signed. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-of-another-attempt",
		find: (signed, seen) => when(changedFields(signed, seen).join() === "sentAt"),
		callback: () =>
			"It is the body of another attempt of the same callback: only sentAt differs. Take headers and body from the same request.",
		request: () => `The field sentAt differs. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-of-another-callback",
		find: (signed, seen) =>
			when(changedFields(signed, seen).some((name) => name === "conversionId" || name === "event")),
		callback: () =>
			"It is the body of another callback, with another conversion or event. Take headers and body from the same request.",
		request: () => `It is another body than the one that was signed. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-field-changed",
		find: (signed, seen) => {
			const changed = changedFields(signed, seen);
			return when(changed.length > 0, changed.join(", "));
		},
		callback: (fields) => `The content was changed: ${fields}. ${USE_RAW_BODY}`,
		request: (fields) => `The content is not what was signed: ${fields}. ${SEND_WHAT_IS_SIGNED}`,
	},
	{
		cause: "body-changed",
		find: () => "",
		callback: () => `It is not what we sent. ${USE_RAW_BODY}`,
		request: () => `It is not what was signed. ${SEND_WHAT_IS_SIGNED}`,
	},
];

/** Our callbacks are written again where they arrive, the shop's requests before they are signed. */
function writtenFrom(
	signed: string,
	seen: string,
	direction: Direction,
): [original: string, rewritten: string] {
	return direction === "callback" ? [signed, seen] : [seen, signed];
}
