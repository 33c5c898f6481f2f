// Everything of a URL that is not its host: scheme, credentials, port, path, query, fragment, length; and
// internationalised names, which are judged by what they stand for.

import type { FaultCode } from "../../../src/domain/fault.ts";
import { answerWith, type Entry, forbidden, malformed, passes } from "./entry.ts";

const MAX_LENGTH = 2_048;
const LONGEST_LABEL = "a".repeat(63);

const REFUSED_FORMS: readonly (readonly [fault: FaultCode, urls: readonly string[]])[] = [
	[
		"postback_url_malformed",
		[
			"",
			"8.8.8.8",
			"//8.8.8.8/postback",
			"https:8.8.8.8/postback",
			"https:/8.8.8.8/postback",
			"https:\\\\8.8.8.8\\postback",
			"https://8.8.8.8\\@127.0.0.1/",
			"https://127.0.0.1\t/",
			"https://8.8.8.8/a\nb",
			"https://8.8.8.8/\u0000",
			"https://8.8.8.8:0/",
			"https://8.8.8.8:65536/",
			"https://8.8.8.8:-1/",
			"https://8.8.8.8:4 43/",
			"https://8.8.8.8:0x1bb/",
			"https://8.8.8.8:４４３/",
			"https://8.8.8.8:443a/",
			"https://[2a00:1450::1]:99999/",
			"https://8.8.8.8/\ud800",
		],
	],
	[
		"postback_url_not_https",
		[
			"http://8.8.8.8/",
			"http://127.0.0.1/",
			"HTTP://8.8.8.8/",
			"ftp://8.8.8.8/",
			"file:///etc/passwd",
			"gopher://127.0.0.1:25/",
			"wss://8.8.8.8/",
			"javascript:alert(1)",
			"data:text/plain,x",
			"unix:/run/docker.sock",
		],
	],
	[
		"postback_url_has_credentials",
		[
			"https://user@8.8.8.8/",
			"https://user:word@8.8.8.8/",
			"https://:@8.8.8.8/",
			"https://@8.8.8.8/",
			"https://8.8.8.8@127.0.0.1/",
			"https://127.0.0.1@8.8.8.8/",
			"https://8.8.8.8:443@127.0.0.1:443/",
			"https://shop.example%2f@127.0.0.1/",
			"https://a@b@127.0.0.1/",
		],
	],
	[
		"postback_url_has_fragment",
		[
			"https://8.8.8.8/#",
			"https://8.8.8.8/#part",
			"https://8.8.8.8#@127.0.0.1/",
			"https://127.0.0.1#@8.8.8.8/",
		],
	],
	[
		"postback_url_host_invalid",
		[
			"https:///postback",
			"https://?query",
			"https://:443/",
			"https://[]/",
			"https://[]:443/",
			`https://${"a".repeat(64)}.example/`,
			`https://${[LONGEST_LABEL, LONGEST_LABEL, LONGEST_LABEL, LONGEST_LABEL].join(".")}/`,
			"https://8.8.8.8:443:443/",
		],
	],
	[
		"postback_url_not_wire_form",
		[
			"https://8.8.8.8?",
			"https://8.8.8.8/a/../b",
			"https://8.8.8.8/./",
			"https://8.8.8.8/a b",
			"https://8.8.8.8/größe",
			"https://8.8.8.8/%2e%2e/",
			'https://8.8.8.8/?q="x"',
			"https://8.8.8.8/?",
		],
	],
	[
		"postback_url_too_long",
		[`https://8.8.8.8/${"a".repeat(MAX_LENGTH)}`, `https://127.0.0.1/${"a".repeat(MAX_LENGTH)}`],
	],
];

/** Each with a public address of its own, so that it is known who was dialled for whom. */
const GOOD_FORMS: readonly (readonly [url: string, what: string, dials: string])[] = [
	["https://93.184.215.1/", "no port: 443", "93.184.215.1"],
	["https://93.184.215.2:443/", "the usual port, written", "93.184.215.2"],
	["https://93.184.215.3:/", "an empty port", "93.184.215.3"],
	["https://93.184.215.4:0443/", "a port with a zero before it", "93.184.215.4"],
	["https://93.184.215.5:1/", "the first port", "93.184.215.5"],
	["https://93.184.215.6:65535/", "the last port", "93.184.215.6"],
	["https://93.184.215.7:22/", "a port of another service", "93.184.215.7"],
	["https://93.184.215.8:8443/a?b=c&d=@127.0.0.1", "an address in the query", "93.184.215.8"],
	["https://93.184.215.9/https://127.0.0.1/", "a URL in the path", "93.184.215.9"],
	["HTTPS://93.184.215.10/", "the scheme in capitals", "93.184.215.10"],
	["  https://93.184.215.11/  ", "spaces around it", "93.184.215.11"],
	[`https://93.184.215.12/${"a".repeat(MAX_LENGTH - 22)}`, "of the greatest length", "93.184.215.12"],
	["https://93.184.215.13", "no path", "93.184.215.13"],
];

/** As typed; the name server only ever sees the ASCII form. */
const INTERNATIONAL: readonly (readonly [typed: string, ascii: string, address: string])[] = [
	["bücher.names.example", "xn--bcher-kva.names.example", "93.184.216.1"],
	["BÜCHER2.names.example", "xn--bcher2-3ya.names.example", "93.184.216.2"],
	["xn--bcher3-3ya.names.example", "xn--bcher3-3ya.names.example", "93.184.216.3"],
	["例え.names.example", "xn--r8jz45g.names.example", "93.184.216.4"],
	["straße.names.example", "xn--strae-oqa.names.example", "93.184.216.5"],
	["innen。names。example", "innen.names.example", "10.20.30.1"],
	["größe-innen.names.example", "xn--gre-innen-h1a6w.names.example", "10.20.30.2"],
	["ｉｎｎｅｎ３.names.example", "innen3.names.example", "10.20.30.3"],
	["пример-innen.names.example", "xn---innen-2ofx0b2ald.names.example", "10.20.30.4"],
];

export const URL_FORM_ENTRIES: readonly Entry[] = [
	...REFUSED_FORMS.flatMap(([fault, urls]) =>
		urls.map((url) => ({
			what: `a URL of the wrong form: ${JSON.stringify(url.slice(0, 40))}`,
			at: { url },
			expect: malformed(fault),
		})),
	),
	...GOOD_FORMS.map(([url, what, dials]) => ({ what, at: { url }, expect: passes(dials) })),
	...GOOD_FORMS.map(([url, what, dials]) => ({
		what: `${what}, of a private address`,
		at: { url: url.replace(dials, dials.replace("93.184.215.", "10.215.0.")) },
		expect: forbidden("(10.0.0.0/8)"),
	})),
	...INTERNATIONAL.map(([host, ascii, address]) => ({
		what: `an internationalised name, ${ascii} to the name server`,
		at: { host },
		asked: ascii,
		answers: answerWith(address),
		expect: address.startsWith("10.") ? forbidden("(10.0.0.0/8)") : passes(address),
	})),
];
