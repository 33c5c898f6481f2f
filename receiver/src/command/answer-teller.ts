// Tells the service what came of each event here, so that its Integration page can show it. Nothing waits for it and
// nothing depends on it: a service that does not know the call, or does not answer, is told no more or less.

import { pauseFor } from "../pause.ts";
import { signRequest } from "../sign-request.ts";
import type { Settings } from "./settings.ts";

export type ToldAnswer = {
	readonly conversionId: string;
	readonly event: string;
	readonly outcome: "answered" | "timeout" | "no_connection" | "verified" | "not_verified";
	readonly status?: number;
	readonly code?: string;
	readonly tookMs?: number;
};

export type AnswerTeller = {
	tell(answer: ToldAnswer): void;
	/** Resolves when nothing waits any more, or soon. */
	finish(): Promise<void>;
};

const path = "/v1/events/answers";
/** The service takes as many in a call. */
const mostInACall = 50;
/** More have not been seen by anybody who looks at the page: the oldest are left out. */
const mostWaiting = 200;
const pauseMs = 1_000;
const timeoutMs = 5_000;
/** Ctrl-C is not kept waiting for longer. */
const lastPatienceMs = 1_500;

export function createAnswerTeller(settings: Settings, stopSignal: AbortSignal): AnswerTeller {
	let waiting: ToldAnswer[] = [];
	let isWanted = true;
	let telling: Promise<void> | undefined;
	const hangUp = new AbortController();

	async function tellAll(): Promise<void> {
		while (isWanted && !hangUp.signal.aborted && waiting.length > 0) {
			const batch = waiting.slice(0, mostInACall);
			waiting = waiting.slice(mostInACall);
			isWanted = await send(settings, batch, hangUp.signal);
			// Whoever stops is not kept: what is left goes at once.
			if (isWanted) await pauseFor(pauseMs, stopSignal);
		}
		telling = undefined;
	}

	return {
		tell(answer) {
			if (!isWanted) return;
			waiting = [...waiting, answer].slice(-mostWaiting);
			telling ??= tellAll();
		},
		async finish() {
			if (telling === undefined) return;
			const patience = new AbortController();
			await Promise.race([telling, pauseFor(lastPatienceMs, patience.signal)]);
			patience.abort();
			hangUp.abort();
		},
	};
}

/** False where it will never be taken. What is lost on the way is not told again: the page shows what it has. */
async function send(
	{ url, apiKey, secret, brand }: Settings,
	answers: readonly ToldAnswer[],
	hangUp: AbortSignal,
): Promise<boolean> {
	const body = JSON.stringify({ answers });
	const ending = new AbortController();
	const end = () => ending.abort();
	const timer = setTimeout(end, timeoutMs);
	hangUp.addEventListener("abort", end, { once: true });
	try {
		const { headers } = await signRequest({ method: "POST", path, body, secret, apiKey, brand });
		const response = await fetch(url + path, {
			method: "POST",
			headers,
			body,
			redirect: "manual",
			signal: ending.signal,
		});
		await response.body?.cancel();
		return response.ok || response.status >= 500 || [408, 429].includes(response.status);
	} catch {
		return true;
	} finally {
		clearTimeout(timer);
		hangUp.removeEventListener("abort", end);
	}
}
