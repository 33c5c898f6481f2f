// The rates from which the present amounts of a conversion are computed.

import { zeroIn } from "../domain/money.ts";
import { type AppliedRates, importedAmount, readAppliedRates } from "../domain/rate.ts";
import type { Conversion } from "../store/queries/conversions.ts";

export function appliedRatesOf(conversion: Conversion): AppliedRates {
	const { rates, currency, basket_value: basketValue, commission, network_fee } = conversion;
	if (rates !== null) return readAppliedRates(rates, zeroIn(currency));
	// An imported conversion starts without rates. The first change of its amounts stores the original amounts in place
	// of the rates, so that later amounts are not computed from rounded ones.
	return {
		commission: importedAmount(commission, basketValue),
		fee: importedAmount(network_fee, basketValue),
	};
}
