// Rates of commission and network fee. A rate is a percentage of the basket value plus a fixed amount, so that a lead
// without a basket can earn something. A programme has a general rate and may have other rates for some event types. A
// partnership may have a commission of its own, in general and for some event types.

import { EVENT_TYPES, type EventType } from "./conversion.ts";
import {
	addAmounts,
	decimalCount,
	formatMinor,
	isZero,
	minorUnits,
	parseRate,
	shareOf,
	shortenRate,
} from "./money.ts";

export interface Rate {
	percent: string;
	fixed: string;
}

export interface Rates {
	commission: Rate;
	fee: Rate;
}

export interface ProgrammeRates extends Rates {
	byType: Readonly<Partial<Record<EventType, Rates>>>;
}

/** Commission of a partnership. The general commission is null if that of the programme applies. */
export interface PartnershipRates {
	commission: Rate | null;
	byType: Readonly<Partial<Record<EventType, Rate>>>;
}

/** Returns `basket × percent + fixed`, rounded once, half up, to the digits of the basket's currency. */
export function amountAt(basket: string, { percent, fixed }: Rate): string {
	const share = shareOf(basket, percent);
	return isZero(fixed) ? share : addAmounts(share, fixed);
}

/**
 * Original amount and original basket value (never 0) of an imported conversion. Other software computed the amount
 * at a rate that is unknown here. If a part of the basket is refunded, the amount shrinks in proportion.
 * `importedAmount` turns an amount without a basket into a fixed amount.
 */
export interface ImportedAmount {
	amount: string;
	basketValue: string;
}

/** Returns the rate of an imported amount, from which the amount is computed again if the basket changes. */
export function importedAmount(amount: string, basketValue: string): AppliedRate {
	return isZero(basketValue) ? { percent: "0.0000", fixed: amount } : { amount, basketValue };
}

export type AppliedRate = Rate | ImportedAmount;

export interface AppliedRates {
	commission: AppliedRate;
	fee: AppliedRate;
}

/** Returns the amount for the basket value that is left after refunds. */
export function amountLeft(basket: string, rate: AppliedRate): string {
	if ("percent" in rate) return amountAt(basket, rate);
	const whole = minorUnits(rate.basketValue);
	const scaled = minorUnits(rate.amount) * minorUnits(basket);
	// No value is negative, so adding a half and truncating rounds half up.
	return formatMinor((2n * scaled + whole) / (2n * whole), decimalCount(rate.amount));
}

/** Returns the rates of a conversion that is credited to the partnership, or to nobody if it is null. */
export function ratesFor(
	programme: ProgrammeRates,
	partnership: PartnershipRates | null,
	eventType: EventType,
): Rates {
	return {
		commission: findCommission(programme, partnership, eventType).rate,
		fee: feeFor(programme, eventType),
	};
}

export function feeFor(programme: ProgrammeRates, eventType: EventType): Rate {
	return (programme.byType[eventType] ?? programme).fee;
}

/** Commissions of a programme. Partners may know no other rates of the programme. */
export interface ProgrammeCommissions {
	commission: Rate;
	byType: Readonly<Partial<Record<EventType, Pick<Rates, "commission">>>>;
}

/**
 * Origin of a commission: the partnership or the programme, and either the rate for the event type or the general
 * rate.
 */
export type CommissionSource = "partnership's type" | "programme's type" | "partnership" | "programme";

/**
 * Returns the commission that applies, and its origin. A partnership's general commission replaces the programme's
 * general commission. A commission for an event type takes precedence over both, so a partner with its own percentage
 * still gets the programme's fixed amount for a lead. If `eventType` is null, the result applies to the event types
 * that neither side names.
 */
export function findCommission(
	programme: ProgrammeCommissions,
	partnership: PartnershipRates | null,
	eventType: EventType | null,
): { rate: Rate; source: CommissionSource } {
	const agreed = eventType === null ? undefined : partnership?.byType[eventType];
	if (agreed !== undefined) return { rate: agreed, source: "partnership's type" };
	const usual = eventType === null ? undefined : programme.byType[eventType]?.commission;
	if (usual !== undefined) return { rate: usual, source: "programme's type" };
	const general = partnership?.commission ?? null;
	return general === null
		? { rate: programme.commission, source: "programme" }
		: { rate: general, source: "partnership" };
}

/** General rate, and the rates of event types that differ from it. */
export interface EffectiveRates {
	general: Rate;
	byType: Readonly<Partial<Record<EventType, Rate>>>;
}

/** Returns the commissions that apply to a partnership, or to a programme if the partnership is null. */
export function effectiveCommissions(
	programme: ProgrammeCommissions,
	partnership: PartnershipRates | null,
): EffectiveRates {
	return keepDifferent(
		findCommission(programme, partnership, null).rate,
		(eventType) => findCommission(programme, partnership, eventType).rate,
	);
}

export function effectiveFees(programme: ProgrammeRates): EffectiveRates {
	return keepDifferent(programme.fee, (eventType) => feeFor(programme, eventType));
}

function keepDifferent(general: Rate, rateOf: (eventType: EventType) => Rate): EffectiveRates {
	const different = EVENT_TYPES.flatMap((eventType) => {
		const rate = rateOf(eventType);
		return storedRate(rate) === storedRate(general) ? [] : [[eventType, rate] as const];
	});
	return { general, byType: Object.fromEntries(different) };
}

/** Returns the rates of a conversion that nobody is credited with, in a programme that credits partners. */
export function noRates(zero: string): Rates {
	const nothing = { percent: "0.0000", fixed: zero };
	return { commission: nothing, fee: nothing };
}

/** Writes a general rate of a programme or partnership as it is stored, such as "7.5000" or "0.0000+5.00". */
export function storedRate({ percent, fixed }: Rate): string {
	return isZero(fixed) ? percent : `${percent}+${fixed}`;
}

/** Writes a rate as short text, such as "7.5" or "0+5.00". */
export function writeRate({ percent, fixed }: Rate): string {
	return storedRate({ percent: shortenRate(percent), fixed });
}

export function isNoRate(rate: AppliedRate): boolean {
	return "percent" in rate ? isZero(rate.percent) && isZero(rate.fixed) : isZero(rate.amount);
}

/** Writes the rates of a conversion as they are stored with it, such as "7.5 2", or "9.74/129.90 2.60/129.90". */
export function writeRates({ commission, fee }: AppliedRates): string {
	return `${writeAppliedRate(commission)} ${writeAppliedRate(fee)}`;
}

export function writeAppliedRate(rate: AppliedRate): string {
	return "percent" in rate ? writeRate(rate) : `${rate.amount}/${rate.basketValue}`;
}

/** Parses a stored rate. `zero` is the amount 0 of the currency, for a rate without a fixed amount. */
export function readRate(text: string, zero: string): Rate {
	const [percent = "", fixed = zero] = text.split("+");
	const parsed = parseRate(percent, "rate");
	if (!parsed.ok) throw new Error(`a stored rate is not readable: ${text}`);
	return { percent: parsed.value, fixed };
}

export function readRates(text: string, zero: string): Rates {
	const [commission = "", fee = ""] = text.split(" ");
	return { commission: readRate(commission, zero), fee: readRate(fee, zero) };
}

export function readAppliedRates(text: string, zero: string): AppliedRates {
	const [commission = "", fee = ""] = text.split(" ");
	return { commission: readAppliedRate(commission, zero), fee: readAppliedRate(fee, zero) };
}

export function readAppliedRate(text: string, zero: string): AppliedRate {
	const [amount = "", basketValue] = text.split("/");
	return basketValue === undefined ? readRate(text, zero) : { amount, basketValue };
}

/**
 * Formats rates by event type, such as "LEAD=0+5.00 0+1.00;SIGNUP=0+2.00 0". The text is empty if no event type has a
 * rate.
 */
export function writeByType<Value>(
	byType: Readonly<Partial<Record<EventType, Value>>>,
	write: (value: Value) => string,
): string {
	return EVENT_TYPES.flatMap((type) => {
		const value = byType[type];
		return value === undefined ? [] : [`${type}=${write(value)}`];
	}).join(";");
}

export function readByType<Value>(
	text: string,
	read: (text: string) => Value,
): Partial<Record<EventType, Value>> {
	const byType: Partial<Record<EventType, Value>> = {};
	for (const part of text.split(";")) {
		const [type, value = ""] = part.split("=");
		const eventType = EVENT_TYPES.find((one) => one === type);
		if (eventType !== undefined) byType[eventType] = read(value);
	}
	return byType;
}
