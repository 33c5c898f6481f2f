// Decides whether a Postback URL is valid, and whether its host may be called. The same pure functions judge
// the URL when it is saved and before every delivery (contract section 1).

import { type AddressRange, isAddress, judgeAddresses } from "./address.ts";
import { groupDigits } from "./bytes.ts";
import { type FaultCode, type Result, refuse, succeed } from "./fault.ts";

export interface PostbackUrl {
	href: string;
	origin: string;
	/** Host name, or IP address without brackets. */
	hostname: string;
	port: number;
	/** Path and query as they are sent and signed (contract section 5, part 2). */
	target: string;
	/** Whether the host is an IP address, so that no DNS lookup is needed. */
	isLiteral: boolean;
}

/** Maximum length of a Postback URL in characters. The contract sets no limit. */
export const MAX_POSTBACK_URL_LENGTH = 2_048;
/** Maximum length of a host name as text, without a final dot (RFC 1035 section 2.3.4). */
const MAX_HOST_LENGTH = 253;
/**
 * Form of one label of a host name (RFC 1035). The URL parser accepts more characters, but no certificate can
 * name such a host.
 */
const LABEL = /^[a-z\d_-]{1,63}$/;
const HTTPS_PORT = 443;
const MAX_PORT = 65_535;

const EXAMPLE = "https://shop.example/postback";

type Refusal = ReturnType<typeof refuse>;

export function parsePostbackUrl(text: string): Result<PostbackUrl> {
	const entered = text.trim();
	const tooLong = refuseLongUrl(entered);
	if (tooLong !== undefined) return tooLong;
	const [, code, sentence = ""] = OBJECTIONS.find(([form]) => form.test(entered)) ?? [];
	if (code !== undefined) return refuseUrl(code, sentence);

	// The text itself is also split, because the URL parser hides an empty user name, an empty "?" and missing slashes.
	const [, authority = "", target = ""] = /^https:\/\/([^/?]*)(.*)$/is.exec(entered) ?? [];
	const badAuthority = refuseAuthority(authority);
	if (badAuthority !== undefined) return badAuthority;

	const parsed = URL.parse(entered);
	// The host must be wrong, because scheme and port are valid at this point, and no path or query makes the parser
	// fail.
	if (parsed === null) return refuseHost(authority, "is not a name or IP address (IPv6 goes in brackets)");
	const url = describe(parsed);
	return refuseHostname(url) ?? refuseTarget(url, target) ?? succeed(url);
}

/**
 * Matches placeholders of other networks: `{order_id}`, `%7Border_id%7D`, `[status]` as a whole value, and
 * `#click#`.
 */
const PLACEHOLDER = /\{[\w .-]+\}|%7B[\w .-]+%7D|[=/]\[[\w .-]+\](?=[&/]|$)|#[\w.-]+#/i;

/**
 * Refuses a URL with a placeholder of another network. This is checked only when a URL is saved, so stored
 * URLs keep working.
 */
export function refusePlaceholder(text: string): Refusal | null {
	const [found] = PLACEHOLDER.exec(text) ?? [];
	if (found === undefined) return null;
	return refuseUrl(
		"postback_url_malformed",
		`Placeholders such as ${found.replace(/^[=/]/, "")} are not filled in. Enter the URL without: order, status and amounts are in the JSON body of each callback.`,
	);
}

/**
 * Returns the addresses of a host that may be called. The caller must connect to one of them without another
 * DNS lookup, because the new answer would not have been judged.
 */
export function judgeHost(
	url: PostbackUrl,
	addresses: readonly string[],
	allowed: readonly AddressRange[],
): Result<readonly string[]> {
	const judged = url.isLiteral ? [url.hostname] : addresses;
	if (judged.length === 0) {
		return refuseUrl(
			"postback_url_unresolvable",
			`No address was found for ${url.hostname}. Check its spelling and its public DNS record, or save again when its DNS works.`,
		);
	}
	const verdict = judgeAddresses(judged, allowed);
	if (verdict.public) return succeed(judged);
	// An address is shown only if the person typed it, because the address behind a name may reveal a private
	// network. If the settings allow private addresses, the reader is a developer and may see it.
	const finding = url.isLiteral
		? `${verdict.reason}. The Postback URL must point to a public address.`
		: allowed.length > 0
			? `${url.hostname}: ${verdict.reason}. It is not in RINGBACK_ALLOWED_PRIVATE_RANGES of this service: add it there, or enter an address that is.`
			: `${url.hostname} resolves to a private or internal address. Enter the name of a server that can be reached from the internet, or correct the name's DNS record and save again.`;
	return refuseUrl("postback_url_forbidden_address", finding);
}

/** Reasons to refuse a URL, in order of precedence. Only the first one that matches is reported. */
const OBJECTIONS: readonly (readonly [form: RegExp, code: FaultCode, sentence: string])[] = [
	[/^$/, "postback_url_malformed", `There is no URL. Enter it in full, as in ${EXAMPLE}`],
	[/\\/, "postback_url_malformed", 'The URL contains a backslash. Enter "/" or %5C in its place.'],
	[
		// Lone surrogates (Cs) are refused, because they are not characters and the parser would replace them by
		// U+FFFD.
		/[\p{Cc}\p{Cs}]/u,
		"postback_url_malformed",
		"The URL contains a control character such as a tab or a line break. Enter it again without.",
	],
	[
		/#/,
		"postback_url_has_fragment",
		'What follows "#" is never sent. Enter the URL without that part, or %23 for the character.',
	],
	[
		/^(?:localhost|127\.)/i,
		"postback_url_malformed",
		`Callbacks cannot reach your own machine by this address: try them there with \`ringback listen\`. A Postback URL must begin with https:// as in ${EXAMPLE}`,
	],
	[
		// The colon in `shop.example:8443/postback` is followed by a port and does not end a scheme.
		/^(?!https:)[a-z][a-z\d+.-]*:(?!\d)/i,
		"postback_url_not_https",
		`Callbacks are sent over HTTPS alone. Enter a URL that begins with https:// as in ${EXAMPLE}`,
	],
	[/^(?!https:\/\/)/i, "postback_url_malformed", `The URL must begin with https:// as in ${EXAMPLE}`],
	[
		/^https:\/\/[^/?]*@/i,
		"postback_url_has_credentials",
		'There is a user name, a password or "@" before the host. Enter the URL without.',
	],
	[
		/^https:\/\/(?:[/?:]|$)/i,
		"postback_url_host_invalid",
		`The URL has no host. Enter one, as in ${EXAMPLE}`,
	],
];

function refuseAuthority(authority: string): Refusal | undefined {
	// Text with more colons is an IPv6 address without brackets, which the parser refuses later.
	const [, host, port = ""] = /^([^:]*|\[.*\])(?::([^:]*))?$/s.exec(authority) ?? [];
	if (host === undefined) return undefined;
	if (!/^\d*$/.test(port) || Number(port) > MAX_PORT || (port !== "" && Number(port) === 0)) {
		return refuseUrl(
			"postback_url_malformed",
			`The port "${port}" is not a number from 1 to ${MAX_PORT}. Enter one, or none for ${HTTPS_PORT}.`,
		);
	}
	// The trailing dot is also checked on the text, because the parser silently drops the dot after an IPv4
	// address.
	return host.endsWith(".") ? refuseTrailingDot(host) : undefined;
}

function describe(parsed: URL): PostbackUrl {
	const hostname = parsed.hostname.replace(/^\[|\]$/g, "");
	const target = parsed.pathname + parsed.search;
	return {
		href: parsed.origin + target,
		origin: parsed.origin,
		hostname,
		port: parsed.port === "" ? HTTPS_PORT : Number(parsed.port),
		target,
		isLiteral: isAddress(hostname),
	};
}

function refuseHostname({ hostname, isLiteral }: PostbackUrl): Refusal | undefined {
	if (isLiteral) return undefined;
	if (hostname.endsWith(".")) return refuseTrailingDot(hostname);
	if (hostname.length > MAX_HOST_LENGTH) {
		return refuseHost(
			hostname,
			`has ${hostname.length} characters, and no name has more than ${MAX_HOST_LENGTH}`,
		);
	}
	const badLabel = hostname.split(".").find((label) => !LABEL.test(label));
	if (badLabel === undefined) return undefined;
	return refuseHost(hostname, `has the part "${badLabel}", which is not 1 to 63 letters, digits, "-" or "_"`);
}

function refuseTarget({ href, target }: PostbackUrl, entered: string): Refusal | undefined {
	if (href.length > MAX_POSTBACK_URL_LENGTH)
		return refuseLength(`has ${groupDigits(href.length)} characters in the form that is sent`);
	// A URL without a path is accepted, because only one path can be meant.
	if (entered === target || entered === "") return undefined;
	return refuseUrl(
		"postback_url_not_wire_form",
		`Enter the exact path and query your server receives: they are part of the signature. Here: ${href}`,
	);
}

/**
 * Refuses a URL that is too long. This is checked before anything else, because every other check reads the whole text.
 */
export function refuseLongUrl(entered: string): Refusal | undefined {
	return entered.length > MAX_POSTBACK_URL_LENGTH
		? refuseLength(`has ${groupDigits(entered.length)} characters`)
		: undefined;
}

function refuseLength(finding: string): Refusal {
	return refuseUrl(
		"postback_url_too_long",
		`The URL ${finding}. Enter one of at most ${groupDigits(MAX_POSTBACK_URL_LENGTH)}.`,
	);
}

function refuseTrailingDot(host: string): Refusal {
	return refuseHost(host, "ends in a dot; enter it without the trailing dot");
}

function refuseHost(host: string, finding: string): Refusal {
	return refuseUrl("postback_url_host_invalid", `The host "${host}" ${finding}. A good URL is ${EXAMPLE}`);
}

function refuseUrl(code: FaultCode, detail: string): Refusal {
	return refuse(code, detail, "postbackUrl");
}
