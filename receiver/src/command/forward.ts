// Forwards one event to the developer's own endpoint, as the POST that contract section 4.1 describes, signed
// for the path of that endpoint.

import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { findErrorCode } from "../network-error.ts";
import { type CallbackFields, writeCallback } from "../sign-callback.ts";
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
	readonly method: "POST";
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
): Promise<{ readonly outcome: ForwardOutcome; readonly sent: SentRequest }> {
	const path = target.pathname + target.search;
	const signing = { secret: secret[0], brand, path, nowMs: Date.now() };
	const { headers: signedHeaders, body, bodySha256 } = await writeCallback(event, fields, signing);
	const bytes = Buffer.from(body);
	const headers = { ...signedHeaders, "Content-Length": bytes.byteLength };
	const outcome = await post(target, path, headers, bytes, stopSignal);
	return { outcome, sent: { method: "POST", path, headers, body, bodySha256 } };
}

function post(
	target: URL,
	path: string,
	headers: Readonly<Record<string, string | number>>,
	bytes: Uint8Array,
	stopSignal: AbortSignal,
): Promise<ForwardOutcome> {
	const startedAtMs = performance.now();
	const took = () => Math.round(performance.now() - startedAtMs);
	return new Promise((resolve) => {
		const send = target.protocol === "https:" ? requestHttps : requestHttp;
		// Each event uses a new connection, because the receiver might close a reused connection just when the
		// next event is sent.
		const options = { method: "POST", path, headers, agent: false, autoSelectFamily: true } as const;
		const request = send({ ...options, protocol: target.protocol, ...hostOf(target) });
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
		else request.end(bytes);
	});
}

function hostOf({ hostname, port, protocol }: URL): { hostname: string; port: number } {
	const standardPort = protocol === "https:" ? 443 : 80;
	return { hostname: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? standardPort : Number(port) };
}
