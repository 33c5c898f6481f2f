// The amounts of a conversion that gets another partner after it was recorded. The rate of the network fee
// stays, and the commission is the one that the new partner had when the conversion was recorded or
// confirmed. The first partner keeps its commission, so a credit that goes away and comes back changes
// nothing.

import { appliedRatesOf } from "#core/conversions/applied-rates.ts";
import type { Change } from "#core/conversions/moves.ts";
import { zeroIn } from "#core/domain/money.ts";
import {
	type AppliedRate,
	type AppliedRates,
	amountLeft,
	isNoRate,
	noRates,
	readAppliedRate,
	writeAppliedRate,
	writeRates,
} from "#core/domain/rate.ts";
import { commissionAt, feeAt, type RatesOnRecord } from "#core/domain/rate-history.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { Credit } from "../domain/credit.ts";

/** Columns of a conversion that follow from its partner. */
export type PricedCredit = Pick<
	Conversion,
	"commission" | "network_fee" | "rates" | "fee_rate" | "first_partnership_id" | "first_commission"
>;

/** Ids of the partnerships that have the conversion before and after the change. Null stands for nobody. */
export interface CreditChange {
	from: number | null;
	to: number | null;
}

/**
 * Returns the amounts after the change, computed from the basket value that is left, and the rates that later
 * changes need. `record` has the rates of the programme and of the new partnership.
 */
export function priceLaterCredit(
	conversion: Conversion,
	{ from, to }: CreditChange,
	record: RatesOnRecord,
): PricedCredit {
	const fee = feeRateOf(conversion, from, record);
	const first = firstCreditOf(conversion, from);
	const rates = ratesAfter();
	return {
		commission: amountLeft(conversion.basket_value, rates.commission),
		network_fee: amountLeft(conversion.basket_value, rates.fee),
		rates: writeRates(rates),
		fee_rate: writeAppliedRate(fee),
		first_partnership_id: first?.partnershipId ?? null,
		first_commission: first === null ? null : writeAppliedRate(first.commission),
	};

	function ratesAfter(): AppliedRates {
		// A programme that credits partners charges a sale only while it is credited.
		if (to === null) return noRates(zeroIn(conversion.currency));
		if (first?.partnershipId === to) return { commission: first.commission, fee };
		return { commission: commissionAt(record, conversion.event_type, ratedAtMs(conversion)), fee };
	}
}

/** Returns the time whose rates count: the shop's confirmation of a pixel's report, or the recording. */
function ratedAtMs({ confirmed_at_ms, created_at_ms }: Conversion): number {
	return confirmed_at_ms ?? created_at_ms;
}

/**
 * Returns the rate of the network fee. Conversions that earlier versions recorded do not have it. If they are charged,
 * it is the rate of the present fee. A sale that nobody brought was stored with rates of zero, and gets the rate that
 * the programme had, or the first known one.
 */
function feeRateOf(conversion: Conversion, partnershipId: number | null, record: RatesOnRecord): AppliedRate {
	const { fee_rate, rates, currency, event_type } = conversion;
	if (fee_rate !== null) return readAppliedRate(fee_rate, zeroIn(currency));
	const { commission, fee } = appliedRatesOf(conversion);
	const isUncharged = partnershipId === null && rates !== null && isNoRate(commission) && isNoRate(fee);
	return isUncharged ? feeAt(record, event_type, ratedAtMs(conversion)) : fee;
}

/** Returns the partnership that was credited first, with the commission that it got, or null if there was none. */
function firstCreditOf(
	conversion: Conversion,
	present: number | null,
): { partnershipId: number; commission: AppliedRate } | null {
	const { first_partnership_id: partnershipId, first_commission, currency } = conversion;
	if (partnershipId !== null && first_commission !== null)
		return { partnershipId, commission: readAppliedRate(first_commission, zeroIn(currency)) };
	return present === null
		? null
		: { partnershipId: present, commission: appliedRatesOf(conversion).commission };
}

/** Returns the step that changes a credit. If the partner stays, `priced` is null, and the amounts stay, too. */
export function creditStep(credit: Credit, priced: PricedCredit | null): Change & { credit: Credit } {
	return { move: "credit", change: priced ?? {}, credit };
}
