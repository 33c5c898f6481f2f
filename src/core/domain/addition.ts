// Entries that a module adds to a list of the core, such as links to a menu.

export interface Addition<Entry> {
	/** Name of the entry that the new ones follow, or null if they are added at the end. */
	follows: string | null;
	entries: readonly Entry[];
}

/** Adds entries directly after the one with this name. */
export function after<Entry>(name: string, ...entries: readonly Entry[]): Addition<Entry> {
	return { follows: name, entries };
}

export function atEnd<Entry>(...entries: readonly Entry[]): Addition<Entry> {
	return { follows: null, entries };
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
	for (const { follows, entries } of additions) {
		const before =
			follows === null ? joined.length - 1 : joined.findIndex((entry) => nameOf(entry) === follows);
		if (follows !== null && before === -1)
			throw new Error(`entries follow “${follows}”, which is not in the list`);
		joined.splice(before + 1, 0, ...entries);
	}
	return joined;
}
