// Decides what the outcome of an attempt means for its delivery. This is the table of contract section 7.

export type Outcome =
	| { kind: "answered"; status: number }
	/**
	 * The attempt took too long. `stage` is the step in which the time ran out. At "exchange" the request had
	 * already been sent.
	 */
	| { kind: "timeout"; stage: AttemptStage }
	/**
	 * The connection failed. `code` is the error code of the system or the TLS library, such as ECONNREFUSED or
	 * CERT_HAS_EXPIRED.
	 */
	| { kind: "network-error"; stage: AttemptStage; code: string }
	| { kind: "forbidden-address"; address: string; reason: string };

export type AttemptStage = "look-up" | "connect" | "tls" | "exchange";

/**
 * Durations of the steps of an attempt, each null if the step did not happen. A reused connection needs no
 * DNS lookup, connect or TLS handshake.
 */
export interface AttemptTimings {
	lookUpMs: number | null;
	connectMs: number | null;
	tlsMs: number | null;
	answerMs: number | null;
}

export type Verdict = "delivered" | "retry" | "refused" | "redirect" | "forbidden address";

export function isSuccess(status: number): boolean {
	return status >= 200 && status <= 299;
}

export function judgeOutcome(outcome: Outcome): Verdict {
	return judgeResult(outcome.kind, outcome.kind === "answered" ? outcome.status : null);
}

/** Judges the stored result of an attempt. `status` is null if there was no answer. */
export function judgeResult(result: Outcome["kind"], status: number | null): Verdict {
	switch (result) {
		case "answered":
			return judgeStatus(status ?? 0);
		case "timeout":
		case "network-error":
			return "retry";
		case "forbidden-address":
			return "forbidden address";
		default:
			return result satisfies never;
	}
}

function judgeStatus(status: number): Verdict {
	if (isSuccess(status)) return "delivered";
	if (status >= 300 && status <= 399) return "redirect";
	if (status === 408 || status === 429) return "retry";
	if (status >= 400 && status <= 499) return "refused";
	// All other statuses are 5xx or not HTTP statuses. None of them means that the shop refuses the callback for good.
	return "retry";
}
