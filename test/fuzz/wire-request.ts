// A request as it is sent, before any normalization.

const ORIGIN = "http://localhost";

export interface WireRequest {
	method: string;
	/** Path and query exactly as in the request line. */
	target: string;
	headers: Headers;
	body: Buffer<ArrayBuffer>;
}

/** Creates a Request object. Returns undefined if no HTTP parser accepts the request line. */
export function toRequest({ method, target, headers, body }: WireRequest): Request | undefined {
	if (!/^\/[\x21-\x7e]*$/.test(target) || target.includes("#") || !URL.canParse(ORIGIN + target))
		return undefined;
	const init = method === "GET" || method === "HEAD" ? {} : { body };
	return new Request(ORIGIN + target, { method, headers, ...init });
}
