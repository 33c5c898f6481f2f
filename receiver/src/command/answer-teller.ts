// Reports the result of each event to the service, so that its Integration page can show it. Nothing waits
// for these reports or depends on them. If the service does not support these reports, reporting ends. If the
// service stores none of them, reports become rare.

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
	/** Resolves when all reports are sent, or after a short time. */
	finish(): Promise<void>;
};

const path = "/v1/events/answers";
/**
 * Maximum number of waiting reports, which is also the maximum per call. The oldest are dropped, because
 * people look for the newest.
 */
const mostWaiting = 200;
const pauseMs = 1_000;
/**
 * Pause after a call of which the service stored nothing. The service limits how many answers it stores for a
 * busy shop, and accepts more after a minute.
 */
const pauseWhenFullMs = 60_000;
const timeoutMs = 5_000;
const maxAnswerBytes = 65_536;
/** Maximum time for which Ctrl-C waits until the last reports are sent. */
const lastPatienceMs = 1_500;

export function createAnswerTeller(settings: Settings, pause = pauseFor): AnswerTeller {
	let waiting: ToldAnswer[] = [];
	let isWanted = true;
	let telling: Promise<void> | undefined;
	/** Signal that ends the pause when the command stops, so that the remaining reports are sent at once. */
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
 * Sends reports. Returns "unwanted" if the service will never accept them. If the call fails, its reports are
 * not sent again, and nobody knows how many were stored.
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
