// Reads one header from whatever form the shop's server hands its headers over in.

/** A web `Headers`, described by the one method used: the type needs neither the DOM's nor Node's. */
export type WebHeaders = { get(name: string): string | null };

/** Headers as Node's `http`, Express, Fastify or a serverless event carry them, in any letter case. */
export type RecordHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type PostbackHeaders = WebHeaders | RecordHeaders;

/**
 * The header's value, or undefined when it is absent or empty. A header sent twice reads as one joined
 * value, as `Headers` and Node read it: choosing either copy could differ from what another layer chose.
 */
export function readHeader(headers: PostbackHeaders, name: string): string | undefined {
	const wanted = name.toLowerCase();
	const value = hasGetter(headers) ? headers.get(wanted) : joinValues(headers, wanted);
	return typeof value === "string" && value !== "" ? value : undefined;
}

// Asks for the method and not for the class: a polyfill's or another realm's Headers is as good.
function hasGetter(headers: PostbackHeaders): headers is WebHeaders {
	return typeof headers.get === "function";
}

function joinValues(headers: RecordHeaders, wanted: string): string {
	return Object.entries(headers)
		.filter(([name]) => name.toLowerCase() === wanted)
		.flatMap(([, value]) => value ?? [])
		.join(", ");
}
