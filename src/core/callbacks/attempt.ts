// Prepares one attempt, which is a signed request, and records its outcome. Each attempt is signed anew, over exactly
// the bytes and the request target that are sent (contract section 5).

import { type AnswerExcerpt, writeExcerpt } from "../domain/answer-excerpt.ts";
import { composeCallback } from "../domain/callback-request.ts";
import { concludeAttempt } from "../domain/delivery.ts";
import { canonicalString, sha256Hex, sign, USER_AGENT, type WireNames } from "../domain/signature.ts";
import { judgeOutcome, type Outcome } from "../domain/verdict.ts";
import type { PostbackAnswer, PostbackRequest, Random } from "../ports.ts";
import type { AttemptRecord, DueDelivery, Settlement } from "../store/queries/queue.ts";
import type { Target } from "./targets.ts";

/**
 * Number of random bytes in a nonce. Nonces of 128 random bits never repeat in practice, so the store does not check
 * that they are unique.
 */
const NONCE_BYTES = 16;

export interface PreparedAttempt
	extends Pick<AttemptRecord, "endpointId" | "startedAtMs" | "nonce" | "signature"> {
	request: PostbackRequest;
}

export type PrepareAttempt = (
	names: WireNames,
	delivery: DueDelivery,
	target: Target,
	nowMs: number,
) => PreparedAttempt;

export function createPreparer(random: Random): PrepareAttempt {
	return ({ headers: names }, delivery, receiver, nowMs) => {
		const { url, endpointId, key } = receiver;
		const { method, target, body } = composeCallback(receiver, delivery.eventName, delivery.eventBody, nowMs);
		const timestamp = String(Math.floor(nowMs / 1000));
		const nonce = random.hex(NONCE_BYTES);
		const signature = sign(key, canonicalString(method, target, timestamp, nonce, sha256Hex(body)));
		const headers = [
			...(method === "GET" ? [] : ["Content-Type", "application/json"]),
			"User-Agent",
			USER_AGENT,
			names.event,
			delivery.eventName,
			names.timestamp,
			timestamp,
			names.nonce,
			nonce,
			names.signature,
			signature,
		];
		const request = method === "GET" ? { url, headers, body, getTarget: target } : { url, headers, body };
		return { request, endpointId, startedAtMs: nowMs, nonce, signature };
	};
}

/** Returns what an answer means for its delivery, or null if nothing was sent because this machine is out of a resource. */
export function settleAnswer(
	delivery: DueDelivery,
	prepared: PreparedAttempt,
	{ outcome, timings }: Pick<PostbackAnswer, "outcome" | "timings">,
	/** The part of the answer that is stored, which is the resolved value of `answer.excerpt`. */
	excerpt: AnswerExcerpt | null,
	endedAtMs: number,
): Settlement | null {
	if (isOutOfResources(outcome)) return null;
	const verdict = judgeOutcome(outcome);
	const conclusion = concludeAttempt(verdict, delivery.counted + 1, endedAtMs);
	const attempt: AttemptRecord = {
		result: outcome.kind,
		httpStatus: outcome.kind === "answered" ? outcome.status : null,
		detail: describeOutcome(outcome),
		startedAtMs: prepared.startedAtMs,
		tookMs: endedAtMs - prepared.startedAtMs,
		lookUpMs: timings.lookUpMs,
		connectMs: timings.connectMs,
		tlsMs: timings.tlsMs,
		answerMs: timings.answerMs,
		endpointId: prepared.endpointId,
		nonce: prepared.nonce,
		signature: prepared.signature,
		answer: excerpt === null ? null : writeExcerpt(excerpt),
	};
	return conclusion.state === "pending"
		? { kind: "retry", delivery, dueAtMs: conclusion.dueAtMs, verdict, attempt, endedAtMs }
		: { kind: "finished", delivery, state: conclusion.state, verdict, attempt, endedAtMs };
}

/**
 * Error codes that mean that this machine is out of a resource. Nothing was sent, so they say nothing about the shop.
 */
const OUT_OF_RESOURCES: ReadonlySet<string> = new Set([
	"EMFILE",
	"ENFILE",
	"ENOBUFS",
	"ENOMEM",
	"EADDRNOTAVAIL",
]);

function isOutOfResources(outcome: Outcome): boolean {
	return (
		outcome.kind === "network-error" && outcome.stage === "connect" && OUT_OF_RESOURCES.has(outcome.code)
	);
}

function describeOutcome(outcome: Outcome): string | null {
	switch (outcome.kind) {
		case "answered":
			return null;
		case "timeout":
			return `TIMEOUT (${outcome.stage})`;
		case "network-error":
			return `${outcome.code} (${outcome.stage})`;
		// The reason contains the address of the shop's host, which may be shown in the log but not on a page.
		case "forbidden-address":
			return null;
		default:
			return outcome satisfies never;
	}
}
