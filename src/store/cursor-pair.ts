// Where a list goes on: the sort value and the id of the last row that was looked at, as text for an address.

export interface CursorPair {
	/** What the list is sorted by; the id itself where that is all. */
	at: number;
	id: number;
}

export function writeCursor({ at, id }: CursorPair): string {
	return `${at}.${id}`;
}

/** Undefined for what no list of ours wrote: the list then begins at its beginning. */
export function readCursor(text: string | undefined): CursorPair | undefined {
	const match = /^(\d{1,15})\.(\d{1,15})$/.exec(text ?? "");
	return match === null ? undefined : { at: Number(match[1]), id: Number(match[2]) };
}
