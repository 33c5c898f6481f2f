// Decides what an exchange means: success, a permanent failure, or a failure that may be temporary. The
// functions are pure.

import { parseJson } from "../json.ts";
import type { ReadAnswer } from "./answer.ts";
import type { Exchange } from "./exchange.ts";
import { type CallFailure, classifyRefusal, type Misconfigured, type Refused } from "./failure.ts";
import { hideSecrets, readProblem } from "./problem.ts";
import { isWorthAnotherTry, readRetryAfterMs } from "./retry.ts";

export type Judgement<Value> =
	| { readonly kind: "done"; readonly value: Value }
	| { readonly kind: "failed"; readonly failure: CallFailure }
	/**
	 * A program between client and service sent the request twice, and this is the answer to the second copy.
	 */
	| { readonly kind: "copied"; readonly failure: CallFailure; readonly retryAfterMs: undefined }
	| { readonly kind: "may_pass"; readonly failure: CallFailure; readonly retryAfterMs: number | undefined };

export type Circumstances = {
	/** Name of the request in messages, such as `POST /v1/conversions`. */
	readonly what: string;
	readonly attempts: number;
	/** True if an earlier try of this call was duplicated between client and service. */
	readonly wasCopied: boolean;
	/** Time of the answer, by the clock that signed the request. */
	readonly nowMs: number;
	/** Texts that are removed from messages, because a server may echo parts of the request. */
	readonly hidden: readonly string[];
	/** Number of secrets that the client has. The first one signed the request. */
	readonly secretCount: number;
};

type Answer = Extract<Exchange, { kind: "answer" }>;

export function judgeExchange<Value>(
	exchange: Exchange,
	read: ReadAnswer<Value>,
	circumstances: Circumstances,
): Judgement<Value> {
	const { what, attempts } = circumstances;
	switch (exchange.kind) {
		case "answer":
			return judgeAnswer(exchange, read, circumstances);
		case "redirect":
			return { kind: "failed", failure: refuseRedirect(exchange, circumstances) };
		case "no_answer": {
			const detail = `${what}: ${exchange.detail}.`;
			const failure: CallFailure = { ok: false, kind: "unreachable", retryable: true, detail, attempts };
			return { kind: "may_pass", failure, retryAfterMs: undefined };
		}
		case "aborted":
			return { kind: "failed", failure: describeAbort(circumstances) };
		default:
			return exchange satisfies never;
	}
}

export function describeAbort({ what, attempts }: Pick<Circumstances, "what" | "attempts">): CallFailure {
	const detail = `${what} was ended by the signal that was given with it.`;
	return { ok: false, kind: "aborted", retryable: true, detail, attempts };
}

function judgeAnswer<Value>(
	answer: Answer,
	read: ReadAnswer<Value>,
	circumstances: Circumstances,
): Judgement<Value> {
	const { status } = answer;
	const { what, attempts, nowMs } = circumstances;
	const problem = readRefusal(answer, circumstances);
	if (isWorthAnotherTry(status)) {
		const retryAfterMs = readRetryAfterMs(answer.headers.get("retry-after"), nowMs);
		const detail = `${what} was answered with ${status}.${problem === undefined ? "" : ` ${problem.detail}`}`;
		const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
		const described = { status, detail, ...asked, attempts };
		const failure: CallFailure = { ok: false, kind: "unavailable", retryable: true, ...described };
		return { kind: "may_pass", failure, retryAfterMs };
	}
	if (status >= 400 && problem !== undefined) return judgeProblem(problem, circumstances);
	const value = readValue(answer, read, circumstances.hidden);
	if (value.ok) return { kind: "done", value: value.value };
	const detail = `${what} was answered with ${status}, but not by this API: ${value.detail}. Check that url is the service's own address, and what stands in between.`;
	const failure: CallFailure = { ok: false, kind: "unexpected", retryable: true, status, detail, attempts };
	return { kind: "failed", failure };
}

function judgeProblem(failure: Refused | Misconfigured, { wasCopied }: Circumstances): Judgement<never> {
	// The service processed the first copy of the request. A retry with a new nonce returns its result. This is
	// done only once, so that it cannot repeat forever.
	if (failure.code === "replayed_nonce" && !wasCopied) {
		return { kind: "copied", failure, retryAfterMs: undefined };
	}
	return { kind: "failed", failure };
}

function readValue<Value>(
	{ status, text }: Answer,
	read: ReadAnswer<Value>,
	hidden: readonly string[],
): ReturnType<ReadAnswer<Value>> {
	if (status >= 400) return { ok: false, detail: "it is no problem document (RFC 9457)" };
	if (status < 200 || status >= 300) return { ok: false, detail: "no call ends with this status" };
	if (text === undefined) return { ok: false, detail: "its body is larger than any answer of the service" };
	const json = parseJson(text);
	return json === undefined ? { ok: false, detail: "it is not JSON" } : read(json, hidden);
}

function readRefusal(
	{ status, headers, text }: Answer,
	{ attempts, nowMs, hidden, secretCount }: Circumstances,
): Refused | Misconfigured | undefined {
	const problem = readProblem(parseJson(text ?? ""), hidden);
	if (problem === undefined) return undefined;
	const advice = adviseOn(problem.code, headers.get("date"), nowMs, secretCount);
	const detail = problem.detail + (advice === undefined ? "" : ` ${advice}`);
	return { ...classifyRefusal({ status, ...problem, detail }), attempts };
}

/**
 * Returns advice for a refusal that the service cannot give, because it does not know the client's situation.
 */
function adviseOn(code: string, date: string | null, nowMs: number, secretCount: number): string | undefined {
	if (code === "stale_timestamp") return describeClock(date, nowMs);
	if (code === "bad_signature") return describeSecrets(secretCount);
	if (code === "missing_signature_header") {
		return "Check that brand is the word that the network has in its header names.";
	}
	// Every try has its own nonce, so the client itself did not send the request twice.
	if (code === "replayed_nonce") {
		return "Something on the way sent this request twice, and the other one was heard: make the call again to learn how it ended.";
	}
	return undefined;
}

function describeSecrets(secretCount: number): string {
	if (secretCount === 1) return "Check that secret is the signing secret of the API key's programme.";
	return `The first of the ${secretCount} secrets signed this request, and the service does not accept it. Check that it is a signing secret of the API key's programme, and that it has not ended.`;
}

/**
 * Returns a sentence about the clock's error. The client does not correct the error, because a wrong clock
 * affects everything that this machine signs or stores.
 */
function describeClock(date: string | null, nowMs: number): string {
	const serviceMs = date === null ? Number.NaN : Date.parse(date);
	if (Number.isNaN(serviceMs)) return "Check the clock of this machine.";
	const aheadSeconds = Math.round((nowMs - serviceMs) / 1000);
	const side = aheadSeconds > 0 ? "ahead of" : "behind";
	return `Check the clock of this machine: it is about ${Math.abs(aheadSeconds)} s ${side} the service's.`;
}

function refuseRedirect(
	{ status, location }: Extract<Exchange, { kind: "redirect" }>,
	{ what, attempts, hidden }: Circumstances,
): Refused | Misconfigured {
	const to = location === null ? "" : ` to ${hideSecrets(location, hidden)}`;
	const detail = `${what} was answered with a redirect${to}. Redirects are not followed, because the path is signed: give the service's final address as url.`;
	return { ...classifyRefusal({ code: "redirected", status, detail }), attempts };
}
