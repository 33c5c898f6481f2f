import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { expectCheap, REPETITIONS, repeatTo } from "../../../../test/support/hostile-texts.ts";
import { COUNTRIES, nameOfCountry, parseCountry } from "./country.ts";

function parse(text: string): string {
	const parsed = parseCountry(text, "country");
	return parsed.ok ? parsed.value : parsed.fault.code;
}

test("a country is understood by its code or by its name, whatever the case, accents and punctuation", () => {
	const cases: readonly (readonly [typed: string, code: string])[] = [
		["", ""],
		["  ", ""],
		["de", "DE"],
		[" DE ", "DE"],
		["Germany", "DE"],
		["germany", "DE"],
		["Deutschland", "DE"],
		["Allemagne", "DE"],
		["Georgia", "GE"],
		["Cote d'Ivoire", "CI"],
		["TÜRKIYE", "TR"],
		["Turkey", "TR"],
		["uk", "GB"],
		["Great Britain", "GB"],
		["USA", "US"],
		["Bosnia and Herzegovina", "BA"],
		["Bosnia & Herzegovina", "BA"],
		["RU", "RU"],
		["Kosovo", "XK"],
	];
	deepEqual(
		cases.map(([typed]) => [typed, parse(typed)]),
		cases,
	);
});

test("what is no country is refused with a sentence, also if it begins with the code of one", () => {
	for (const typed of [
		"GER",
		"Ger",
		"Germ",
		"DEU",
		"EU",
		"SU",
		"ZZ",
		"D",
		"12",
		"Nowhere",
		"DE GE",
		"Д Е",
		"DE".repeat(500),
	]) {
		const parsed = parseCountry(typed, "country");
		ok(!parsed.ok && parsed.fault.field === "country", typed);
		match(
			parsed.fault.detail,
			/^(?:There is no country “.+”|This is no country)\. Choose it from the list, or write its name/,
		);
	}
});

test("every country has one name, by which it is found again, and no name means two countries", () => {
	equal(COUNTRIES.length, 250);
	for (const { code, name } of COUNTRIES) {
		equal(parse(name), code);
		equal(nameOfCountry(code), name);
		ok(name !== code, code);
	}
	equal(new Set(COUNTRIES.map(({ name }) => name)).size, COUNTRIES.length);
});

test("a code that is no country's stays readable, because old details may have it", () => {
	deepEqual(["EU", "QQ", "x", ""].map(nameOfCountry), ["European Union", "QQ", "x", ""]);
});

test("a long text is refused before it is compared with names", async () => {
	for (const part of REPETITIONS) {
		await expectCheap(JSON.stringify(part), 20, () =>
			parseCountry(`DE${repeatTo(512 * 1024, part)}`, "country"),
		);
	}
});
