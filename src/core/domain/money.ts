// Amounts of money are decimal strings with exactly as many decimals as the currency has. Calculations use a
// bigint of minor units and never floating point.

import { type Result, refusalOf, refuse, succeed } from "./fault.ts";

// Active currency codes of ISO 4217 (list one, 2026), grouped by their number of decimals. ICU's numbers are
// not used, because for some currencies (IQD, AFN) they differ from the standard.
const CODES_BY_DIGITS: ReadonlyArray<readonly [digits: number, codes: string]> = [
	[0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"],
	[
		2,
		`AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF
		CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL
		HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU
		MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR
		SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED
		VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
	],
	[3, "BHD IQD JOD KWD LYD OMR TND"],
	[4, "CLF UYW"],
];

const DIGITS_BY_CODE: ReadonlyMap<string, number> = new Map(
	CODES_BY_DIGITS.flatMap(([digits, codes]) => codes.split(/\s+/).map((code) => [code, digits] as const)),
);

export const CURRENCIES: readonly string[] = [...DIGITS_BY_CODE.keys()];

export const MAX_CURRENCY_DIGITS = Math.max(...CODES_BY_DIGITS.map(([digits]) => digits));

/**
 * Maximum number of digits before the decimal point, so that amounts fit on a page and into a spreadsheet
 * cell.
 */
export const MAX_WHOLE_DIGITS = 12;
const RATE_DECIMALS = 4;
/** Number of rate units in 100 %. A rate is a percentage with four decimals, so one unit is a millionth. */
const RATE_UNITS_PER_WHOLE = 1_000_000n;

export function currencyDigits(currency: string): Result<number> {
	const digits = DIGITS_BY_CODE.get(currency);
	if (digits === undefined) {
		return refusalOf("unknown_currency", { currency: currency.slice(0, 20) });
	}
	return succeed(digits);
}

/** Returns the amount in canonical form: "12.5" EUR becomes "12.50". */
export function parseAmount(text: string, currency: string, field: string): Result<string> {
	const digits = currencyDigits(currency);
	if (!digits.ok) return digits;
	if (/^-\d/.test(text)) {
		return refusalOf("negative_amount", { field });
	}
	const match = /^(0|[1-9]\d*)(?:\.(\d+))?$/.exec(text);
	if (match === null) {
		return refusalOf("malformed_amount", { field, example: exampleAmount(digits.value) });
	}
	const [, whole = "", decimals = ""] = match;
	if (whole.length > MAX_WHOLE_DIGITS) {
		return refusalOf("amount_too_large", { field, digits: MAX_WHOLE_DIGITS });
	}
	if (decimals.length > digits.value) {
		return refusalOf("amount_too_precise", {
			field,
			decimals: decimals.length,
			currency,
			digits: digits.value,
		});
	}
	return succeed(digits.value === 0 ? whole : `${whole}.${decimals.padEnd(digits.value, "0")}`);
}

/** Parses an amount as a person writes it, with a decimal point or a decimal comma. */
export function parseTypedAmount(text: string, currency: string, field: string): Result<string> {
	const written = withDecimalPoint(text, currency, field);
	return written.ok ? parseAmount(written.value, currency, field) : written;
}

/**
 * Parses an amount like `parseTypedAmount`, from the field of a form. The refusals are sentences for the person, and
 * `noun` is the name of the amount in them.
 */
export function parseFormAmount(text: string, currency: string, field: string, noun: string): Result<string> {
	const parsed = parseTypedAmount(text, currency, field);
	if (parsed.ok) return parsed;
	const { code } = parsed.fault;
	return isWrongAmount(code) ? refuse(code, WRONG_AMOUNT[code](noun, currency), field) : parsed;
}

/**
 * Messages for a form field that people see. The messages of `parseAmount` name fields of programs and columns of
 * files instead.
 */
const WRONG_AMOUNT = {
	negative_amount: (noun: string) => `The ${noun} must not be negative.`,
	malformed_amount: (noun: string, currency: string) =>
		`Enter the ${noun} in ${currency} as digits, such as ${sampleAmount(currency)}, without a thousands separator.`,
	amount_too_precise: (noun: string, currency: string) =>
		`The ${noun} has too many decimals for ${currency}. Write it like ${sampleAmount(currency)}, without a thousands separator.`,
	amount_too_large: (noun: string) =>
		`The ${noun} is too large. It may have at most ${MAX_WHOLE_DIGITS} digits before the point.`,
} as const;

function isWrongAmount(code: string): code is keyof typeof WRONG_AMOUNT {
	return Object.hasOwn(WRONG_AMOUNT, code);
}

/** Returns an amount that shows how many decimals the currency has, such as "5.00". */
export function sampleAmount(currency: string): string {
	return `5${zeroIn(currency).slice(1)}`;
}

/**
 * Replaces a decimal comma by a point. A text whose thousands are grouped is refused. In a currency with three decimals,
 * a comma before three digits could be either, and guessing could be wrong by a factor of a thousand.
 */
function withDecimalPoint(text: string, currency: string, field: string): Result<string> {
	const hasThreeDigits = DIGITS_BY_CODE.get(currency) === 3;
	if (/[.,].*[.,]/.test(text) || (hasThreeDigits && /^\d+,\d{3}$/.test(text))) {
		const detail = `${field} “${text.slice(0, 40)}” has its thousands grouped, or could have. Write amounts with a point and without grouping, as 1234.50.`;
		return refuse("malformed_amount", detail, field);
	}
	return succeed(/^\d+,\d+$/.test(text) ? text.replace(",", ".") : text);
}

/**
 * Returns the rate in canonical form: "7.5" becomes "7.5000". A rate is a percentage from 0 to 100 with at
 * most four decimals, and a percent sign may follow. A decimal comma is accepted, because no rate is large
 * enough to need a thousands separator.
 */
export function parseRate(text: string, field: string): Result<string> {
	const match = /^(0|[1-9]\d{0,2})(?:[.,](\d{1,4}))?(?:[ \u00a0\u202f]*%)?$/.exec(text);
	const rate = match === null ? undefined : `${match[1]}.${(match[2] ?? "").padEnd(RATE_DECIMALS, "0")}`;
	if (rate === undefined || minorUnits(rate) > RATE_UNITS_PER_WHOLE) {
		return refuse(
			"invalid_rate",
			`${field} must be a percentage from 0 to 100 with at most ${RATE_DECIMALS} decimals, such as 7.5.`,
			field,
		);
	}
	return succeed(rate);
}

/** Returns the rate as people write it: "7.5000" becomes "7.5". */
export function shortenRate(rate: string): string {
	if (!rate.includes(".")) return rate;
	// This loop is several times as fast as a regular expression. Every stored sale calls this function for its rates.
	let end = rate.length;
	while (rate[end - 1] === "0") end--;
	return rate.slice(0, rate[end - 1] === "." ? end - 1 : end);
}

export function isZero(amount: string): boolean {
	return !/[1-9]/.test(amount);
}

/** Returns `amount × rate`, rounded half up to the amount's digits. Both must be in canonical form. */
export function shareOf(amount: string, rate: string): string {
	const digits = decimalCount(amount);
	const scaled = minorUnits(amount) * minorUnits(rate);
	// Neither value is negative, so adding a half and truncating rounds half up.
	return formatMinor((scaled + RATE_UNITS_PER_WHOLE / 2n) / RATE_UNITS_PER_WHOLE, digits);
}

/** Returns `amount ÷ count`, rounded half up to the amount's digits. The amount must not be negative. */
export function divideAmount(amount: string, count: number): string {
	const divisor = BigInt(count);
	return formatMinor((2n * minorUnits(amount) + divisor) / (2n * divisor), decimalCount(amount));
}

/** Returns the sum of two amounts of one currency. Both must be in canonical form, and may be negative. */
export function addAmounts(one: string, other: string): string {
	return formatMinor(minorUnits(one) + minorUnits(other), decimalCount(one));
}

export function zeroIn(currency: string): string {
	return formatMinor(0n, DIGITS_BY_CODE.get(currency) ?? 0);
}

export function decimalCount(amount: string): number {
	const point = amount.indexOf(".");
	return point === -1 ? 0 : amount.length - point - 1;
}

/** Returns an amount in canonical form as minor units: "12.99" becomes 1299n. */
export function minorUnits(amount: string): bigint {
	return BigInt(amount.replace(".", ""));
}

/** Returns minor units as an amount: 1299n with two digits becomes "12.99", and -5n becomes "-0.05". */
export function formatMinor(minor: bigint, digits: number): string {
	if (minor < 0n) return `-${formatMinor(-minor, digits)}`;
	if (digits === 0) return minor.toString();
	const padded = minor.toString().padStart(digits + 1, "0");
	return `${padded.slice(0, -digits)}.${padded.slice(-digits)}`;
}

function exampleAmount(digits: number): string {
	return digits === 0 ? '"1299"' : `"129.${"90".padEnd(digits, "0").slice(0, digits)}"`;
}
