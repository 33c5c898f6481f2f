// What an attempt's outcome means for its delivery. This is contract section 7 as one closed table.

export type Outcome =
	| { kind: "answered"; status: number }
	/** `stage` is the step during which the time ran out. At "exchange" the request had been sent. */
	| { kind: "timeout"; stage: AttemptStage }
	/** `code` is the error code of the system or the TLS library (ECONNREFUSED, CERT_HAS_EXPIRED …), for people to read. */
	| { kind: "network-error"; stage: AttemptStage; code: string }
	| { kind: "forbidden-address"; address: string; reason: string };

export type AttemptStage = "look-up" | "connect" | "tls" | "exchange";

/** Durations of the steps, or null if a step did not happen. A reused connection needs no look-up, connect or TLS. */
export interface AttemptTimings {
	lookUpMs: number | null;
	connectMs: number | null;
	tlsMs: number | null;
	answerMs: number | null;
}

export type Verdict = "delivered" | "retry" | "refused" | "redirect" | "forbidden address";

/** Every 2xx status is a success, whatever the body says. */
export function isSuccess(status: number): boolean {
	return status >= 200 && status <= 299;
}

export function judgeOutcome(outcome: Outcome): Verdict {
	return judgeResult(outcome.kind, outcome.kind === "answered" ? outcome.status : null);
}

/** Judges an attempt as it is stored. `status` is null if there was no answer. */
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
	// 5xx, and numbers that no standard defines. Nothing says that the shop meant to refuse.
	return "retry";
}
