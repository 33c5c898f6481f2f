import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { readName } from "./display-name.ts";
import type { Result } from "./fault.ts";
import {
	networkName,
	parseBrand,
	parseSenderAddress,
	parseSenderName,
	parseSupportAddress,
	suggestBrand,
} from "./network.ts";

/** Characters that would begin another header or another line of a mail. */
const LINE_ENDS = ["\r\n", "\n", "\r", "\u2028", "\u2029", "\u0085", "\u0000"];

const PARSERS: readonly [field: string, parse: (text: string) => Result<string | null>, good: string][] = [
	["name", (text: string) => readName(text, "the network's"), "Acme Partners"],
	["brand", parseBrand, "Acme"],
	["supportAddress", parseSupportAddress, "help@acme.example"],
	["senderName", parseSenderName, "Acme Partners"],
	["senderAddress", parseSenderAddress, "no-reply@acme.example"],
];

for (const [field, parse, good] of PARSERS) {
	test(`${field}: a valid value is accepted, and spaces around it are removed`, () => {
		deepEqual(parse(`  ${good} `), { ok: true, value: good });
	});

	test(`${field}: a value with a line break is refused, so it can add no header and no line to a mail`, () => {
		for (const end of LINE_ENDS) {
			const parsed = parse(`${good}${end}Bcc: all@shop.example`);
			ok(!parsed.ok, JSON.stringify(end));
			equal(parsed.fault.field, field);
		}
	});
}

describe("the brand", () => {
	for (const brand of ["A", "Acme", "Acme-2", "a".repeat(31)]) {
		test(`${brand} is a valid brand`, () => deepEqual(parseBrand(brand), { ok: true, value: brand }));
	}

	for (const text of ["", "2Acme", "-Acme", "Acme Inc", "Ac_me", "Acmé", "a".repeat(32), "A:B", "A\tB"]) {
		test(`${JSON.stringify(text)} is not a brand, because header names contain the brand`, () => {
			const parsed = parseBrand(text);
			ok(!parsed.ok);
			match(parsed.fault.detail, /letters, digits or hyphens/);
		});
	}

	for (const [name, brand] of [
		["Acme Partners", "Acme-Partners"],
		["Åkerö & Söhne, Inc.", "Akero-Sohne-Inc"],
		["Miller’s Network", "Millers-Network"],
		["Acme™", "Acme"],
		["24 Hour Deals", null],
		["3M", null],
		["Very Long Names of Networks in Europe", "Very-Long-Names-of-Networks-in"],
		["株式会社", null],
		["2026", null],
		["", null],
	] as const) {
		test(`made from ${JSON.stringify(name)}: ${brand}`, () => {
			equal(suggestBrand(name), brand);
			if (brand !== null) ok(parseBrand(brand).ok);
		});
	}
});

test("optional fields that are empty become null, and the name is mandatory", () => {
	for (const parse of [parseSupportAddress, parseSenderName, parseSenderAddress]) {
		deepEqual(parse("  "), { ok: true, value: null });
	}
	equal(readName(" ", "the network's").ok, false);
});

test("a sender's name cannot look like an address", () => {
	for (const name of ["help@bank.example", "Bank <help@bank.example>", 'Bank" <x>', "Bank \\", "a\u202eb"]) {
		equal(parseSenderName(name).ok, false, name);
	}
	deepEqual(parseSenderName("Müller & Söhne, Partner"), { ok: true, value: "Müller & Söhne, Partner" });
});

test("a sender's address must be ASCII", () => {
	equal(parseSenderAddress("hilfe@bücher.example").ok, false);
	equal(parseSupportAddress("hilfé@network.example").ok, false);
});

test("the network is called by its name, or else by its brand, or by nothing", () => {
	equal(networkName({ name: "Acme Partners", brand: "Acme" }), "Acme Partners");
	equal(networkName({ name: null, brand: "Acme" }), "Acme");
	equal(networkName({ name: null, brand: "Service" }), null);
});
