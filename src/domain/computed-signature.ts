// "The signature your code computed": what the shop's own code did differently from the signing scheme, judging by the
// value that it came to for a callback.

import type { Direction, ReadRequest } from "./pasted-request.ts";
import { signatureDigits } from "./signature-candidates.ts";
import { shopKeys } from "./signature-secrets.ts";
import { compareParts, type DiagnosisStep, step } from "./signature-steps.ts";
import { type DiagnosisContext, headerOf, partsOfMatch, searchSigned } from "./signed-parts.ts";

/** What the shop's own code made of the request that it received. */
export function explainComputed(
	seen: ReadRequest,
	steps: readonly DiagnosisStep[],
	context: DiagnosisContext,
	direction: Direction,
): DiagnosisStep[] | null {
	const isForeign = steps.some(({ cause }) => cause === "another-signature");
	const given = context.computed.trim() || (isForeign ? headerOf(seen, context.names.signature) : "");
	if (given === "" || direction !== "callback") return null;
	const keys = shopKeys(context.secrets, "callback", null, context.nowMs);
	const match = searchSigned(seen, { ...context, composed: [] }, given, keys, "request");
	if (match === null) {
		const text =
			"Compare the last characters of your server's secret with those under Keys and snippets. Most likely they differ: no secret of this programme gives this value.";
		return [step("secret", signatureDigits(given) === null ? "unknown" : "bad", text, "secret-unknown")];
	}
	const over = { ...partsOfMatch(match), event: null };
	const asComputed = new Map(seen.headers).set(context.names.signature.toLowerCase(), given);
	const differing = [
		...compareParts(over, { ...seen, headers: asComputed }, context.names, "request"),
		...(match.form.cause === null ? [] : [step("form", "bad", match.form.text, match.form.cause)]),
		step("secret", match.key.verdict, match.key.text, match.key.cause),
	].filter(({ verdict }) => verdict !== "good");
	if (differing.some(({ verdict }) => verdict === "bad")) return differing;
	const text = "Your code computes the right signature for what it received.";
	return [step("signature", "good", text), ...differing];
}
