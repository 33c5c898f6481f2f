// Lengths of time in milliseconds, and how a moment is written for readers whose zone is not known.

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** "2026-03-01T12:00:00.000Z": ISO 8601 in UTC with milliseconds, for programs. */
export function isoTime(atMs: number): string {
	return new Date(atMs).toISOString();
}

/** "2026-03-01 12:00 UTC": for mails and the sentences of the API. */
export function utcMinute(atMs: number): string {
	return `${isoTime(atMs).slice(0, 16).replace("T", " ")} UTC`;
}

/** "2026-03-01". */
export function utcDay(atMs: number): string {
	return isoTime(atMs).slice(0, 10);
}
