// What the three headers must look like by themselves, whatever was signed.

import { isBase64 } from "./header-damage.ts";
import type { Direction } from "./pasted-request.ts";
import { judgeTimestamp, TIMESTAMP_TOLERANCE_SECONDS } from "./signature.ts";
import { type DiagnosisStep, step } from "./signature-steps.ts";

const MILLISECONDS = /^\d{13}$/;

export function checkTimestamp(timestamp: string, nowMs: number, direction: Direction): DiagnosisStep {
	if (MILLISECONDS.test(timestamp)) {
		const text = `${timestamp} looks like milliseconds. Send Unix time in seconds: divide by 1,000 and cut the rest off.`;
		return step("timestamp", "bad", text, "timestamp-in-milliseconds");
	}
	switch (judgeTimestamp(timestamp, nowMs)) {
		case "malformed": {
			const text = `"${timestamp.slice(0, 40)}" is not Unix time in seconds: digits only, nothing else.`;
			return step("timestamp", "bad", text, "timestamp-malformed");
		}
		case "stale":
			return judgeStale(Number(timestamp) - Math.floor(nowMs / 1000), direction);
		case "fresh":
			return step("timestamp", "good", `Within ${TIMESTAMP_TOLERANCE_SECONDS} seconds of our clock.`);
	}
}

/** Nothing comes from the future; what is old may simply have been pasted later. */
function judgeStale(offSeconds: number, direction: Direction): DiagnosisStep {
	const whose = direction === "callback" ? "your server's clock" : "our clock";
	if (offSeconds > 0) {
		const text = `It is ${offSeconds} seconds ahead of our clock, outside the window of ${TIMESTAMP_TOLERANCE_SECONDS}: the sender's clock is wrong. Set it by a time server.`;
		return step("timestamp", "bad", text, "clock-ahead");
	}
	const text = `It is ${-offSeconds} seconds behind our clock now. A request is accepted within ${TIMESTAMP_TOLERANCE_SECONDS} seconds of ${whose}: one from a while ago was; one from just now means that ${direction === "callback" ? whose : "the sender's clock"} is wrong.`;
	return step("timestamp", direction === "callback" ? "good" : "warn", text, "timestamp-old");
}

export function checkNonce(nonce: string, isSpent: boolean): DiagnosisStep {
	if (!/^[0-9A-Za-z_-]{8,128}$/.test(nonce)) {
		const text = 'It must be 8 to 128 letters, digits, "-" or "_": best 32 random hex digits.';
		return step("nonce", "bad", text, "nonce-malformed");
	}
	if (isSpent) {
		const text =
			"We have accepted a request with this nonce. Each may be used once: the same request again is refused as replayed_nonce.";
		return step("nonce", "warn", text, "nonce-spent");
	}
	return step("nonce", "good", "Well formed. Each may be used once: a repeated request needs a new one.");
}

export function checkShape(signature: string): DiagnosisStep {
	if (/^[0-9a-f]{64}$/i.test(signature)) return step("signature", "good", "64 hex digits.");
	if (/^sha256=/i.test(signature)) {
		const text = 'It begins with "sha256=". Send the 64 hex digits alone.';
		return step("signature", "bad", text, "signature-prefixed");
	}
	if (isBase64(signature)) {
		const text = "It looks like base64. Send the HMAC as 64 hex digits.";
		return step("signature", "bad", text, "signature-in-base64");
	}
	const text = `It must be 64 hex digits, but has ${signature.length} characters.`;
	return step("signature", "bad", text, "signature-malformed");
}
