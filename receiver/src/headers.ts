// Reads one header from any of the forms in which servers pass headers.

/**
 * A web `Headers` object. The type describes only the method that is used, so that it needs neither the DOM's
 * nor Node's types.
 */
export type WebHeaders = { get(name: string): string | null };

/** Headers as Node's `http`, Express, Fastify or a serverless event pass them, in any letter case. */
export type RecordHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type PostbackHeaders = WebHeaders | RecordHeaders;

/**
 * Returns the header's value, or undefined if it is missing or empty. A repeated header is joined into one
 * value, as `Headers` and Node do. Choosing one of the copies would be dangerous, because another layer may
 * choose the other one.
 */
export function readHeader(headers: PostbackHeaders, name: string): string | undefined {
	const wanted = name.toLowerCase();
	const value = hasGetter(headers) ? headers.get(wanted) : joinValues(headers, wanted);
	return typeof value === "string" && value !== "" ? value : undefined;
}

// The object is recognized by its method and not by its class, because it may come from a polyfill or another
// realm.
function hasGetter(headers: PostbackHeaders): headers is WebHeaders {
	return typeof headers.get === "function";
}

function joinValues(headers: RecordHeaders, wanted: string): string {
	return Object.entries(headers)
		.filter(([name]) => name.toLowerCase() === wanted)
		.flatMap(([, value]) => value ?? [])
		.join(", ");
}
