// Signs a shop's own request to the service, with the same scheme as callbacks (contract section 5).

import { digestSha256, formCanonical, makeNonce, signWith } from "./hmac.ts";
import { brandForm } from "./option-checks.ts";
import { type Secrets, splitSecrets } from "./secrets.ts";

export type RequestToSign = {
	/** HTTP method in capitals, as it is sent. */
	readonly method: string;
	/** Path and query string, exactly as in the request line, such as `/v1/conversions?limit=10`. */
	readonly path: string;
	/** The exact bytes of the body, or a string that is sent as UTF-8. Omit it if the request has no body. */
	readonly body?: Uint8Array | string | undefined;
	/**
	 * Signing secret, or several of which the first one signs. `signRequest` throws if it is undefined, and
	 * likewise for the key.
	 */
	readonly secret: Secrets;
	readonly apiKey: string | undefined;
	/** Brand in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** The shop's clock as a Date or milliseconds. Default: now. */
	readonly now?: Date | number | undefined;
	/**
	 * Nonce of 8 to 128 letters, digits, `-` or `_` that was never used before. Default: 32 random hex digits.
	 */
	readonly nonce?: string | undefined;
};

export type SignedRequest = { readonly headers: Record<string, string> };

/**
 * Signs one request. Every request needs its own signature, because the service accepts a nonce only once and
 * a timestamp only for 300 seconds.
 */
export async function signRequest(request: RequestToSign): Promise<SignedRequest> {
	const { method, path, body, apiKey = "", brand = "Service" } = request;
	const [secret = ""] = splitSecrets(request.secret);
	const nowMs = Number(request.now ?? Date.now());
	const nonce = request.nonce ?? (await makeNonce());
	refuseMistakes({ method, path, secret, apiKey, brand, nowMs, nonce });
	const bytes = readBytes(body);
	const timestamp = String(Math.floor(nowMs / 1000));
	const canonical = formCanonical({
		method,
		target: path,
		timestamp,
		nonce,
		bodySha256: await digestSha256(bytes),
	});
	return {
		headers: {
			Authorization: `Bearer ${apiKey}`,
			...(body === undefined ? {} : { "Content-Type": "application/json" }),
			[`X-${brand}-Timestamp`]: timestamp,
			[`X-${brand}-Nonce`]: nonce,
			[`X-${brand}-Signature`]: await signWith(secret, canonical),
		},
	};
}

type Checked = Pick<RequestToSign, "method" | "path"> & {
	readonly secret: string;
	readonly apiKey: string;
	readonly brand: string;
	readonly nowMs: number;
	readonly nonce: string;
};

// The checks find mistakes in the shop's own code. The service would refuse the request, too, but with a less
// helpful message. No message quotes a value, because it may be a secret in the wrong place.
const mistakes: ReadonlyArray<
	readonly [name: Exclude<keyof Checked, "nowMs">, form: RegExp, sentence: string]
> = [
	["method", /^[A-Z]+$/, "must be in capitals, as it goes on the wire: it is signed"],
	// White space, # and non-ASCII characters are never sent in a path. The HTTP client would send another path
	// than the signed one.
	["path", /^\/[!"$-~]*$/, "must be the path and query on the wire: it starts with / and is percent-encoded"],
	["secret", /./s, "is empty: give the programme's signing secret"],
	["apiKey", /^[!-~]+$/, "is empty or holds what no header may carry: give the key as it was shown"],
	["brand", brandForm, "must be letters, digits or hyphens, 31 at most: it is part of header names"],
	["nonce", /^[A-Za-z0-9_-]{8,128}$/, "must be 8 to 128 letters, digits, - or _"],
];

function refuseMistakes({ nowMs, ...values }: Checked): void {
	for (const [name, form, sentence] of mistakes) {
		const value = values[name];
		if (typeof value !== "string" || !form.test(value)) throw new TypeError(`${name} ${sentence}.`);
	}
	// The comparison is written so that NaN is refused.
	if (!(nowMs >= 0 && nowMs < Number.POSITIVE_INFINITY)) {
		throw new TypeError("now must be a Date or milliseconds.");
	}
}

function readBytes(body: Uint8Array | string | undefined): Uint8Array<ArrayBuffer> {
	if (body === undefined) return new Uint8Array();
	if (typeof body === "string") return new TextEncoder().encode(body);
	if (!ArrayBuffer.isView(body)) {
		throw new TypeError(
			"body must be the bytes or the string that is sent, not the object it was made from.",
		);
	}
	return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
}
