// Signs requests like a shop, from section 5 of the contract alone. This file uses none of the product's code, so that
// a mistake in our signing code cannot confirm itself.

import { createHash, createHmac, randomBytes } from "node:crypto";

export interface Credentials {
	key: string;
	secret: string;
}

export interface CallOptions {
	/** The body of the request. A text is sent unchanged, and an object is sent as JSON. */
	body?: unknown;
	nowMs: number;
	nonce?: string;
	brand?: string;
	/** Headers to change. A header whose value is undefined is removed. */
	headers?: Readonly<Record<string, string | undefined>>;
}

export function signedRequest(
	method: string,
	target: string,
	{ key, secret }: Credentials,
	options: CallOptions,
): Request {
	const { body, nowMs, nonce = randomBytes(16).toString("hex"), brand = "Service" } = options;
	const bytes = bodyBytes(body);
	const timestamp = String(Math.floor(nowMs / 1000));
	const digest = createHash("sha256").update(bytes).digest("hex");
	const canonical = [method, target, timestamp, nonce, digest].join("\n");
	const headers = new Headers({
		authorization: `Bearer ${key}`,
		"content-type": "application/json",
		[`x-${brand}-timestamp`]: timestamp,
		[`x-${brand}-nonce`]: nonce,
		[`x-${brand}-signature`]: createHmac("sha256", secret).update(canonical).digest("hex"),
	});
	for (const [name, value] of Object.entries(options.headers ?? {})) {
		if (value === undefined) headers.delete(name);
		else headers.set(name, value);
	}
	const init = method === "GET" || method === "HEAD" ? {} : { body: bytes };
	return new Request(`http://localhost${target}`, { method, headers, ...init });
}

function bodyBytes(body: unknown): Buffer<ArrayBuffer> {
	if (body === undefined) return Buffer.alloc(0);
	if (body instanceof Uint8Array) return Buffer.from(body);
	return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
