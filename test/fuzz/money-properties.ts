// Properties of amounts, compared with fractions of big integers, which cannot round.

import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { currencyDigits, parseAmount, parseRate, shareOf } from "#core/domain/money.ts";
import { amountAt } from "#core/domain/rate.ts";
import { ANY_TEXT } from "./any-event.ts";
import { type FuzzProperty, pureProperty } from "./fuzz-property.ts";

/** A fraction whose denominator is a power of ten. */
interface Exact {
	units: bigint;
	decimals: number;
}

const MAX_WHOLE = 10n ** 12n;
/** Largest commission rate, 100 percent, in units of its fourth decimal. */
const MAX_RATE_UNITS = 1_000_000n;

const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
/** All existing currencies, found by trying all three-letter words. */
const CURRENCIES = LETTERS.flatMap((first) =>
	LETTERS.flatMap((second) => LETTERS.map((third) => first + second + third)),
).flatMap((code) => {
	const digits = currencyDigits(code);
	return digits.ok ? [{ code, digits: digits.value }] : [];
});
const ANY_CURRENCY = fc.constantFrom(...CURRENCIES);

const ANY_CANONICAL = ANY_CURRENCY.chain(({ code, digits }) =>
	fc
		.bigInt({ min: 0n, max: MAX_WHOLE * 10n ** BigInt(digits) - 1n })
		.map((units) => ({ code, digits, amount: writeDecimal({ units, decimals: digits }) })),
);
const ANY_MINOR_UNITS = fc.bigInt({ min: 0n, max: 10n ** 12n });
const ANY_RATE_UNITS = fc.bigInt({ min: 0n, max: MAX_RATE_UNITS });
const ANY_RATE = ANY_RATE_UNITS.map((units) => writeDecimal({ units, decimals: 4 }));

/**
 * Generates amounts of which half a percent ends in exactly half a minor unit, so that rounding has a tie.
 */
const TIES = ANY_CURRENCY.chain(({ code, digits }) =>
	fc.bigInt({ min: 0n, max: 10n ** 9n }).map((half) => ({
		code,
		digits,
		amount: writeDecimal({ units: (2n * half + 1n) * 100n, decimals: digits }),
	})),
);

const NUMBER_LIKE = fc.oneof(
	fc.string({ unit: fc.constantFrom(..."0123456789.-+eE, _٥½∞x"), maxLength: 16 }),
	fc.double().map(String),
	fc
		.tuple(fc.bigInt({ min: 0n, max: MAX_WHOLE * 10n }), fc.stringMatching(/^\d{0,6}$/))
		.map(([whole, decimals]) => (decimals === "" ? `${whole}` : `${whole}.${decimals}`)),
	fc.constantFrom(
		"",
		"0",
		"00",
		"01",
		".5",
		"5.",
		"-0",
		"+1",
		"1e3",
		"1,5",
		"NaN",
		"Infinity",
		"0x10",
		" 1",
		"1\n",
	),
	ANY_TEXT,
);

const TEXTS = pureProperty(
	"an amount is accepted exactly if it is plain digits that fit its currency, and keeps its value",
	["taken", "refused"],
	(meet) =>
		fc.property(NUMBER_LIKE, ANY_CURRENCY, (text, { code, digits }) => {
			const parsed = parseAmount(text, code, "basketValue");
			const exact = readDecimal(text);
			const fits = exact !== undefined && exact.decimals <= digits && wholePart(exact) < MAX_WHOLE;
			meet(fits ? "taken" : "refused");
			equal(parsed.ok, fits);
			if (!parsed.ok || exact === undefined) return;
			const units = exact.units * 10n ** BigInt(digits - exact.decimals);
			equal(parsed.value, writeDecimal({ units, decimals: digits }));
		}),
);

const IDENTITY = pureProperty("an amount in canonical form is read and written back unchanged", [], () =>
	fc.property(ANY_CANONICAL, ({ code, amount }) => {
		deepEqual(parseAmount(amount, code, "basketValue"), { ok: true, value: amount });
	}),
);

const RATES = pureProperty(
	"a rate is accepted exactly if it is a percentage up to 100 with at most four decimals, after a point or a comma",
	["taken", "refused"],
	(meet) =>
		fc.property(fc.oneof(NUMBER_LIKE, ANY_RATE, fc.stringMatching(/^\d{1,3}(?:[.,]\d{1,5})?$/)), (text) => {
			const parsed = parseRate(text, "commission");
			const exact = readDecimal(text.replace(",", "."));
			const units =
				exact === undefined || exact.decimals > 4
					? undefined
					: exact.units * 10n ** BigInt(4 - exact.decimals);
			const fits = units !== undefined && units <= MAX_RATE_UNITS;
			meet(fits ? "taken" : "refused");
			deepEqual(parsed.ok ? parsed.value : null, fits ? writeDecimal({ units, decimals: 4 }) : null);
		}),
);

const SHARES = pureProperty(
	"a share is the exact product, rounded half up once",
	["exact", "tie", "rounded"],
	(meet) =>
		fc.property(
			fc.oneof(ANY_CANONICAL, TIES),
			fc.oneof(ANY_RATE, fc.constantFrom("0.5000", "10.0000", "100.0000")),
			({ digits, amount }, rate) => {
				const product = unitsOf(amount) * unitsOf(rate);
				const rest = product % MAX_RATE_UNITS;
				meet(rest === 0n ? "exact" : rest * 2n === MAX_RATE_UNITS ? "tie" : "rounded");
				const units = product / MAX_RATE_UNITS + (rest * 2n >= MAX_RATE_UNITS ? 1n : 0n);
				equal(shareOf(amount, rate), writeDecimal({ units, decimals: digits }));
			},
		),
);

const SUMS = pureProperty(
	"shares never exceed their amount, grow with it, and add up to within one unit",
	[],
	() =>
		fc.property(
			ANY_CANONICAL,
			ANY_RATE_UNITS,
			fc.bigInt({ min: 0n, max: 10n ** 9n }),
			({ digits, amount }, units, more) => {
				const rate = writeDecimal({ units, decimals: 4 });
				const share = unitsOf(shareOf(amount, rate));
				ok(share <= unitsOf(amount));
				equal(shareOf(amount, "100.0000"), amount);
				equal(unitsOf(shareOf(amount, "0.0000")), 0n);
				const other = writeDecimal({ units: more, decimals: digits });
				const both = writeDecimal({ units: unitsOf(amount) + more, decimals: digits });
				const shareOfBoth = unitsOf(shareOf(both, rate));
				ok(shareOfBoth >= share, "a larger basket never brings less");
				const off = share + unitsOf(shareOf(other, rate)) - shareOfBoth;
				ok(off >= -1n && off <= 1n, `off by ${off}`);
				const rest = writeDecimal({ units: MAX_RATE_UNITS - units, decimals: 4 });
				const offTogether = share + unitsOf(shareOf(amount, rest)) - unitsOf(amount);
				ok(offTogether === 0n || offTogether === 1n, `off by ${offTogether}`);
			},
		),
);

const AMOUNTS = pureProperty(
	"an amount at a rate is the exact product plus the fixed amount, rounded half up once, and grows with the basket",
	["0 decimals", "2 decimals", "3 decimals"],
	(meet) =>
		fc.property(
			// Most currencies have two decimals, so the others are drawn as often.
			fc.constantFrom(0, 2, 3),
			fc.oneof(
				ANY_MINOR_UNITS,
				ANY_MINOR_UNITS.map((units) => units * 100n + 50n),
			),
			fc.oneof(ANY_RATE_UNITS, fc.constantFrom(5_000n, 10_000n)),
			ANY_MINOR_UNITS,
			ANY_MINOR_UNITS,
			(digits, basketUnits, units, fixedUnits, more) => {
				meet(`${digits} decimals`);
				const amount = writeDecimal({ units: basketUnits, decimals: digits });
				const percent = writeDecimal({ units, decimals: 4 });
				const rate = { percent, fixed: writeDecimal({ units: fixedUnits, decimals: digits }) };
				// The fixed amount is added before the only rounding. It is whole in minor units, so the order does not matter.
				const exact = basketUnits * units + fixedUnits * MAX_RATE_UNITS;
				const rounded = (exact * 2n + MAX_RATE_UNITS) / (MAX_RATE_UNITS * 2n);
				equal(amountAt(amount, rate), writeDecimal({ units: rounded, decimals: digits }));
				const larger = writeDecimal({ units: basketUnits + more, decimals: digits });
				ok(unitsOf(amountAt(larger, rate)) >= rounded, "a larger basket never earns less");
				const nothing = writeDecimal({ units: 0n, decimals: digits });
				equal(amountAt(nothing, rate), rate.fixed, "an empty basket earns the fixed amount");
			},
		),
);

/**
 * Parses a decimal. It must have ASCII digits only, no sign, no exponent, no leading zeros, and at least one
 * digit on each side of a point.
 */
function readDecimal(text: string): Exact | undefined {
	const [front, back, ...more] = text.split(".");
	if (front === undefined || more.length > 0) return undefined;
	const isDigits = (part: string) =>
		part !== "" && [...part].every((letter) => letter >= "0" && letter <= "9");
	if (!isDigits(front) || (front.length > 1 && front.startsWith("0"))) return undefined;
	if (back !== undefined && !isDigits(back)) return undefined;
	return { units: BigInt(front + (back ?? "")), decimals: back?.length ?? 0 };
}

function wholePart({ units, decimals }: Exact): bigint {
	return units / 10n ** BigInt(decimals);
}

function unitsOf(amount: string): bigint {
	const exact = readDecimal(amount);
	ok(exact !== undefined, `${amount} is no decimal`);
	return exact.units;
}

function writeDecimal({ units, decimals }: Exact): string {
	const scale = 10n ** BigInt(decimals);
	return decimals === 0 ? `${units}` : `${units / scale}.${String((units % scale) + scale).slice(1)}`;
}

export const MONEY_PROPERTIES: readonly FuzzProperty[] = [TEXTS, IDENTITY, RATES, SHARES, SUMS, AMOUNTS];
