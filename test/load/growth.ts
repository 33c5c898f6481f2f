// Whether a process grows under steady load: the median of the last third of its sizes against the one before.

export interface Growth {
	beforeBytes: number;
	lastBytes: number;
	mayGrowBytes: number;
	isGrowing: boolean;
}

/** The first third is left out: compiled code, caches and prepared statements find their size in it. */
export function judgeGrowth(sizes: readonly number[], mayGrowBytes: number): Growth {
	const third = Math.floor(sizes.length / 3);
	if (third === 0) throw new RangeError(`${sizes.length} sizes are too few to tell whether it grows`);
	const beforeBytes = median(sizes.slice(third, 2 * third));
	const lastBytes = median(sizes.slice(2 * third));
	return { beforeBytes, lastBytes, mayGrowBytes, isGrowing: lastBytes - beforeBytes > mayGrowBytes };
}

function median(values: readonly number[]): number {
	const sorted = values.toSorted((one, other) => one - other);
	return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
