// A request as it stands on the wire, before anybody tidied it up.

const ORIGIN = "http://localhost";

export interface WireRequest {
	method: string;
	/** Path and query as they stand on the request line. */
	target: string;
	headers: Headers;
	body: Buffer<ArrayBuffer>;
}

/** Undefined when no HTTP parser would take the request line. */
export function toRequest({ method, target, headers, body }: WireRequest): Request | undefined {
	if (!/^\/[\x21-\x7e]*$/.test(target) || target.includes("#") || !URL.canParse(ORIGIN + target))
		return undefined;
	const init = method === "GET" || method === "HEAD" ? {} : { body };
	return new Request(ORIGIN + target, { method, headers, ...init });
}
