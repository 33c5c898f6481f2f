// Which partitions a table by time needs. Pure: postgres-partitions reads those there are, and makes what is missing.

import { DAY_MS } from "../domain/time.ts";

/** From the first moment on, and before the second. */
export interface Range {
	fromMs: number;
	toMs: number;
}

/**
 * Rows go a whole partition at a time, so they stay for up to a thirteenth longer than they have to. More partitions
 * would make that less, but a list that does not know the time of its rows has to look into each of them.
 */
const PARTITIONS_A_RETENTION = 13;
/** Where things are kept for decades: no partition is to become as large as the table was. */
const LONGEST_WIDTH_DAYS = 90;

export function partitionWidthMs(retentionDays: number): number {
	const days = Math.ceil(retentionDays / PARTITIONS_A_RETENTION);
	return Math.min(days, LONGEST_WIDTH_DAYS) * DAY_MS;
}

/**
 * What is to be made so that every moment of the range has its partition: whole widths counted from 1970, cut where one
 * of another width is there already, because the retention was another then.
 */
export function missingRanges(present: readonly Range[], wanted: Range, widthMs: number): Range[] {
	const missing: Range[] = [];
	for (let atMs = wanted.fromMs; atMs < wanted.toMs; ) {
		const covering = present.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
		if (covering === undefined) missing.push(gapAround(present, atMs, widthMs));
		atMs = (covering ?? missing.at(-1))?.toMs ?? wanted.toMs;
	}
	return missing;
}

function gapAround(present: readonly Range[], atMs: number, widthMs: number): Range {
	const startMs = atMs - (atMs % widthMs);
	const ends = present.map(({ toMs }) => toMs).filter((toMs) => toMs <= atMs);
	const begins = present.map(({ fromMs }) => fromMs).filter((fromMs) => fromMs > atMs);
	return { fromMs: Math.max(startMs, ...ends), toMs: Math.min(startMs + widthMs, ...begins) };
}
