// Whether a request that somebody pastes is what reached us: beside it stand those of its time that were refused.

import type { ReadRequest } from "./pasted-request.ts";
import type { ReceivedRequest } from "./refused-signature.ts";
import { sha256Hex } from "./signature.ts";
import { type DiagnosisStep, step } from "./signature-steps.ts";
import { differenceOf } from "./text-difference.ts";
import { utcSecond } from "./time.ts";

/** Null where none of them can be it. */
export function compareArrival(
	seen: ReadRequest,
	received: readonly ReceivedRequest[],
): DiagnosisStep | null {
	const digest = sha256Hex(seen.body);
	const same = received.filter((one) => one.digest === digest);
	const exact = same.find(({ method, target }) => method === seen.method && target === seen.target);
	if (exact !== undefined) {
		const text = `This very request reached us on ${utcSecond(exact.atMs)} and was refused: nothing was changed on its way to us.`;
		return step("arrival", "good", text);
	}
	const [rerouted] = same;
	if (rerouted !== undefined) {
		const text = `A request with this body reached us on ${utcSecond(rerouted.atMs)} as ${rerouted.method} ${rerouted.target}: method or path is not the one you pasted.`;
		const difference = differenceOf(seen.target, rerouted.target);
		return { ...step("arrival", "warn", text, "arrived-elsewhere"), difference };
	}
	const [only, ...others] = received.filter(({ target }) => target === seen.target);
	if (only === undefined || others.length > 0) return null;
	const text = `The one request of that time that we refused, on ${utcSecond(only.atMs)}, had another body: its SHA-256 was ${only.digest}, and that of what you pasted is ${digest}. If it is this request, the body was changed after it was signed.`;
	return step("arrival", "warn", text, "arrived-with-another-body");
}
