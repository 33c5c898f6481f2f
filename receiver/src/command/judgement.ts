// Describes what the service would do with an answer (contract section 7), for the developer at the terminal.

import type { Refusal } from "../refusal.ts";
import type { ForwardOutcome } from "./forward.ts";

export type Judgement = {
	/** Verdict on the answer. The last three values are used if there is no endpoint. */
	readonly verdict: "delivered" | "retry" | "stop" | "verified" | "not_verified" | "unsigned";
	/** Description of the answer in a few words. */
	readonly answer: string;
	/**
	 * Sentence that says what the answer would mean and what to do about it, or an empty text if all is well.
	 */
	readonly advice: string;
};

const retried = "the service would try again in 1 minute";
const stopped = "the service would stop at once and tell the owner";

export function judgeForward(outcome: Exclude<ForwardOutcome, { kind: "stopped" }>, target: URL): Judgement {
	switch (outcome.kind) {
		case "answered":
			return judgeStatus(outcome.status, outcome.tookMs);
		case "timeout":
			return { verdict: "retry", answer: "no answer within 5 seconds", advice: retried };
		case "failed":
			return {
				verdict: "retry",
				answer: `no connection (${outcome.code})`,
				advice: `${retried}. ${hintFor(outcome.code, target)}`,
			};
	}
	outcome satisfies never;
}

/** Describes the result of an event that was checked by the command instead of being forwarded. */
export function judgeCheck(found: "verified" | "unsigned" | Refusal): Judgement {
	if (found === "verified") return { verdict: "verified", answer: "signature valid", advice: "" };
	if (found === "unsigned") {
		const advice = "the service did not sign it: it is older, or has no active secret";
		return { verdict: "unsigned", answer: "not checked", advice };
	}
	const advice =
		found.reason === "bad_signature"
			? "Is RINGBACK_SIGNING_SECRET the active one on the Integration page?"
			: found.detail;
	return { verdict: "not_verified", answer: `signature not valid (${found.reason})`, advice };
}

function judgeStatus(status: number, tookMs: number): Judgement {
	const answer = `${status} in ${tookMs} ms`;
	if (status >= 200 && status < 300) return { verdict: "delivered", answer, advice: "" };
	if (status >= 300 && status < 400) {
		return {
			verdict: "stop",
			answer,
			advice: `redirects are not followed: ${stopped}. Name the final address`,
		};
	}
	if (status >= 500 || status === 408 || status === 429) return { verdict: "retry", answer, advice: retried };
	const why =
		status === 401
			? ". If it is your signature check: the same secret? the raw body? the path with its query? the brand?"
			: "";
	return { verdict: "stop", answer, advice: `a refusal: ${stopped}${why}` };
}

function hintFor(code: string, target: URL): string {
	switch (code) {
		case "ECONNREFUSED":
			return `Nothing listens on ${target.host}: start your receiver`;
		case "ENOTFOUND":
		case "EAI_AGAIN":
			return `${target.hostname} cannot be looked up: check --to`;
		case "ECONNRESET":
			return "It hung up before it answered: look at your receiver's log";
		case "DEPTH_ZERO_SELF_SIGNED_CERT":
		case "SELF_SIGNED_CERT_IN_CHAIN":
		case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
			return "Its certificate is not trusted here: set NODE_EXTRA_CA_CERTS to the CA's file, or use http";
		case "EPROTO":
		case "ERR_SSL_WRONG_VERSION_NUMBER":
			return "It does not speak TLS: use http:// in --to";
		default:
			return `Check --to and your receiver`;
	}
}
