// Other ways to write a host: octal, hexadecimal, integer and short IPv4 forms, characters that a URL parser turns into
// digits and dots, trailing dots, zones, names that mean this machine, internationalised names; and everything of a URL
// that is not its host.

import type { FaultCode } from "../../../src/domain/fault.ts";
import { answerWith, type Entry, forbidden, malformed, passes } from "./entry.ts";

const LOOPBACK = "(127.0.0.0/8)";

const LOOPBACK_NOTATIONS: Readonly<Record<string, string>> = {
	"0177.0.0.1": "an octal byte",
	"0177.0.0.01": "two octal bytes",
	"00177.0.0.1": "octal with more zeros",
	"0177.0000.0000.0001": "octal throughout",
	"017700000001": "one octal integer",
	"0x7f.0.0.1": "a hexadecimal byte",
	"0X7F.0.0.1": "a hexadecimal byte in capitals",
	"0x7f.0x0.0x0.0x1": "hexadecimal throughout",
	"0x7f.1": "hexadecimal and short",
	"0x7f000001": "one hexadecimal integer",
	"0x000000007f000001": "one hexadecimal integer with more zeros",
	"2130706433": "one decimal integer",
	"127.1": "two parts",
	"127.0.1": "three parts",
	"127.0x1": "two parts, one hexadecimal",
	"127.00.0x0.01": "every base at once",
	"１２７.0.0.1": "full-width digits",
	"①②⑦.0.0.1": "circled digits",
	"𝟭𝟮𝟳.𝟬.𝟬.𝟭": "mathematical digits",
	"127。0。0。1": "ideographic full stops",
	"127．0．0．1": "full-width full stops",
	"127｡0｡0｡1": "half-width ideographic full stops",
	"127.0.0.1。": "an ideographic full stop behind it",
	"127.0.0.1\u00ad": "a soft hyphen behind it",
	"127.\u200b0.0.1": "a zero-width space inside",
	"%31%32%37.0.0.1": "percent-encoded digits",
	"127%2e0%2e0%2e1": "percent-encoded dots",
	"0x7F。1": "hexadecimal, short, ideographic",
};

/** The same tricks with addresses of other blocks. */
const OTHER_NOTATIONS: readonly (readonly [host: string, what: string, because: string])[] = [
	["0", "one integer", "(0.0.0.0/8)"],
	["0x0", "one hexadecimal integer", "(0.0.0.0/8)"],
	["00.0", "octal and short", "(0.0.0.0/8)"],
	["0x", "hexadecimal without a digit is zero to URL parsers", "(0.0.0.0/8)"],
	["012.0.0.1", "an octal ten", "(10.0.0.0/8)"],
	["0xa.1", "hexadecimal and short", "(10.0.0.0/8)"],
	["167772161", "one integer", "(10.0.0.0/8)"],
	["10.1", "two parts", "(10.0.0.0/8)"],
	["0xa9fea9fe", "cloud metadata as a hexadecimal integer", "(169.254.0.0/16)"],
	["2852039166", "cloud metadata as an integer", "(169.254.0.0/16)"],
	["025177524776", "cloud metadata as an octal integer", "(169.254.0.0/16)"],
	["0251.0376.0251.0376", "cloud metadata in octal bytes", "(169.254.0.0/16)"],
	["0xa9.254.0251.254", "cloud metadata in three bases", "(169.254.0.0/16)"],
	["169.16689662", "cloud metadata in two parts", "(169.254.0.0/16)"],
	["169.254.43518", "cloud metadata in three parts", "(169.254.0.0/16)"],
	["192.168.1", "three parts", "(192.168.0.0/16)"],
	["0300.0250.0.1", "octal bytes", "(192.168.0.0/16)"],
	["3232235521", "one integer", "(192.168.0.0/16)"],
	["0xac100001", "one hexadecimal integer", "(172.16.0.0/12)"],
	["1681915905", "one integer", "(100.64.0.0/10)"],
	["4294967295", "the last integer", "(255.255.255.255/32)"],
	["0xffffffff", "the last integer", "(255.255.255.255/32)"],
	["0xe0000001", "multicast", "(224.0.0.0/4)"],
	["[0:0:0:0:0:0:0:1]", "loopback in full", "(::1/128)"],
	["[0000:0000:0000:0000:0000:0000:0000:0001]", "loopback with every zero", "(::1/128)"],
	["[0::0:1]", "loopback half compressed", "(::1/128)"],
	["[0:0:0:0:0:0:0.0.0.1]", "loopback with a dotted tail", "(::1/128)"],
	["[::0]", "unspecified", "(::/128)"],
	["[FE80::1]", "link local in capitals", "(fe80::/10)"],
	["[FD00:0:0:0:0:0:0:1]", "unique local in full and in capitals", "(fc00::/7)"],
	["[0:0:0:0:0:FFFF:7F00:1]", "mapped, in full and in capitals", "carries 127.0.0.1,"],
];

/** Read as a public address, they must pass: judged by what they mean, not by how odd they look. */
const PUBLIC_NOTATIONS: readonly (readonly [host: string, dials: string])[] = [
	["010.010.010.010", "8.8.8.8"],
	["0x08080808", "8.8.8.8"],
	["134744072", "8.8.8.8"],
	["8.8.2056", "8.8.8.8"],
	["８.８.８.８", "8.8.8.8"],
	["0200.0.0.1", "128.0.0.1"],
	["[2A00:1450:400A:0808:0000:0000:0000:200E]", "2a00:1450:400a:808::200e"],
	["[2606:4700:4700:0:0::1111]", "2606:4700:4700::1111"],
];

const UNREADABLE: Readonly<Record<string, string>> = {
	"127.0.0.1.": "loopback with a trailing dot",
	"8.8.8.8.": "a public address with a trailing dot",
	"localhost.": "localhost with a trailing dot",
	"shop.names.example.": "a name with a trailing dot",
	"shop.names.example。": "a name with an ideographic trailing dot",
	"shop..names.example": "an empty label",
	".names.example": "an empty first label",
	"256.0.0.1": "a byte too large",
	"0400.0.0.1": "an octal byte too large",
	"127.0.0.256": "a last byte too large",
	"127.0.65536": "a last part too large",
	"4294967296": "an integer too large",
	"0x100000000": "a hexadecimal integer too large",
	"08.0.0.1": "an octal byte that is none",
	"127.0.0.0.1": "five parts",
	"1.2.3.4.5": "five parts, public",
	"[fe80::1%eth0]": "a zone",
	"[fe80::1%25eth0]": "a zone as RFC 6874 writes it",
	"[::1%251]": "a zone on loopback",
	"[2a00:1450::1%25eth0]": "a zone on a public address",
	"[::ffff:127.1]": "a short IPv4 address in IPv6",
	"[::ffff:0x7f.0.0.1]": "a hexadecimal byte in IPv6",
	"[::ffff:127.0.0.1.]": "a trailing dot in IPv6",
	"[127.0.0.1]": "an IPv4 address in brackets",
	"[::1": "a bracket that does not close",
	"::1": "IPv6 without brackets",
	"[v1.fe80::1]": "a future form of RFC 3986",
	"[1:2:3:4:5:6:7]": "seven groups",
	"[1::2::3]": "compressed twice",
	"127.0.0.1 ": "a space behind it",
	"exa mple": "a space inside",
	"%": "a broken percent code",
	"%00.example": "a null byte",
	"127.0.0.1%00.example": "a null byte behind an address",
	"a<b.example": "a character no host has",
	"*": "a wildcard",
	"xn--a\u00fc.example": "punycode that is none",
	"shop~1.example": "a character no certificate names",
};

const LOCAL_NAMES = [
	...["localhost", "LOCALHOST", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "ｌｏｃａｌｈｏｓｔ", "shop.localhost", "a.b.LocalHost"],
];

const HOST_NOTATION_ENTRIES: readonly Entry[] = [
	...Object.entries(LOOPBACK_NOTATIONS).map(([host, what]) => ({
		what: `loopback: ${what}`,
		at: { host },
		expect: forbidden(LOOPBACK),
		reaches: "127.0.0.1",
	})),
	...OTHER_NOTATIONS.map(([host, what, because]) => ({ what, at: { host }, expect: forbidden(because) })),
	...PUBLIC_NOTATIONS.map(([host, dials]) => ({
		what: `${dials}, written another way`,
		at: { host },
		expect: passes(dials),
	})),
	...Object.entries(UNREADABLE).map(([host, what]) => ({
		what,
		at: { host },
		expect: malformed("postback_url_host_invalid"),
	})),
	...LOCAL_NAMES.map((host) => ({
		what: `${host} is this machine everywhere (RFC 6761)`,
		at: { host },
		expect: forbidden("127.0.0.1 is in the loopback network"),
		reaches: "127.0.0.1",
	})),
	{
		what: "a name server that says localhost were public is not asked",
		at: { host: "public.localhost" },
		answers: answerWith("8.8.8.8"),
		expect: forbidden("127.0.0.1 is in the loopback network"),
		reaches: "127.0.0.1",
	},
];

const MAX_LENGTH = 2_048;
const LONGEST_LABEL = "a".repeat(63);

const REFUSED_FORMS: readonly (readonly [fault: FaultCode, urls: readonly string[]])[] = [
	[
		"postback_url_malformed",
		[
			...["", "8.8.8.8", "//8.8.8.8/postback", "https:8.8.8.8/postback"],
			...["https:/8.8.8.8/postback", "https:\\\\8.8.8.8\\postback"],
			...["https://8.8.8.8\\@127.0.0.1/", "https://127.0.0.1\t/", "https://8.8.8.8/a\nb"],
			...["https://8.8.8.8/\u0000", "https://8.8.8.8:0/", "https://8.8.8.8:65536/"],
			...["https://8.8.8.8:-1/", "https://8.8.8.8:4 43/", "https://8.8.8.8:0x1bb/"],
			...["https://8.8.8.8:４４３/", "https://8.8.8.8:443a/"],
			...["https://[2a00:1450::1]:99999/", "https://8.8.8.8/\ud800"],
		],
	],
	[
		"postback_url_not_https",
		[
			...["http://8.8.8.8/", "http://127.0.0.1/", "HTTP://8.8.8.8/", "ftp://8.8.8.8/"],
			...["file:///etc/passwd", "gopher://127.0.0.1:25/", "wss://8.8.8.8/"],
			...["javascript:alert(1)", "data:text/plain,x", "unix:/run/docker.sock"],
		],
	],
	[
		"postback_url_has_credentials",
		[
			...["https://user@8.8.8.8/", "https://user:word@8.8.8.8/", "https://:@8.8.8.8/"],
			...["https://@8.8.8.8/", "https://8.8.8.8@127.0.0.1/"],
			...["https://127.0.0.1@8.8.8.8/", "https://8.8.8.8:443@127.0.0.1:443/"],
			...["https://shop.example%2f@127.0.0.1/", "https://a@b@127.0.0.1/"],
		],
	],
	[
		"postback_url_has_fragment",
		[
			...["https://8.8.8.8/#", "https://8.8.8.8/#part", "https://8.8.8.8#@127.0.0.1/"],
			...["https://127.0.0.1#@8.8.8.8/"],
		],
	],
	[
		"postback_url_host_invalid",
		[
			...["https:///postback", "https://?query", "https://:443/", "https://[]/"],
			...["https://[]:443/", `https://${"a".repeat(64)}.example/`],
			...[`https://${[LONGEST_LABEL, LONGEST_LABEL, LONGEST_LABEL, LONGEST_LABEL].join(".")}/`],
			...["https://8.8.8.8:443:443/"],
		],
	],
	[
		"postback_url_not_wire_form",
		[
			...["https://8.8.8.8?", "https://8.8.8.8/a/../b", "https://8.8.8.8/./"],
			...["https://8.8.8.8/a b", "https://8.8.8.8/größe", "https://8.8.8.8/%2e%2e/"],
			...['https://8.8.8.8/?q="x"', "https://8.8.8.8/?"],
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

const URL_FORM_ENTRIES: readonly Entry[] = [
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

export const SPELLING_ENTRIES: readonly Entry[] = [...HOST_NOTATION_ENTRIES, ...URL_FORM_ENTRIES];
