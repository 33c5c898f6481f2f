// Decimal arithmetic of the model. Amounts are whole numbers of the currency's smallest unit. It imports nothing of src/,
// so that it does not repeat a mistake of src/core/domain/money.ts.

/** Decimals of the currencies, by ISO 4217. */
export const DECIMALS = { EUR: 2, JPY: 0, KWD: 3 } as const;
export type Currency = keyof typeof DECIMALS;

/** A percentage of the basket with at most four decimals, and a fixed amount for each conversion. */
export interface Rate {
	percent: string;
	fixed: string;
}

/** Number of decimals of a percentage. */
const PERCENT_DECIMALS = 4;
/** A percentage of 1 in units of its last decimal, times the 100 of the percent. */
const WHOLE = 100n * 10n ** BigInt(PERCENT_DECIMALS);

/** Reads an amount. Throws if it does not have exactly the decimals of its currency. */
export function readAmount(text: string, currency: Currency): bigint {
	const decimals = DECIMALS[currency];
	const form = decimals === 0 ? /^-?(?:0|[1-9]\d*)$/ : new RegExp(`^-?(?:0|[1-9]\\d*)\\.\\d{${decimals}}$`);
	if (!form.test(text)) throw new Error(`"${text}" is no amount in ${currency}`);
	return BigInt(text.replace(".", ""));
}

export function writeAmount(minor: bigint, currency: Currency): string {
	const decimals = DECIMALS[currency];
	const digits = String(minor < 0n ? -minor : minor).padStart(decimals + 1, "0");
	const split = digits.length - decimals;
	const text = decimals === 0 ? digits : `${digits.slice(0, split)}.${digits.slice(split)}`;
	return minor < 0n ? `-${text}` : text;
}

/** Returns the amount of a basket at a rate. The exact sum is rounded once, half up. */
export function amountAt(basket: bigint, rate: Rate, currency: Currency): bigint {
	const share = basket * unitsOf(rate.percent, PERCENT_DECIMALS);
	// Shares are never negative, so adding a half and cutting off rounds half up.
	return (2n * share + WHOLE) / (2n * WHOLE) + unitsOf(rate.fixed, DECIMALS[currency]);
}

/** Returns a decimal in units of its last allowed decimal. It may be written with fewer decimals. */
function unitsOf(decimal: string, decimals: number): bigint {
	const [whole = "", fraction = ""] = decimal.split(".");
	if (fraction.length > decimals) throw new Error(`"${decimal}" has more than ${decimals} decimals`);
	return BigInt(whole + fraction.padEnd(decimals, "0"));
}
