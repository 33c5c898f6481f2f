// How far a listener has come along the moves. On PostgreSQL a number is given before its transaction commits, so a
// later number can be seen first: what was passed over stays noted as a gap, and is looked for until its
// transaction must have ended one way or the other.

/** Numbers from `first` to `last`, both passed over. */
export interface Gap {
	first: number;
	last: number;
	/** They were given before this moment. */
	beforeMs: number;
}

export interface EventPosition {
	/** The highest number seen. */
	high: number;
	gaps: readonly Gap[];
}

/** A statement and an idle transaction end after 15 seconds (store/postgres.ts); a move is followed by a handful. */
export const GAP_LAPSES_AFTER_MS = 60_000;
/** As many transactions as a few processes have under way at once. With more, a listener waits for the oldest. */
export const MAX_GAPS = 32;

/** The position once the row `id`, made at `atMs`, was seen; undefined while there is no room for another gap. */
export function passRow(
	{ high, gaps }: EventPosition,
	id: number,
	atMs: number,
	nowMs: number,
): EventPosition | undefined {
	if (id > high) {
		const isNext = id === high + 1;
		if (!isNext && gaps.length >= MAX_GAPS) return undefined;
		// Numbers are given in order, so a gap is older than the row behind it.
		const gap = { first: high + 1, last: id - 1, beforeMs: Math.min(atMs, nowMs) };
		return { high: id, gaps: isNext ? gaps : [...gaps, gap] };
	}
	return { high, gaps: gaps.flatMap((gap) => splitGap(gap, id)) };
}

function splitGap(gap: Gap, id: number): Gap[] {
	if (id < gap.first || id > gap.last) return [gap];
	return [
		{ ...gap, last: id - 1 },
		{ ...gap, first: id + 1 },
	].filter(({ first, last }) => first <= last);
}

export function dropLapsedGaps(position: EventPosition, nowMs: number): EventPosition {
	const gaps = position.gaps.filter(({ beforeMs }) => nowMs - beforeMs < GAP_LAPSES_AFTER_MS);
	return gaps.length === position.gaps.length ? position : { ...position, gaps };
}
