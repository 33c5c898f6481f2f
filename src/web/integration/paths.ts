// Where the integration pages of a programme are. One place, so that links, forms and routes agree.

export function integrationPath(programmeId: string): string {
	return `/programmes/${programmeId}/integration`;
}

export function deliveryPath(programmeId: string, deliveryId: string): string {
	return `/programmes/${programmeId}/deliveries/${deliveryId}`;
}

export function conversionPath(programmeId: string, conversionId: string): string {
	return `/programmes/${programmeId}/conversions/${conversionId}`;
}

/** A path with the parameters that have a value. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
	const set = Object.entries(query).filter(
		(entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
	);
	return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}
