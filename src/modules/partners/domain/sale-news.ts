// News about sales, which the people of the credited partner are mailed about. A move of a conversion is news, except for
// moves that do not concern the partner.

import type { Move, Source } from "#core/domain/conversion.ts";
import type { SaleMails } from "#core/domain/notice.ts";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { dayEndMs, dayIn } from "#core/domain/zone-day.ts";

/** Kinds of news, in the order in which mails list them. */
export const SALE_NEWS = [
	"recorded",
	"credited",
	"uncredited",
	"approved",
	"rejected",
	"reversed",
	"refunded",
] as const;
export type SaleNewsKind = (typeof SALE_NEWS)[number];

const NEWS_OF: Readonly<Record<Move, SaleNewsKind | null>> = {
	record: "recorded",
	confirm: "recorded",
	credit: "credited",
	approve: "approved",
	reject: "rejected",
	reverse: "reversed",
	refund: "refunded",
	// A parked sale is credited to nobody until the shop's server confirms it.
	park: null,
	expire: null,
	// An imported conversion was decided in other software, and is no news.
	import: null,
};

/**
 * Returns the kind of news that a move is for the credited partner, or null if it is none. A sale that a pixel reported is credited when the
 * shop's server confirms it, so the pixel's report is no news.
 */
export function newsOfMove(move: Move, source: Source): SaleNewsKind | null {
	return move === "record" && source === "pixel" ? null : NEWS_OF[move];
}

/**
 * Shortest time between two mails to a person who wants a mail for each sale. Everything that happens in between is one
 * mail.
 */
export const EACH_SALE_INTERVAL_MS = 10 * MINUTE_MS;
/** Age from which a move is no news any more, for example because the installation had no mail server until now. */
export const NEWS_MAX_AGE_MS = 2 * DAY_MS;
/** Time after the end of a day at which its summary is sent. By then all moves of the day are stored. */
const AFTER_MIDNIGHT_MS = 10 * MINUTE_MS;

/** Returns the day of the news in the network's time zone, and the time from which it is mailed. */
export function dueOf(
	atMs: number,
	mails: Exclude<SaleMails, "none">,
	zone: string,
): { day: string; dueAtMs: number } {
	const day = dayIn(atMs, zone);
	return { day, dueAtMs: mails === "each" ? atMs : dayEndMs(day, zone) + AFTER_MIDNIGHT_MS };
}
