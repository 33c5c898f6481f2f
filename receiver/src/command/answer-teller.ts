// Tells the service what came of each event here, so that its Integration page can show it. Nothing waits for it and
// nothing depends on it: a service that does not know the call is told no more, one that keeps nothing rarely.

import { readText } from "../client/exchange.ts";
import { isObject, parseJson } from "../json.ts";
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
/** All that waits goes in one call, which takes as many: whoever looks for what they just did finds it. The oldest are left out. */
const mostWaiting = 200;
const pauseMs = 1_000;
/** After a call of which nothing was kept: the page has enough of a busy shop, and has room for some in a minute. */
const pauseWhenFullMs = 60_000;
const timeoutMs = 5_000;
const maxAnswerBytes = 65_536;
/** Ctrl-C is not kept waiting for longer. */
const lastPatienceMs = 1_500;

export function createAnswerTeller(settings: Settings, pause = pauseFor): AnswerTeller {
	let waiting: ToldAnswer[] = [];
	let isWanted = true;
	let telling: Promise<void> | undefined;
	/** Whoever stops is not kept: what is left goes at once. */
	const hurry = new AbortController();
	const hangUp = new AbortController();

	async function tellAll(): Promise<void> {
		while (isWanted && !hangUp.signal.aborted && waiting.length > 0) {
			const batch = waiting;
			waiting = [];
			const taken = await send(settings, batch, hangUp.signal);
			isWanted = taken !== "unwanted";
			if (isWanted) await pause(taken === "none kept" ? pauseWhenFullMs : pauseMs, hurry.signal);
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
			hurry.abort();
			const patience = new AbortController();
			await Promise.race([telling, pause(lastPatienceMs, patience.signal)]);
			patience.abort();
			hangUp.abort();
		},
	};
}

/**
 * Unwanted where it will never be taken. What is lost on the way is not told again: the page shows what it has, and how
 * much of it was kept is then unknown.
 */
async function send(
	{ url, apiKey, secret, brand }: Settings,
	answers: readonly ToldAnswer[],
	hangUp: AbortSignal,
): Promise<"taken" | "none kept" | "unwanted"> {
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
		if (!response.ok) {
			await response.body?.cancel();
			return response.status >= 500 || [408, 429].includes(response.status) ? "taken" : "unwanted";
		}
		const answer = parseJson((await readText(response.body, maxAnswerBytes, ending.signal)) ?? "");
		return isObject(answer) && answer["kept"] === 0 ? "none kept" : "taken";
	} catch {
		return "taken";
	} finally {
		clearTimeout(timer);
		hangUp.removeEventListener("abort", end);
	}
}
