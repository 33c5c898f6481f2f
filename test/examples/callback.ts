// Makes valid and invalid callbacks by hand, and sends them to a receiver over a plain socket. They are
// signed with node:crypto alone, and the shared vectors check this code itself.

import { createHash, createHmac, randomBytes } from "node:crypto";
import { request } from "node:http";

/** Header names with their values. A list of values is sent as several headers. */
type HeaderValues = Readonly<Record<string, string | readonly string[]>>;

export interface Callback {
	method: string;
	target: string;
	headers: HeaderValues;
	body: Buffer;
	/** True if the body is sent in chunks, as a proxy may do. Otherwise it is sent with its length. */
	isChunked?: boolean;
}

export interface CallbackOptions {
	secret: string;
	brand?: string;
	target?: string;
	body?: Buffer | string;
	timestamp?: string;
	nonce?: string;
	/** Method in the signed text. The request is always a POST. */
	signedMethod?: string;
}

export interface Answered {
	status: number;
	text: string;
}

/** Time after which the receiver counts as hanging. No answer takes this long on the slowest machine. */
const GIVE_UP_AFTER_MS = 20_000;

let made = 0;

/** Returns the 14 fields of a conversion that no other call has used. */
export function makeEvent(more: object = {}): Record<string, unknown> {
	made++;
	return {
		event: "conversion.approved",
		conversionId: `cnv_${randomBytes(6).toString("hex")}${made}`,
		orderId: `A-${made}`,
		programId: "prg_01HX3Y0001",
		status: "APPROVED",
		eventType: "SALE",
		basketValue: "129.90",
		commission: "10.39",
		networkFee: "2.60",
		currency: "EUR",
		reason: null,
		test: false,
		occurredAt: "2025-12-31T23:58:41.120Z",
		sentAt: "2026-01-01T00:00:00.000Z",
		...more,
	};
}

export function makeCallback(options: CallbackOptions): Callback {
	const { secret, brand = "Service", target = "/postback?shop=1", signedMethod = "POST" } = options;
	const body = Buffer.from(options.body ?? JSON.stringify(makeEvent()));
	const timestamp = options.timestamp ?? secondsFromNow(0);
	const nonce = options.nonce ?? randomBytes(16).toString("hex");
	const headers = {
		"Content-Type": "application/json",
		"User-Agent": "service-postback/1",
		[`X-${brand}-Event`]: eventNameOf(body),
		[`X-${brand}-Timestamp`]: timestamp,
		[`X-${brand}-Nonce`]: nonce,
		[`X-${brand}-Signature`]: sign(secret, [signedMethod, target, timestamp, nonce, sha256(body)]),
	};
	return { method: "POST", target, headers, body };
}

export function withHeader(callback: Callback, name: string, value: string | readonly string[]): Callback {
	return { ...callback, headers: { ...callback.headers, [`X-Service-${name}`]: value } };
}

export function withoutHeader(callback: Callback, name: string): Callback {
	const others = Object.entries(callback.headers).filter(([other]) => other !== `X-Service-${name}`);
	return { ...callback, headers: Object.fromEntries(others) };
}

export function sign(secret: string, parts: readonly string[]): string {
	// Node reads header bytes as Latin-1, so encoding the text as Latin-1 restores the original bytes.
	return createHmac("sha256", secret).update(parts.join("\n"), "latin1").digest("hex");
}

export function sha256(bytes: Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}

export function secondsFromNow(seconds: number): string {
	return String(Math.floor(Date.now() / 1000) + seconds);
}

/** Returns a header's UTF-8 bytes in the form that Node needs, which sends each character as one byte. */
export function asHeader(text: string): string {
	return Buffer.from(text, "utf8").toString("latin1");
}

/**
 * Sends the callback. Resolves to the answer, or to undefined if the receiver closed the connection without
 * one.
 */
export function send(
	port: number,
	{ method, target, headers, body, isChunked = false }: Callback,
): Promise<Answered | undefined> {
	return new Promise((resolve, reject) => {
		const framing = isChunked
			? { "Transfer-Encoding": "chunked" }
			: { "Content-Length": String(body.length) };
		const sent = { ...headers, ...framing, Connection: "close" } as Record<string, string | string[]>;
		const outgoing = request(
			{ host: "127.0.0.1", port, method, path: target, agent: false, headers: sent },
			(answer) => {
				let text = "";
				answer.setEncoding("utf8").on("data", (chunk: string) => {
					text += chunk;
				});
				answer.on("error", () => undefined);
				answer.on("close", () => resolve({ status: answer.statusCode ?? 0, text }));
			},
		);
		// A receiver may refuse and close the connection before it has read everything.
		outgoing.on("error", () => resolve(undefined));
		outgoing.setTimeout(GIVE_UP_AFTER_MS, () => {
			outgoing.destroy();
			reject(new Error(`no answer in ${GIVE_UP_AFTER_MS} ms to ${method} ${target}`));
		});
		outgoing.write(body.subarray(0, 10));
		outgoing.end(body.subarray(10));
	});
}

function eventNameOf(body: Buffer): string {
	return /"event"\s*:\s*"([\w./]+)"/.exec(body.toString("utf8"))?.[1] ?? "conversion.approved";
}
