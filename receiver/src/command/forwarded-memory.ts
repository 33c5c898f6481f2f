// Which events were forwarded already: a stream that is taken up again may tell the last ones once more.

/** Far more than can come twice; a hundred bytes each. */
const mostRemembered = 10_000;

/** Says whether it is new, and remembers it. */
export function createForwardedMemory(): (conversionId: string, event: string) => boolean {
	const seen = new Set<string>();
	return (conversionId, event) => {
		const key = JSON.stringify([conversionId, event]);
		if (seen.has(key)) return false;
		seen.add(key);
		const [oldest] = seen;
		if (seen.size > mostRemembered && oldest !== undefined) seen.delete(oldest);
		return true;
	};
}
