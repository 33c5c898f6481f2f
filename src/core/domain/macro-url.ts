// GET form of a partner's callback. Its URL has macros such as {sub1} in the query, which each attempt replaces with
// the values of the event. Partners' tracking software accepts such requests, but no JSON.

import { type Result, refuse } from "./fault.ts";
import { PARTNER_FIELDS, type PartnerField } from "./partner-event.ts";
import { type PostbackUrl, parsePostbackUrl, refuseLongUrl, refusePlaceholder } from "./postback-url.ts";

const MACRO = /\{(\w+)\}/g;
/**
 * Matches a macro, or a brace that belongs to no macro. Each part of the pattern ends where the next one may begin,
 * so that the search takes linear time.
 */
const MACRO_OR_BRACE = /\{[^{}]*\}?|\}|%7B(?:[^&%]|%(?!7[BD]))*%7D/i;
const MACRO_LIST = PARTNER_FIELDS.map((field) => `{${field}}`).join(", ");

/** Parses the URL of a GET callback as a person entered it. Macros are allowed in the query only. */
export function parseMacroUrl(text: string): Result<PostbackUrl> {
	const entered = text.trim();
	const tooLong = refuseLongUrl(entered);
	if (tooLong !== undefined) return tooLong;
	const [beforeQuery = "", ...query] = entered.split("?");
	if (/\{|%7B/i.test(beforeQuery)) {
		return refuse(
			"postback_url_macro_place",
			"Macros are allowed only in the query, which follows the first question mark. Enter host and path without macros.",
			"postbackUrl",
		);
	}
	const rest = query.join("?").replace(MACRO, (macro, name: string) => (isField(name) ? "" : macro));
	const unknown = MACRO_OR_BRACE.exec(rest)?.[0];
	if (unknown !== undefined) {
		// In a partner's link the sub IDs are called s1, s2 and s3.
		const subId = /^\{s([123])\}$/.exec(unknown)?.[1];
		const advice =
			subId === undefined ? `These are: ${MACRO_LIST}.` : `The macro of this sub ID is {sub${subId}}.`;
		return refuse("postback_url_unknown_macro", `"${unknown}" is not a macro. ${advice}`, "postbackUrl");
	}
	return refusePlaceholder(`${beforeQuery}?${rest}`) ?? parsePostbackUrl(entered);
}

function isField(name: string): name is PartnerField {
	return PARTNER_FIELDS.some((field) => field === name);
}

/** Returns the path and query of one attempt. Everything but unreserved characters is percent-encoded (RFC 3986). */
export function fillMacros(target: string, values: Readonly<Record<PartnerField, string>>): string {
	return target.replace(MACRO, (macro, name: string) => (isField(name) ? encodeValue(values[name]) : macro));
}

function encodeValue(value: string): string {
	return encodeURIComponent(value).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);
}
