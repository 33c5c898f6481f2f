// Properties of the rates that belong to a sale, compared with fractions of big integers.

import { deepEqual } from "node:assert/strict";
import fc from "fast-check";
import { appliedRatesOf } from "#core/conversions/applied-rates.ts";
import { formatMinor } from "#core/domain/money.ts";
import { amountLeft, type ProgrammeRates, type Rate, writeRates } from "#core/domain/rate.ts";
import type { RateHistory } from "#core/domain/rate-history.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { priceLaterCredit } from "#modules/partners/use-cases/later-credit.ts";
import { newConversion } from "../support/rows.ts";
import { type FuzzProperty, pureProperty } from "./fuzz-property.ts";

/** Currencies with 2, 0 and 3 decimals. */
const CURRENCIES = [
	{ currency: "EUR", digits: 2 },
	{ currency: "JPY", digits: 0 },
	{ currency: "KWD", digits: 3 },
] as const;
/** 100 percent in units of the fourth decimal. */
const WHOLE = 1_000_000n;
const ANY_UNITS = fc.bigInt({ min: 0n, max: WHOLE });
const ANY_COINS = fc.bigInt({ min: 0n, max: 10n ** 12n });
const ANY_TIME = fc.integer({ min: 1, max: 1_000 });
/** A percentage with a fixed amount. */
const ANY_RATE = fc.record({ units: ANY_UNITS, fixed: fc.oneof(fc.constant(0n), ANY_COINS) });
type Units = { units: bigint; fixed: bigint };

const PARTNERS = 3;

/** Rates with the times at which they began, the oldest first. The first ones began before everything. */
function historyOf<Value>(value: fc.Arbitrary<Value>) {
	return fc.tuple(value, fc.array(fc.tuple(ANY_TIME, value), { maxLength: 3 })).map(([first, later]) => {
		const byTime = new Map<number, Value>([[0, first], ...later]);
		return [...byTime].toSorted(([a], [b]) => a - b).map(([fromMs, rates]) => ({ fromMs, rates }));
	});
}

const SALE = fc.record({
	money: fc.constantFrom(...CURRENCIES),
	basket: ANY_COINS,
	ratedAtMs: ANY_TIME,
	isConfirmed: fc.boolean(),
	programme: historyOf(fc.record({ commission: ANY_RATE, fee: ANY_RATE })),
	partners: fc.array(
		fc.record({ createdAtMs: ANY_TIME, history: historyOf(fc.option(ANY_RATE, { nil: null })) }),
		{ minLength: PARTNERS, maxLength: PARTNERS },
	),
	first: fc.option(fc.integer({ min: 0, max: PARTNERS - 1 }), { nil: null }),
	/** The recorded commission. It may differ from the history, because a process may record with rates of a second ago. */
	recorded: ANY_RATE,
	imported: fc.option(fc.record({ commission: ANY_COINS, fee: ANY_COINS }), { nil: null }),
	isOld: fc.boolean(),
	walk: fc.array(
		fc.oneof(
			fc.record({ to: fc.option(fc.integer({ min: 0, max: PARTNERS - 1 }), { nil: null }) }),
			fc.record({ leftPercent: fc.integer({ min: 1, max: 99 }) }),
		),
		{ minLength: 1, maxLength: 8 },
	),
});

/** Returns the value that applied at a time, or the first one. */
function at<Value>(history: readonly { fromMs: number; rates: Value }[], atMs: number): Value {
	const [first] = history;
	if (first === undefined) throw new Error("a history is empty");
	return (history.findLast(({ fromMs }) => fromMs <= atMs) ?? first).rates;
}

function roundHalfUp(numerator: bigint, denominator: bigint): bigint {
	return (2n * numerator + denominator) / (2n * denominator);
}

const WALKS = pureProperty(
	"whatever changes of the partner and refunds a sale sees, its amounts follow from the fee that was recorded and from the commission that the partner had then",
	[
		"nobody first",
		"back with the first partner",
		"a later partner",
		"imported",
		"recorded by an earlier version",
	],
	(meet) =>
		fc.property(SALE, (sale) => {
			const { money, partners, first, imported, walk } = sale;
			const write = (coins: bigint) => formatMinor(coins, money.digits);
			const rateOf = ({ units, fixed }: Units): Rate => ({
				percent: formatMinor(units, 4),
				fixed: write(fixed),
			});
			const ratedFee = at(sale.programme, sale.ratedAtMs).fee;
			if (imported !== null) meet("imported");
			if (first === null) meet("nobody first");
			if (sale.isOld) meet("recorded by an earlier version");

			/** Returns the amounts that a partner's sale must have with this basket. */
			function due(partner: number | null, basket: bigint): [commission: bigint, fee: bigint] {
				if (partner === null) return [0n, 0n];
				const share = ({ units, fixed }: Units) => roundHalfUp(basket * units, WHOLE) + fixed;
				const part = (whole: bigint) =>
					sale.basket === 0n ? whole : roundHalfUp(whole * basket, sale.basket);
				const fee = imported === null ? share(ratedFee) : part(imported.fee);
				if (partner === first)
					return [imported === null ? share(sale.recorded) : part(imported.commission), fee];
				const { createdAtMs, history } = partners[partner] ?? { createdAtMs: 0, history: [] };
				const atMs = Math.max(sale.ratedAtMs, createdAtMs);
				return [share(at(history, atMs) ?? at(sale.programme, atMs).commission), fee];
			}

			let basket = sale.basket;
			let present = first;
			const [commission, fee] = imported === null ? due(first, basket) : [imported.commission, imported.fee];
			const recorded = {
				commission: rateOf(sale.recorded),
				fee: rateOf(ratedFee),
			};
			const nothing = { commission: rateOf({ units: 0n, fixed: 0n }), fee: rateOf({ units: 0n, fixed: 0n }) };
			let row: Conversion = {
				...newConversion(1, { currency: money.currency, basket_value: write(basket) }),
				...{ id: 1, commission: write(commission), network_fee: write(fee) },
				created_at_ms: sale.isConfirmed ? 0 : sale.ratedAtMs,
				confirmed_at_ms: sale.isConfirmed ? sale.ratedAtMs : null,
				rates: imported !== null ? null : writeRates(first === null ? nothing : recorded),
				fee_rate: sale.isOld || imported !== null ? null : (writeRates(recorded).split(" ")[1] ?? null),
			};
			const programme: RateHistory<ProgrammeRates> = sale.programme.map(({ fromMs, rates }) => ({
				fromMs,
				rates: { commission: rateOf(rates.commission), fee: rateOf(rates.fee), byType: {} },
			}));
			for (const step of walk) {
				if ("to" in step) {
					const to = step.to === null ? undefined : partners[step.to];
					const partnership = to && {
						createdAtMs: to.createdAtMs,
						history: to.history.map(({ fromMs, rates }) => ({
							fromMs,
							rates: { commission: rates && rateOf(rates), byType: {} },
						})),
					};
					const change = {
						from: present === null ? null : present + 1,
						to: step.to === null ? null : step.to + 1,
					};
					// A change to the same partner never comes here.
					if (change.from === change.to) continue;
					row = { ...row, ...priceLaterCredit(row, change, { programme, partnership: partnership ?? null }) };
					present = step.to;
					meet(present === first && present !== null ? "back with the first partner" : "a later partner");
				} else {
					const left = (basket * BigInt(step.leftPercent)) / 100n;
					if (left === 0n) continue;
					const rates = appliedRatesOf(row);
					const value = write(left);
					const amounts = {
						commission: amountLeft(value, rates.commission),
						network_fee: amountLeft(value, rates.fee),
					};
					row = { ...row, ...amounts, rates: writeRates(rates), basket_value: value };
					basket = left;
					// A refund of an imported sale that nobody brought keeps the imported amounts in proportion.
					if (present === null && imported !== null) return;
				}
				deepEqual([row.commission, row.network_fee], due(present, basket).map(write), JSON.stringify(step));
			}
		}),
);

export const RATE_PROPERTIES: readonly FuzzProperty[] = [WALKS];
