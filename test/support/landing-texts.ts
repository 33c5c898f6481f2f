// Generates texts that an attacker might put after `to=` in a partner link to redirect a click elsewhere. They are
// similar to an address of the shop.

import fc from "fast-check";
import { ANY_CHARACTER } from "./any-character.ts";

export const LANDING_HOSTS = [
	{ host: "shop.example", withSubdomains: false },
	{ host: "brand.example", withSubdomains: true },
] as const;

/**
 * Matches the beginning that every redirect target must have. The target is compared as text, without a URL parser.
 */
export const WITHIN_LANDING_HOSTS = /^https:\/\/(?:shop\.example|(?:[^/?#@:\\\s]+\.)?brand\.example)\//;

function mostly(right: readonly string[], wrong: readonly string[]): fc.Arbitrary<string> {
	return fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...right) }, fc.constantFrom(...wrong));
}

const SCHEME = mostly(
	["https://", "https://", "HTTPS://", "https:/", "https:", "https:\\\\", " https://", "ht\ntps://"],
	[
		"http://",
		"//",
		"",
		"javascript://",
		"data:text/html,",
		"https:///",
		"ftp://",
		"blob:https://",
		"view-source:",
	],
);
const USER = mostly(
	[""],
	["shop.example@", "user:word@", "@", ":@", "shop.example%40", "shop.example\\@", "a\t@"],
);
const HOST = mostly(
	["shop.example", "SHOP.example", "brand.example", "de.brand.example", "a.b.brand.example", "ｓhop.example"],
	[
		...[
			"evil.example",
			"shop.example.evil.example",
			"evilshop.example",
			"evilbrand.example",
			"shop.example.",
		],
		...[
			"www.shop.example",
			".brand.example",
			"brand.example.",
			"shop.example%2eevil.example",
			"shop。example",
		],
		...[
			"shop.example%00.evil.example",
			"shop.example\t.evil.example",
			"evil.example\\.brand.example",
			"[::1]",
		],
		...[
			"evil.example#.brand.example",
			"evil.example?.brand.example",
			"evil.example/.brand.example",
			"127.0.0.1",
		],
		...["shop\u00ad.example", "shop.exam\u200dple", "xn--shop-.example", "", "brand.example@evil.example"],
	],
);
const PORT = mostly([""], [":443", ":8443", ":", ":0443", ":80", ":65536", ":443@evil.example", ":٤٤٣"]);
const PIECE = fc.constantFrom(
	...[
		"/",
		"//",
		"\\",
		"/..",
		"/%2e%2e/",
		"?",
		"&",
		"=",
		"#",
		"@",
		"@evil.example",
		"//evil.example/",
		":443",
	],
	...[
		"rbclick=x",
		"a=b",
		"%",
		"%00",
		"%0d%0a",
		"\n",
		"\r",
		"\t",
		" ",
		"\0",
		"é",
		"😀",
		"\ud800",
		".",
		"shoes",
	],
);

export const LANDING_TEXT: fc.Arbitrary<string> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc
			.tuple(SCHEME, USER, HOST, PORT, fc.array(PIECE, { maxLength: 5 }))
			.map(([scheme, user, host, port, pieces]) => [scheme, user, host, port, ...pieces].join("")),
	},
	fc.webUrl(),
	fc.string({ unit: ANY_CHARACTER, maxLength: 60 }),
);
