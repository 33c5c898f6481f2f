// Forwards one event to the developer's own endpoint, as the POST that contract section 4.1 describes, signed
// for the path of that endpoint. A partner's event may also be forwarded as a GET, as trackers get it.

import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { findErrorCode } from "../network-error.ts";
import { type CallbackFields, writeCallback, writeGetCallback } from "../sign-callback.ts";
import { readFirstLine } from "./first-line.ts";
import type { Settings } from "./settings.ts";

export type ForwardOutcome =
	| {
			readonly kind: "answered";
			readonly status: number;
			/** First line of an answer that is not 2xx, or an empty text. */
			readonly firstLine: string;
			readonly tookMs: number;
	  }
	| { readonly kind: "timeout"; readonly tookMs: number }
	| { readonly kind: "failed"; readonly code: string; readonly tookMs: number }
	| { readonly kind: "stopped" };

/** The request as it was sent, with everything that a signature check needs except the secret. */
export type SentRequest = {
	readonly method: "POST" | "GET";
	readonly path: string;
	readonly headers: Readonly<Record<string, string | number>>;
	readonly body: string;
	readonly bodySha256: string;
};

/** Time limit for the answer, from contract section 8. */
const timeoutMs = 5_000;

export async function forwardEvent(
	target: URL,
	event: string,
	fields: CallbackFields,
	{ secret, brand }: Pick<Settings, "secret" | "brand">,
	stopSignal: AbortSignal,
	/** Path and query of a GET, or undefined for a POST to the target. */
	getPath?: string,
): Promise<{ readonly outcome: ForwardOutcome; readonly sent: SentRequest }> {
	const path = getPath ?? target.pathname + target.search;
	const signing = { secret: secret[0], brand, path, nowMs: Date.now() };
	const written =
		getPath === undefined
			? await writeCallback(event, fields, signing)
			: await writeGetCallback(event, signing);
	const { headers: signedHeaders, body, bodySha256 } = written;
	const length = getPath === undefined ? { "Content-Length": Buffer.byteLength(body) } : {};
	const headers = { ...signedHeaders, ...length };
	const method = getPath === undefined ? "POST" : "GET";
	const sent: SentRequest = { method, path, headers, body, bodySha256 };
	return { outcome: await send(target, sent, stopSignal), sent };
}

function send(
	target: URL,
	{ method, path, headers, body }: SentRequest,
	stopSignal: AbortSignal,
): Promise<ForwardOutcome> {
	const startedAtMs = performance.now();
	const took = () => Math.round(performance.now() - startedAtMs);
	return new Promise((resolve) => {
		const open = target.protocol === "https:" ? requestHttps : requestHttp;
		// Each event uses a new connection, because the receiver might close a reused connection just when the
		// next event is sent.
		const options = { method, path, headers, agent: false, autoSelectFamily: true } as const;
		const request = open({ ...options, protocol: target.protocol, ...hostOf(target) });
		const finish = (outcome: ForwardOutcome): void => {
			clearTimeout(timer);
			stopSignal.removeEventListener("abort", stop);
			resolve(outcome);
			// The rest of the answer is not used, so the connection is closed.
			request.destroy();
		};
		const stop = () => finish({ kind: "stopped" });
		const timer = setTimeout(() => finish({ kind: "timeout", tookMs: took() }), timeoutMs);
		stopSignal.addEventListener("abort", stop, { once: true });
		let hasAnswered = false;
		request.on("response", (response) => {
			const { statusCode: status = 0 } = response;
			const tookMs = took();
			hasAnswered = true;
			clearTimeout(timer);
			const answer = (firstLine: string) => finish({ kind: "answered", status, firstLine, tookMs });
			if (status >= 200 && status < 300) answer("");
			else void readFirstLine(response).then(answer);
		});
		request.on("error", (error) => {
			if (!hasAnswered) finish({ kind: "failed", code: findErrorCode(error) ?? error.name, tookMs: took() });
		});
		if (stopSignal.aborted) stop();
		else request.end(body);
	});
}

function hostOf({ hostname, port, protocol }: URL): { hostname: string; port: number } {
	const standardPort = protocol === "https:" ? 443 : 80;
	return { hostname: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? standardPort : Number(port) };
}
