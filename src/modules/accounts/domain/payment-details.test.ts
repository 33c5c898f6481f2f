import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import {
	describeChange,
	groupIban,
	type PaymentDetailsInput,
	parseIban,
	parsePaymentDetails,
} from "./payment-details.ts";

const GOOD: PaymentDetailsInput = {
	payee: "Blog GmbH",
	address: "Weg 1\n10115 Berlin",
	country: "de",
	vatId: "DE123456789",
	iban: "de89 3704 0044 0532 0130 00",
	bic: "cobadeffxxx",
	account: "",
};

test("details are stored in one form: capital letters, and an IBAN without spaces", () => {
	const parsed = parsePaymentDetails(GOOD);
	ok(parsed.ok);
	deepEqual(parsed.value, {
		...GOOD,
		country: "DE",
		iban: "DE89370400440532013000",
		bic: "COBADEFFXXX",
	});
	equal(groupIban(parsed.value.iban), "DE89 3704 0044 0532 0130 00");
});

test("IBANs of the registry are accepted", () => {
	const examples = [
		"GB82 WEST 1234 5698 7654 32",
		"FR14 2004 1010 0505 0001 3M02 606",
		"NL91 ABNA 0417 1643 00",
		"NO93 8601 1117 947",
		"MT84 MALT 0110 0001 2345 MTLC AST0 01S",
		"CH93 0076 2011 6238 5295 7",
	];
	for (const iban of examples) ok(parseIban(iban).ok, iban);
});

test("an IBAN with a wrong digit, two digits swapped, or of another length is refused", () => {
	const cases = [
		["DE88370400440532013000", /check digits/],
		["DE89370400440532013001", /check digits/],
		["DE89730400440532013000", /check digits/],
		["DE8937040044053201300", /has 22 characters, and this one has 21/],
		["DE8937040044053201300000", /has 22 characters, and this one has 24/],
		["370400440532013000", /two letters, two digits/],
		["", /two letters, two digits/],
	] as const;
	for (const [text, detail] of cases) {
		const parsed = parseIban(text);
		ok(!parsed.ok && parsed.fault.code === "invalid_iban", text);
		ok(detail.test(parsed.fault.detail), parsed.fault.detail);
	}
});

test("each wrong field is refused by its name", () => {
	const cases: [change: Partial<PaymentDetailsInput>, field: string][] = [
		[{ payee: "  " }, "payee"],
		[{ payee: "x".repeat(141) }, "payee"],
		[{ country: "Germ" }, "country"],
		[{ country: "QX" }, "country"],
		[{ bic: "COBADE" }, "bic"],
		[{ iban: "", bic: "" }, "iban"],
		[{ account: "paypal@blog.example" }, "account"],
		[{ iban: "", account: "paypal@blog.example" }, "bic"],
		[{ address: "x".repeat(501) }, "address"],
		[{ vatId: "a\nb" }, "vatId"],
	];
	for (const [change, field] of cases) {
		const parsed = parsePaymentDetails({ ...GOOD, ...change });
		ok(!parsed.ok, field);
		deepEqual(
			parsed.faults.map((fault) => fault.field),
			[field],
		);
	}
});

test("a partner without an IBAN has another account", () => {
	const parsed = parsePaymentDetails({ ...GOOD, iban: "", bic: "", account: "paypal@blog.example" });
	ok(parsed.ok);
	equal(describeChange(null, parsed.value), "none → another account …le");
});

test("a change is described by the ends of the accounts and the names of the other fields, without their values", () => {
	const before = parsePaymentDetails(GOOD);
	ok(before.ok);
	const change = (changed: Partial<PaymentDetailsInput>) => {
		const after = parsePaymentDetails({ ...GOOD, ...changed });
		ok(after.ok);
		return describeChange(before.value, after.value);
	};
	equal(change({ payee: "Other GmbH" }), "new payee");
	equal(change({ address: "Gasse 2", country: "AT", vatId: "" }), "new address, country, VAT ID");
	equal(change({ iban: "NL91ABNA0417164300" }), "IBAN …3000 → IBAN …4300");
	equal(
		change({ payee: "Other", iban: "", bic: "", account: "paypal@blog.example" }),
		"IBAN …3000 → another account …le; new payee, BIC",
	);
});
