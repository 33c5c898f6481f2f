// How far a listener has come along the moves. On PostgreSQL a number is given before its transaction commits, so a
// later number can be seen first: what was passed over stays noted as a gap, and is looked for until every transaction
// that can hold it has ended. No clock is asked, for those of two processes may be minutes apart.

/** Numbers from `first` to `last`, both passed over. */
export interface Gap {
	first: number;
	last: number;
	/** The transaction that holds one is older than this one. Null until it was asked for. */
	heldBefore: number | null;
}

export interface EventPosition {
	/** The highest number seen. */
	high: number;
	/** In the order of their numbers. */
	gaps: readonly Gap[];
}

/**
 * More than the transactions that a few processes have under way at once, and those just rolled back beside them.
 * With more, a listener waits for the oldest. Each is a part of the query, of which SQLite takes 500.
 */
export const MAX_GAPS = 100;

/**
 * The position once the row `id` was seen, where every transaction below `oldest` had ended before the look; undefined
 * while there is no room for another gap.
 */
export function passRow(from: EventPosition, id: number, oldest: number): EventPosition | undefined {
	const { high, gaps } = dropEnded(from, id, oldest);
	const after =
		id <= high
			? { high, gaps: gaps.flatMap((gap) => splitGap(gap, id)) }
			: { high: id, gaps: id === high + 1 ? gaps : [...gaps, newGap(high + 1, id - 1)] };
	return after.gaps.length <= MAX_GAPS ? after : undefined;
}

/** Without the numbers up to `readTo` that nobody can fill any more: this look was the last for them. */
export function dropEnded({ high, gaps }: EventPosition, readTo: number, oldest: number): EventPosition {
	const open = gaps.map((gap) =>
		gap.heldBefore === null || gap.heldBefore > oldest
			? gap
			: { ...gap, first: Math.max(gap.first, readTo + 1) },
	);
	return { high, gaps: open.filter(({ first, last }) => first <= last) };
}

function splitGap(gap: Gap, id: number): Gap[] {
	if (id < gap.first || id > gap.last) return [gap];
	return [
		{ ...gap, last: id - 1 },
		{ ...gap, first: id + 1 },
	].filter(({ first, last }) => first <= last);
}

export function newGap(first: number, last: number): Gap {
	return { first, last, heldBefore: null };
}

export function hasUndatedGaps({ gaps }: EventPosition): boolean {
	return gaps.some(({ heldBefore }) => heldBefore === null);
}

/** `newest`: a transaction that began after all of the gaps were found. */
export function dateGaps({ high, gaps }: EventPosition, newest: number): EventPosition {
	return { high, gaps: gaps.map((gap) => ({ ...gap, heldBefore: gap.heldBefore ?? newest })) };
}

/** A date from the future is another database's, which was moved here: it says nothing about this one. */
export function undateGaps({ high, gaps }: EventPosition, next: number): EventPosition {
	const isOfAnother = ({ heldBefore }: Gap): boolean => heldBefore !== null && heldBefore > next;
	return { high, gaps: gaps.map((gap) => (isOfAnother(gap) ? { ...gap, heldBefore: null } : gap)) };
}

/** An earlier place with `count` gaps at most: whoever goes on there is told some events again, and misses none. */
export function stepBack({ high, gaps }: EventPosition, count: number): EventPosition {
	const tooMany = gaps[count];
	return tooMany === undefined ? { high, gaps } : { high: tooMany.first - 1, gaps: gaps.slice(0, count) };
}
