// Makes one call of the client. The call is retried until it succeeds, is refused, or is not worth another
// try. Every try gets a new signature. A retry is safe even if the service processed the previous try,
// because the service records nothing twice.

import { pauseFor } from "../pause.ts";
import { signRequest } from "../sign-request.ts";
import type { ReadAnswer } from "./answer.ts";
import { exchange, type Fetch } from "./exchange.ts";
import { type CallFailure, failWithoutSecret } from "./failure.ts";
import { describeAbort, type Judgement, judgeExchange } from "./judge.ts";
import { planRetry, type RetryPolicy } from "./retry.ts";

export type ClientSettings = {
	/** Scheme, host and port of the service. */
	readonly origin: string;
	readonly apiKey: string;
	/** Finds the signing secrets, of which the first one signs. Resolves to undefined if that fails. */
	readonly findSecrets: () => Promise<readonly string[] | undefined>;
	readonly brand: string;
	readonly fetch: Fetch;
	readonly timeoutMs: number;
	readonly retry: RetryPolicy;
	readonly now: () => number;
};

export type Call<Value> = {
	readonly method: "GET" | "POST";
	readonly path: string;
	readonly body?: string;
	readonly read: ReadAnswer<Value>;
};

/**
 * A success. If `attempts` is above one, the service may have processed an earlier try whose answer was lost.
 */
export type Success<Value> = { readonly ok: true; readonly attempts: number } & Value;

export async function makeCall<Value extends object>(
	settings: ClientSettings,
	call: Call<Value>,
	signal: AbortSignal | undefined,
): Promise<Success<Value> | CallFailure> {
	const { retry, apiKey } = settings;
	const startMs = performance.now();
	const what = `${call.method} ${call.path.replace(/\?.*/, "")}`;
	if (signal?.aborted) return describeAbort({ what, attempts: 0 });

	let wasCopied = false;
	for (let attempts = 1; ; attempts++) {
		const remainingMs = Math.max(0, startMs + retry.totalMs - performance.now());
		const timeoutMs = Math.ceil(Math.min(settings.timeoutMs, remainingMs));
		const secrets = await settings.findSecrets();
		if (secrets === undefined) return failWithoutSecret(attempts - 1);
		const signed = await sign(settings, call, secrets);
		const exchanged = await exchange(settings.fetch, signed, timeoutMs, signal);
		const judged: Judgement<Value> = judgeExchange(exchanged, call.read, {
			what,
			attempts,
			wasCopied,
			nowMs: settings.now(),
			hidden: [apiKey, ...secrets],
			secretCount: secrets.length,
		});
		if (judged.kind === "done") return { ok: true, attempts, ...judged.value };
		if (judged.kind === "failed") return judged.failure;
		wasCopied ||= judged.kind === "copied";
		const elapsedMs = performance.now() - startMs;
		const delayMs = planRetry(retry, attempts, elapsedMs, judged.retryAfterMs, Math.random());
		if (delayMs === undefined) return judged.failure;
		await pauseFor(delayMs, signal);
		if (signal?.aborted) return describeAbort({ what, attempts });
	}
}

async function sign(
	{ origin, apiKey, brand, now }: ClientSettings,
	{ method, path, body }: Call<unknown>,
	secrets: readonly string[],
) {
	const signing = { secret: secrets, apiKey, brand, now: now() };
	const { headers } = await signRequest({ method, path, body, ...signing });
	return { url: origin + path, method, headers, body };
}
