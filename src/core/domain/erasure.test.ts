// Tests how names and addresses are found in texts, and what stays of an audit entry about an erased partner.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { ANY_CODE_PATTERN } from "#modules/partners/domain/click.ts";
import { isMailAddress } from "./display-name.ts";
import {
	createEraser,
	createPartnerAuditEraser,
	createPersonAuditEraser,
	type ErasedWords,
	erasedLinkCode,
	erasedPerson,
	eraseInDetails,
	eraseInQuery,
} from "./erasure.ts";

const WORDS: ErasedWords = {
	emails: ["ann@a.example", "a+b@c.example"],
	names: ["Ann", "Ann & Söhne (Blog)", "ÉTÉ"],
	codes: ["ann-blog"],
	replacement: "erased partner",
};
const erase = createEraser(WORDS);

describe("an eraser replaces whole names and addresses", () => {
	const cases: readonly [text: string, expected: string][] = [
		["ann@a.example", "erased partner"],
		["from ANN@a.example.", "from erased partner."],
		["<a+b@c.example>, joann@a.example", "<erased partner>, joann@a.example"],
		[
			"ann@a.example.org ann@a.example-shop ann@a.exampleshop",
			"ann@a.example.org ann@a.example-shop ann@a.exampleshop",
		],
		["Anna, Joann and Ann", "Anna, Joann and erased partner"],
		["Ann & Söhne (Blog): 3", "erased partner: 3"],
		["l'été", "l'erased partner"],
		["étéx Ann1", "étéx Ann1"],
		["$& Ann", "$& erased partner"],
	];
	for (const [text, expected] of cases) {
		test(`"${text}" becomes "${expected}"`, () => equal(erase(text), expected));
	}

	test("without any word a text stays as it is", () => {
		equal(createEraser({ ...WORDS, emails: [], names: [""] })("any text"), "any text");
	});
});

test("an address that is part of a longer one stays", () => {
	const onlyEmail = createEraser({ ...WORDS, names: [] });
	for (const text of ["joann@a.example", "ann@a.example.org", "ann@a.example-shop", "x.ann@a.example"]) {
		equal(onlyEmail(text), text);
	}
});

test("details in JSON and values of a query are replaced, and everything else stays", () => {
	equal(
		eraseInDetails('{"Ann":1,"currency":"Ann","problems":[{"line":2,"detail":"Ann: no"}]}', erase),
		'{"Ann":1,"currency":"Ann","problems":[{"line":2,"detail":"erased partner: no"}]}',
	);
	equal(eraseInQuery("?partner=ann%40a.example&Ann=1", erase), "?partner=erased+partner&Ann=1");
	equal(eraseInQuery("?from=2026-10-01&orderId=Ann", erase), "?from=2026-10-01&orderId=erased+partner");
	equal(eraseInQuery("?month=2026-10", erase), "?month=2026-10");
});

test("a name that is also a month or a status changes no filter that the program wrote", () => {
	const odd = createEraser({ ...WORDS, emails: [], names: ["2026-10", "2026", "APPROVED"] });
	for (const query of ["?month=2026-10", "?from=2026-10-01&to=2026-10-31&status=APPROVED"]) {
		equal(eraseInQuery(query, odd), query);
	}
});

test("a name stays in the address of somebody else", () => {
	const shop = createEraser({ ...WORDS, emails: [], names: ["Shop"] });
	for (const text of [
		"owner@shop.example",
		"owner@my.shop.example",
		"shop@a.example",
		"shop.eu@a.example, b@shop",
	]) {
		equal(shop(text), text);
	}
	equal(shop("Shop, owner@shop.example"), `${WORDS.replacement}, owner@shop.example`);
});

describe("an audit entry about an erased partner keeps ids and amounts", () => {
	const cases: readonly [
		action: string,
		subject: string | null,
		detail: string | null,
		isAbout: boolean,
		expected: readonly [string | null, string | null],
	][] = [
		["partner.changed", "ptn_1", "name: Ann → Bob", true, ["ptn_1", "erased partner"]],
		["partner.archived", "ptn_1", null, true, ["ptn_1", null]],
		["account.adjusted", "ptn_1", "-5.00 EUR: for Ann's 7 USD", true, ["ptn_1", "erased partner: -5.00 EUR"]],
		[
			"statement.issued",
			"2026-0001",
			"Ann: 12.00 EUR, carried forward",
			true,
			["2026-0001", "erased partner: 12.00 EUR"],
		],
		[
			"statement.issued",
			"2026-0001",
			"erased partner: 12.00 EUR",
			true,
			["2026-0001", "erased partner: 12.00 EUR"],
		],
		["link.made", "ann-blog", "https://shop.example/?by=ann", false, ["erased link", "erased partner"]],
		["credit.assigned", "cnv_1", "Ann: she brought it", false, ["cnv_1", "erased partner"]],
		["credit.assigned", "cnv_1", "Bob: he brought it", false, ["cnv_1", "Bob: he brought it"]],
		[
			"credit.assigned",
			"cnv_1",
			"Bob → Ann: she brought it; commission: 6.33 EUR → 8.00 EUR; network fee: 1.33 EUR → 1.33 EUR",
			false,
			["cnv_1", "erased partner; commission: 6.33 EUR → 8.00 EUR; network fee: 1.33 EUR → 1.33 EUR"],
		],
		["application.made", "apl_1", "Ann", false, ["apl_1", "erased partner"]],
		["programme.created", "prg_1", "Ann", false, ["prg_1", "Ann"]],
		["import.prepared", "links of Ann.csv", "3 links", false, ["links of erased partner.csv", "3 links"]],
		["person.invited", "ann@a.example", "owner", false, ["erased partner", "owner"]],
		["key.issued", "key_1", null, false, ["key_1", null]],
	];
	for (const [action, subject, detail, isAbout, expected] of cases) {
		test(`${action} of ${subject}: ${detail}`, () => {
			const erased = createPartnerAuditEraser(WORDS)({ action, subject, detail }, isAbout);
			deepEqual([erased.subject, erased.detail], expected);
		});
	}
});

describe("an audit entry loses the addresses of an erased person, and the name where it is about the person", () => {
	const cases: readonly [
		action: string,
		subject: string | null,
		detail: string | null,
		isByPerson: boolean,
		expected: readonly [string | null, string | null],
	][] = [
		["person.invited", "ann@a.example", "owner", false, ["erased partner", "owner"]],
		[
			"address.changed",
			"a+b@c.example",
			"ann@a.example → a+b@c.example",
			true,
			["erased partner", "erased partner → erased partner"],
		],
		["account.changed", "ann@a.example", "name of Ann", false, ["erased partner", "name of erased partner"]],
		["programme.created", "prg_1", "Ann", false, ["prg_1", "Ann"]],
		["programme.created", "prg_1", "Ann", true, ["prg_1", "erased partner"]],
		["application.declined", "apl_1", "Ann", false, ["apl_1", "erased partner"]],
		["import.prepared", "Ann.csv", null, false, ["erased partner.csv", null]],
		["person.signed_in", null, null, true, [null, null]],
	];
	for (const [action, subject, detail, isByPerson, expected] of cases) {
		test(`${action} of ${subject}: ${detail}${isByPerson ? ", by the person" : ""}`, () => {
			const erased = createPersonAuditEraser(WORDS)({ action, subject, detail }, isByPerson);
			deepEqual([erased.subject, erased.detail], expected);
		});
	}
});

test("what replaces an address is no address, and what replaces a link's code is no code", () => {
	equal(isMailAddress(erasedPerson("usr_01")), false);
	equal(ANY_CODE_PATTERN.test(erasedLinkCode(7)), false);
});
