// Which secret a request was signed with, and what that means: requests to us may be signed with more secrets than
// the one that we sign with (domain/secret-life). Nothing here repeats a secret.

import type { Direction } from "./pasted-request.ts";
import { type SigningKey, signingKey } from "./signature.ts";
import { utcMinute } from "./time.ts";

/** When the request was signed. */
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
	/** A sentence about what became of it after the request was signed. */
	since: string | null;
}

/** A key that a signature may have been made with, and what is to be said if it was. */
export interface KeyCandidate {
	key: SigningKey;
	verdict: "good" | "warn" | "bad";
	cause: string | null;
	text: string;
}

/** We sign with the secret itself: the only question is with which. */
export function callbackKeys(secrets: readonly KnownSecret[], nowMs: number): KeyCandidate[] {
	return secrets.map((secret) => ({ key: signingKey(secret.text), ...judge(secret, "callback", nowMs) }));
}

/** Whoever else signs may have used a secret in another spelling, or something else for it. */
export function shopKeys(
	secrets: readonly KnownSecret[],
	direction: Direction,
	apiKey: string | null,
	nowMs: number,
): KeyCandidate[] {
	const themselves = secrets.map((secret) => ({
		key: signingKey(secret.text),
		...judge(secret, direction, nowMs),
	}));
	const misspelt = secrets
		.filter(({ standing }) => standing.kind !== "ended")
		.flatMap((secret) =>
			spellingsOf(secret.text).map(({ value, cause, text }): KeyCandidate => {
				const isAsked = secret.standing.kind === "right";
				const which = isAsked ? "" : ` It was ${secret.name}.`;
				return { key: signingKey(value), verdict: "bad", cause, text: `${text}${which}` };
			}),
		);
	return [...themselves, ...misspelt, ...notSecrets(apiKey)];
}

interface SecretSpelling {
	value: string | Uint8Array;
	cause: string;
	text: string;
}

function spellingsOf(secret: string): SecretSpelling[] {
	const bare = secret.replace(/^rbs_/, "");
	const withSpace = (value: string): SecretSpelling => ({
		value,
		cause: "secret-white-space",
		text: "The secret was used with white space around it. Trim it.",
	});
	const quoted = (quote: string): SecretSpelling => ({
		value: `${quote}${secret}${quote}`,
		cause: "secret-quoted",
		text: "The secret was used with quotation marks around it: your settings file keeps them as part of the value. Remove them.",
	});
	const decoded = (value: Uint8Array, how: string): SecretSpelling => ({
		value,
		cause: "secret-decoded",
		text: `The secret was decoded (${how}) before it was used. Use its text as it was shown, every character as one byte.`,
	});
	const lineBreak = (value: string): SecretSpelling => ({
		value,
		cause: "secret-line-break",
		text: "The secret was used with a line break at its end (echo and files add one). Trim it.",
	});
	return [
		lineBreak(`${secret}\n`),
		lineBreak(`${secret}\r\n`),
		withSpace(`${secret} `),
		withSpace(` ${secret}`),
		quoted('"'),
		quoted("'"),
		{
			value: bare,
			cause: "secret-without-prefix",
			text: "The secret was used without its beginning rbs_. Use the whole text as it was shown.",
		},
		{
			value: secret.toUpperCase(),
			cause: "secret-case",
			text: "The secret was used in upper case. Use it as it was shown.",
		},
		decoded(Buffer.from(bare, "hex"), "from hex"),
		decoded(Buffer.from(secret, "base64"), "from base64"),
		decoded(Buffer.from(bare, "base64"), "from base64"),
	];
}

/** What stands in a secret's place when it is not set, or when the two texts that were issued are mixed up. */
function notSecrets(apiKey: string | null): KeyCandidate[] {
	const unset = ["", "undefined", "null", "None"].map(
		(value): KeyCandidate => ({
			key: signingKey(value),
			verdict: "bad",
			cause: "secret-not-set",
			text: `${value === "" ? "An empty text" : `The word "${value}"`} was used as the secret: the setting that should hold it is not set.`,
		}),
	);
	if (apiKey === null) return unset;
	const mixed: KeyCandidate = {
		key: signingKey(apiKey),
		verdict: "bad",
		cause: "api-key-as-secret",
		text: "The API key was used as the secret. Sign with the signing secret, which begins with rbs_; the API key goes into the Authorization header alone.",
	};
	return [mixed, ...unset];
}

function judge(
	{ name, standing, since }: KnownSecret,
	direction: Direction,
	nowMs: number,
): Omit<KeyCandidate, "key"> {
	if (standing.kind === "other") {
		const cure = since ?? "Compare the last characters of your secret with those under Keys and snippets.";
		const text = `${cure} This request was signed with ${name}, not with what you pasted.`;
		return { verdict: "bad", cause: "secret-other", text };
	}
	const { isGood, advice } = judgeStanding(standing, direction, nowMs);
	if (isGood && advice === "" && since === null) {
		return { verdict: "good", cause: null, text: `The right one: ${name}.` };
	}
	const found = isGood ? `It was signed with ${name}.` : `It was signed with another secret: ${name}.`;
	return {
		verdict: isGood ? "warn" : "bad",
		cause: isGood ? null : `secret-${standing.kind}`,
		text: [found, advice, since ?? ""].filter((part) => part !== "").join(" "),
	};
}

function judgeStanding(
	standing: Exclude<SecretStanding, { kind: "other" }>,
	direction: Direction,
	nowMs: number,
): { isGood: boolean; advice: string } {
	const isToUs = direction === "request";
	switch (standing.kind) {
		case "right":
			return { isGood: true, advice: "" };
		case "prepared":
			return isToUs
				? { isGood: true, advice: "We accept it. Callbacks are signed with it once you activate it." }
				: {
						isGood: false,
						advice: "Callbacks are signed with the active one until you activate this: verify with both.",
					};
		case "replaced":
			return judgeReplaced(standing.goodUntilMs, isToUs, nowMs);
		case "ended":
			return {
				isGood: false,
				advice: `It ended on ${utcMinute(standing.atMs)} and is no longer accepted: ${isToUs ? "sign" : "verify"} with the active one.`,
			};
		default:
			return standing satisfies never;
	}
}

function judgeReplaced(
	goodUntilMs: number,
	isToUs: boolean,
	nowMs: number,
): { isGood: boolean; advice: string } {
	if (!isToUs) {
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
