// Which secret a request was signed with, and what that means: requests to us may be signed with more secrets than
// the one that we sign with (domain/secret-life).

import type { HeaderNames } from "./signature.ts";
import { secretVariants, type Variant } from "./signature-variants.ts";
import { utcMinute } from "./time.ts";

export type SecretStanding =
	/** The one to check with. */
	| { kind: "right" }
	| { kind: "prepared" }
	| { kind: "replaced"; goodUntilMs: number }
	/** Discarded, or ended by a person or by time. */
	| { kind: "ended"; atMs: number }
	/** Tried only to say which one it was. */
	| { kind: "other" };

export interface KnownSecret {
	text: string;
	/** As it reads in a sentence: "the secret you pasted". */
	name: string;
	standing: SecretStanding;
}

/** A callback has the event header. Without it, a path below /v1/ is a request to us. */
export function isToUs(headers: ReadonlyMap<string, string>, names: HeaderNames, target: string): boolean {
	return !headers.has(names.event.toLowerCase()) && target.startsWith("/v1/");
}

export interface SecretVariant extends Variant {
	/** What to know although nothing is wrong. */
	note: string | null;
}

export function nameSecrets(
	secrets: readonly KnownSecret[],
	isRequestToUs: boolean,
	nowMs: number,
): SecretVariant[] {
	return secrets.flatMap(({ text, name, standing }) => {
		const { isGood, advice } = judgeStanding(standing, isRequestToUs, nowMs);
		return secretVariants(text).map(({ value, mistake }) => {
			if (isGood && mistake === null) {
				return { value, mistake, note: advice === "" ? null : `It was signed with ${name}. ${advice}` };
			}
			if (standing.kind === "right") return { value, mistake, note: null };
			const found = [`It was signed with another secret: ${name}.`, mistake ?? "", advice];
			return { value, mistake: found.filter((part) => part !== "").join(" "), note: null };
		});
	});
}

function judgeStanding(
	standing: SecretStanding,
	isRequestToUs: boolean,
	nowMs: number,
): { isGood: boolean; advice: string } {
	switch (standing.kind) {
		case "right":
			return { isGood: true, advice: "" };
		case "other":
			return { isGood: false, advice: "" };
		case "prepared":
			return isRequestToUs
				? { isGood: true, advice: "We accept it. Callbacks are signed with it once you activate it." }
				: {
						isGood: false,
						advice: "Callbacks are signed with the active one until you activate this: verify with both.",
					};
		case "replaced":
			return judgeReplaced(standing.goodUntilMs, isRequestToUs, nowMs);
		case "ended":
			return {
				isGood: false,
				advice: `It ended on ${utcMinute(standing.atMs)} and is good for nothing: ${isRequestToUs ? "sign" : "verify"} with the active one.`,
			};
		default:
			return standing satisfies never;
	}
}

function judgeReplaced(
	goodUntilMs: number,
	isRequestToUs: boolean,
	nowMs: number,
): { isGood: boolean; advice: string } {
	if (!isRequestToUs) {
		return {
			isGood: false,
			advice: "Callbacks are signed with the active one since then: verify with that.",
		};
	}
	const until = utcMinute(goodUntilMs);
	return nowMs < goodUntilMs
		? { isGood: true, advice: `We accept it until ${until}: change to the active one before then.` }
		: { isGood: false, advice: `We accepted it until ${until}: sign with the active one.` };
}
