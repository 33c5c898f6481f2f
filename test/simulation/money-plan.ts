// Draws the part of a run's plan that is about money. A run with money starts shortly before the end of a month, so
// that the month's statements are issued while there are faults. The next month ends after the faults have stopped.

import { DAY_MS } from "#core/domain/time.ts";
import type { SeededRandom } from "../support/seeded-random.ts";

export interface MoneyPlan {
	startMs: number;
	/** Months whose statements are issued, with the first moment after each. */
	months: readonly { month: string; endMs: number }[];
	timeZone: string;
	/** Minimum payouts by currency. */
	minimums: ReadonlyMap<string, string>;
}

/**
 * First month of a run. Depending on it, the statements of the two months are numbered in the same year or in two
 * years.
 */
const FIRST_MONTHS = ["2026-01", "2026-11"] as const;
const TIME_ZONES = ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"] as const;
const MINIMUMS = [
	["EUR", "9000.00"],
	["JPY", "90000"],
	["BHD", "900.000"],
] as const;

export function drawMoneyPlan(random: SeededRandom, days: number): MoneyPlan {
	const timeZone = random.pick(TIME_ZONES);
	const first = Temporal.PlainYearMonth.from(random.pick(FIRST_MONTHS));
	const months = [first, first.add({ months: 1 })].map((month) => ({
		month: month.toString(),
		endMs: month.add({ months: 1 }).toPlainDate({ day: 1 }).toZonedDateTime(timeZone).epochMilliseconds,
	}));
	const daysBefore = days * (0.3 + 0.4 * random.fraction());
	return {
		startMs: (months[0]?.endMs ?? 0) - Math.round(daysBefore * DAY_MS),
		months,
		timeZone,
		minimums: new Map(MINIMUMS.filter(() => random.chance(0.5))),
	};
}
