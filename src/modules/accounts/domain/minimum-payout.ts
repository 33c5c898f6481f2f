// The minimum payout of the network for each currency. A statement whose total is below it is carried forward. The
// network's row has all minimums in one text, such as "EUR 25.00;JPY 3000".

import { type Checked, type Fault, refuseAll, succeed } from "#core/domain/fault.ts";
import { minorUnits, parseFormAmount } from "#core/domain/money.ts";

/** Minimum payouts by currency. The map has no entry for a currency without a minimum. */
export type MinimumPayouts = ReadonlyMap<string, string>;

export function readMinimums(stored: string): MinimumPayouts {
	return new Map(
		stored.split(";").flatMap((part) => {
			const [currency, amount] = part.split(" ");
			return currency === undefined || amount === undefined ? [] : [[currency, amount] as const];
		}),
	);
}

export function writeMinimums(minimums: MinimumPayouts): string {
	const sorted = [...minimums].sort(([one], [other]) => (one < other ? -1 : 1));
	return sorted.map(([currency, amount]) => `${currency} ${amount}`).join(";");
}

/** Returns the name of the form's field for a currency's minimum, which faults use, too. */
export function minimumField(currency: string): string {
	return `minimum${currency}`;
}

/** Parses the minimums that a person typed, by currency. An empty text and 0 mean that there is no minimum. */
export function parseMinimums(typed: ReadonlyMap<string, string>): Checked<MinimumPayouts> {
	const minimums = new Map<string, string>();
	const faults: Fault[] = [];
	for (const [currency, text] of typed) {
		const trimmed = text.trim();
		if (trimmed === "") continue;
		const amount = parseFormAmount(trimmed, currency, minimumField(currency), "minimum payout");
		if (!amount.ok) faults.push(amount.fault);
		else if (minorUnits(amount.value) > 0n) minimums.set(currency, amount.value);
	}
	return faults.length > 0 ? refuseAll(faults) : succeed(minimums);
}
