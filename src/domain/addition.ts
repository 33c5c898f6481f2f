// Entries that a module adds to a list of the core, such as links to a menu.

export interface Addition<Entry> {
	/** Name of the entry that the new ones follow, or null if they are the last ones so far. */
	after: string | null;
	entries: readonly Entry[];
}

/**
 * Returns the list with the additions, each directly after the entry that it names. It throws if there is no such entry,
 * because the lists are constants and one of them is wrong.
 */
export function withAdditions<Entry>(
	list: readonly Entry[],
	additions: readonly Addition<Entry>[],
	nameOf: (entry: Entry) => string,
): readonly Entry[] {
	const joined = [...list];
	for (const { after, entries } of additions) {
		const index = after === null ? joined.length : joined.findIndex((entry) => nameOf(entry) === after) + 1;
		if (index === 0 && after !== null)
			throw new Error(`entries are added after “${after}”, which is not in the list`);
		joined.splice(index, 0, ...entries);
	}
	return joined;
}
