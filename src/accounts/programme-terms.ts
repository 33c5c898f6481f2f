// The terms of a programme as people type them: each checked by itself, so that a form can show every mistake
// at its field at once.

import { MAX_NAME_LENGTH, parseName } from "../domain/display-name.ts";
import { type Fault, type Result, refuse, succeed } from "../domain/fault.ts";
import { parseRate } from "../domain/money.ts";
import type { Programme } from "../store/programmes.ts";

/** Ten years: longer is a typing error. */
const MAX_DAYS = 3_650;
/** How long a parked pixel conversion waits for the shop's postback. */
export const DEFAULT_PARKED_DAYS = 30;

export interface TermsInput {
	name: string;
	/** Percentages, up to four decimals. */
	commissionRate: string;
	feeRate: string;
	approvalDays: number;
	parksPixels: boolean;
	parkedDays?: number;
}

export interface Terms extends TermsInput {
	parkedDays: number;
}

/** All that is wrong, or what it all means. */
export type Checked<Value> = { ok: true; value: Value } | AllRefused;

/** `fault` is the first of them, for whoever shows one. */
interface AllRefused {
	ok: false;
	fault: Fault;
	faults: readonly [Fault, ...Fault[]];
}

export function parseTerms(input: TermsInput): Checked<Terms> {
	const name = parseProgrammeName(input.name);
	const commissionRate = parseRate(input.commissionRate, "commission");
	const feeRate = parseRate(input.feeRate, "fee");
	const approvalDays = parseDays(input.approvalDays, 0, "approvalDays");
	const parkedDays = parseDays(input.parkedDays ?? DEFAULT_PARKED_DAYS, 1, "parkedDays");
	if (name.ok && commissionRate.ok && feeRate.ok && approvalDays.ok && parkedDays.ok) {
		return succeed({
			name: name.value,
			commissionRate: commissionRate.value,
			feeRate: feeRate.value,
			approvalDays: approvalDays.value,
			parksPixels: input.parksPixels,
			parkedDays: parkedDays.value,
		});
	}
	return refuseAll(faultsOf(name, commissionRate, feeRate, approvalDays, parkedDays));
}

export function rowOfTerms(terms: Terms) {
	return {
		name: terms.name,
		commission_rate: terms.commissionRate,
		fee_rate: terms.feeRate,
		approval_days: terms.approvalDays,
		parks_pixels: terms.parksPixels ? 1 : 0,
		parked_days: terms.parkedDays,
	} as const;
}

export function termsOf(programme: Programme): Terms {
	return {
		name: programme.name,
		commissionRate: programme.commission_rate,
		feeRate: programme.fee_rate,
		approvalDays: programme.approval_days,
		parksPixels: programme.parks_pixels === 1,
		parkedDays: programme.parked_days,
	};
}

function parseProgrammeName(text: string): Result<string> {
	const name = parseName(text);
	if (name !== null) return succeed(name);
	return refuse(
		"invalid_name",
		`A programme's name has 1 to ${MAX_NAME_LENGTH} characters, without line breaks or others that cannot be seen.`,
		"name",
	);
}

function parseDays(days: number, least: number, field: "approvalDays" | "parkedDays"): Result<number> {
	if (Number.isInteger(days) && days >= least && days <= MAX_DAYS) return succeed(days);
	const what = field === "approvalDays" ? "The approval window is" : "A parked conversion waits";
	return refuse("invalid_days", `${what} a whole number of days from ${least} to ${MAX_DAYS}.`, field);
}

/** "7.5000" as people write it: 7.5. */
export function shortenRate(rate: string): string {
	return rate.replace(/\.?0+$/, (zeros) => (zeros.startsWith(".") || rate.includes(".") ? "" : zeros));
}

export function faultsOf(...results: readonly Result<unknown>[]): Fault[] {
	return results.flatMap((result) => (result.ok ? [] : [result.fault]));
}

export function refuseAll(faults: readonly Fault[]): AllRefused {
	const [first, ...others] = faults;
	if (first === undefined) throw new Error("a refusal needs a fault");
	return { ok: false, fault: first, faults: [first, ...others] };
}
