// Callbacks made by hand, good ones and bad ones, and how they reach a receiver: as a sender of its own making
// would send them, over a plain socket. Signs with node:crypto alone, and is itself held against the vectors.

import { createHash, createHmac, randomBytes } from "node:crypto";
import { request } from "node:http";

/** Names with their values; a list is sent as that many headers. */
type HeaderValues = Readonly<Record<string, string | readonly string[]>>;

export interface Callback {
	method: string;
	target: string;
	headers: HeaderValues;
	body: Buffer;
	/** In chunks, as a proxy may pass it on; else with its length. */
	isChunked?: boolean;
}

export interface CallbackOptions {
	secret: string;
	brand?: string;
	target?: string;
	body?: Buffer | string;
	timestamp?: string;
	nonce?: string;
	/** What is signed as the method; what is sent is always POST. */
	signedMethod?: string;
}

export interface Answered {
	status: number;
	text: string;
}

/** No answer takes this long on the slowest machine: the receiver hangs. */
const GIVE_UP_AFTER_MS = 20_000;

let made = 0;

/** The 14 fields, of a conversion that no other call has made. */
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
		"User-Agent": `${brand.toLowerCase()}-postback/1`,
		[`X-${brand}-Event`]: eventNameOf(body),
		[`X-${brand}-Timestamp`]: timestamp,
		[`X-${brand}-Nonce`]: nonce,
		[`X-${brand}-Signature`]: sign(secret, [signedMethod, target, timestamp, nonce, sha256(body)]),
	};
	return { method: "POST", target, headers, body };
}

export function sign(secret: string, parts: readonly string[]): string {
	// Header bytes are read as Latin-1 by Node: this gives them back as they were, ASCII unchanged.
	return createHmac("sha256", secret).update(parts.join("\n"), "latin1").digest("hex");
}

export function sha256(bytes: Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}

export function secondsFromNow(seconds: number): string {
	return String(Math.floor(Date.now() / 1000) + seconds);
}

/** What a header's UTF-8 bytes look like to Node, which sends each character as one byte. */
export function asHeader(text: string): string {
	return Buffer.from(text, "utf8").toString("latin1");
}

/** Undefined when the receiver hung up without an answer. */
export function send(
	port: number,
	{ method, target, headers, body, isChunked = false }: Callback,
): Promise<Answered | undefined> {
	return new Promise((resolve, reject) => {
		const framing = isChunked
			? { "Transfer-Encoding": "chunked" }
			: { "Content-Length": String(body.length) };
		const options = { host: "127.0.0.1", port, method, path: target, agent: false };
		const outgoing = request(
			{ ...options, headers: { ...copyLists(headers), ...framing, Connection: "close" } },
			(answer) => {
				let text = "";
				answer.setEncoding("utf8").on("data", (chunk: string) => {
					text += chunk;
				});
				answer.on("error", () => undefined);
				answer.on("close", () => resolve({ status: answer.statusCode ?? 0, text }));
			},
		);
		// A receiver may refuse and hang up before it has read everything.
		outgoing.on("error", () => resolve(undefined));
		outgoing.setTimeout(GIVE_UP_AFTER_MS, () => {
			outgoing.destroy();
			reject(new Error(`no answer in ${GIVE_UP_AFTER_MS} ms to ${method} ${target}`));
		});
		outgoing.write(body.subarray(0, 10));
		outgoing.end(body.subarray(10));
	});
}

function copyLists(headers: HeaderValues): Record<string, string | string[]> {
	const entries = Object.entries(headers);
	return Object.fromEntries(
		entries.map(([name, value]) => [name, typeof value === "string" ? value : [...value]]),
	);
}

function eventNameOf(body: Buffer): string {
	return /"event"\s*:\s*"([\w./]+)"/.exec(body.toString("utf8"))?.[1] ?? "conversion.approved";
}
