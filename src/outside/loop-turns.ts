// Spreads work over turns of the event loop, so that other work has its turn in between.

/** Returns a function that runs its argument at once, or in a later turn if `maxPerTurn` ran in this one. */
export function createTurns(maxPerTurn: number): (begin: () => void) => void {
	const waiting: (() => void)[] = [];
	let begun = 0;

	function startTurn(): void {
		begun = 0;
		for (const begin of waiting.splice(0, maxPerTurn)) run(begin);
	}

	function run(begin: () => void): void {
		if (begun === 0) setImmediate(startTurn);
		begun += 1;
		begin();
	}

	return (begin) => {
		if (begun < maxPerTurn) run(begin);
		else waiting.push(begin);
	};
}
