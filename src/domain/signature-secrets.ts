// Which secret a request was signed with, and what that means: one that was replaced is still good for requests to
// us for a while, but nothing that we send is signed with it any more.

import type { HeaderNames } from "./signature.ts";
import { secretVariants, type Variant } from "./signature-variants.ts";

/** The first is the one to check with; the others are tried to say which one it was. */
export interface KnownSecret {
	text: string;
	/** As it reads in a sentence: "the secret you pasted". */
	name: string;
	/** Of one that a newer has replaced: until when requests to us may still be signed with it. */
	goodUntilMs?: number;
}

/** Ours name their event. Without that header it is the path: a callback goes wherever the shop listens. */
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
	return secrets.flatMap(({ text, name, goodUntilMs }, index) => {
		const advice = goodUntilMs === undefined ? "" : adviseChange(goodUntilMs, isRequestToUs, nowMs);
		const isStillGood = goodUntilMs !== undefined && isRequestToUs && nowMs < goodUntilMs;
		return secretVariants(text).map(({ value, mistake }) => {
			if (index === 0) return { value, mistake, note: null };
			if (isStillGood && mistake === null)
				return { value, mistake, note: `It was signed with ${name}. ${advice}` };
			const found = [`It was signed with another secret: ${name}.`, mistake ?? "", advice];
			return { value, mistake: found.filter((part) => part !== "").join(" "), note: null };
		});
	});
}

function adviseChange(goodUntilMs: number, isRequestToUs: boolean, nowMs: number): string {
	if (!isRequestToUs) return "Callbacks are signed with the present one since then: verify with that.";
	const until = utcMinute(goodUntilMs);
	return nowMs < goodUntilMs
		? `We take that one until ${until}: change to the present one before then.`
		: `We took that one until ${until}: sign with the present one.`;
}

export function utcMinute(atMs: number): string {
	return `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
