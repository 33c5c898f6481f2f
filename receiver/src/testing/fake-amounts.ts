// Decimal amounts of the fake service, computed without floating point.

/** Decimals of the fake service's amounts, as most currencies have. */
const digits = 2;
const amountForm = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,2}))?$/;

/** Returns the amount in the smallest unit, or undefined if the text is not an amount. */
export function parseUnits(text: unknown): bigint | undefined {
	const [, whole, decimals = ""] = (typeof text === "string" && amountForm.exec(text)) || [];
	return whole === undefined ? undefined : BigInt(whole + decimals.padEnd(digits, "0"));
}

export function writeUnits(units: bigint): string {
	const text = String(units).padStart(digits + 1, "0");
	return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** Returns a percentage of an amount, rounded half up. The percentage may have two decimals. */
export function percentOf(units: bigint, percent: number): bigint {
	return (units * BigInt(Math.round(percent * 100)) + 5_000n) / 10_000n;
}
