// The calendar of Europe/Berlin: one hour before UTC, and two from the last Sunday of March to the last Sunday of October,
// each at 01:00 UTC. It is computed by this rule and not by the machine's time zones, which the service uses.

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Returns the time at which the clocks of a year change in a month, which counts from 0. */
export function clocksChangeMs(year: number, month: 2 | 9): number {
	const lastDay = new Date(Date.UTC(year, month, 31, 1));
	return lastDay.getTime() - lastDay.getUTCDay() * DAY_MS;
}

function offsetMs(atMs: number): number {
	const year = new Date(atMs).getUTCFullYear();
	const isSummer = atMs >= clocksChangeMs(year, 2) && atMs < clocksChangeMs(year, 9);
	return (isSummer ? 2 : 1) * HOUR_MS;
}

/** Returns the day in Berlin, such as "2026-03-29". */
export function dayOf(atMs: number): string {
	return new Date(atMs + offsetMs(atMs)).toISOString().slice(0, 10);
}

/** Returns the month in Berlin, such as "2026-03". */
export function monthOf(atMs: number): string {
	return dayOf(atMs).slice(0, 7);
}

/** Returns the first moment after a month in Berlin. The clocks never change at the end of a month. */
export function monthEndMs(month: string): number {
	const [year = 0, number = 0] = month.split("-").map(Number);
	const inUtcMs = Date.UTC(year, number, 1);
	return inUtcMs - offsetMs(inUtcMs);
}

export function monthAfter(month: string): string {
	return monthOf(monthEndMs(month));
}

/** Returns the first and the last day of a month. */
export function daysOf(month: string): { from: string; to: string } {
	return { from: `${month}-01`, to: dayOf(monthEndMs(month) - 1) };
}
