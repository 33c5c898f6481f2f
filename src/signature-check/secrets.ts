// The keys that a signature may have been made with, and what is to be said of each: the programme's own secrets, one that
// was pasted, and what stands in a secret's place by mistake. Nothing here repeats a secret.

import { openSecret } from "../domain/sealing.ts";
import { goodUntilMs, stateOf } from "../domain/secret-life.ts";
import { type SigningKey, signingKey } from "../domain/signature.ts";
import { utcMinute } from "../domain/time.ts";
import { findUsableSecrets, listEndedSecrets, type SigningSecret } from "../store/queries/signing-secrets.ts";
import type { Db } from "../store/store.ts";
import type { Direction } from "./pasted-request.ts";

/** The active one, a prepared one, and those replaced within a day: a few, unless somebody plays with it. */
const MAX_USABLE_TRIED = 4;
/** Older ones ended so long ago that nobody has them. */
const MAX_ENDED_TRIED = 4;

type KnownSecret = SigningSecret & { text: string };

/** A key to try, and what it means if it fits. */
export interface KeyCandidate {
	key: SigningKey;
	/** Right to sign with: whatever else may be wrong is tried with these alone. */
	isRight: boolean;
	verdict: "good" | "warn" | "bad";
	cause: string | null;
	text: string;
}

interface Signing {
	direction: Direction;
	/** When it was signed, as far as is known. */
	atMs: number;
	nowMs: number;
}

export async function readSecrets(
	db: Db,
	sealingKey: Uint8Array,
	programmeId: number,
	nowMs: number,
): Promise<KnownSecret[]> {
	const stored = [
		...(await findUsableSecrets(db, [programmeId], nowMs)).slice(0, MAX_USABLE_TRIED),
		...(await listEndedSecrets(db, programmeId, nowMs, MAX_ENDED_TRIED)),
	];
	return stored.flatMap((secret) => {
		const text = openSecret(sealingKey, programmeId, secret.sealed);
		return text === null ? [] : [{ ...secret, text }];
	});
}

/** `given`: the secret that somebody pasted, to be checked with in place of the programme's own; empty for those. */
export function keysToTry(
	own: readonly KnownSecret[],
	given: string,
	apiKey: string | null,
	signing: Signing,
): KeyCandidate[] {
	const texts = [...new Set([given, ...own.map(({ text }) => text)])].filter((text) => text !== "");
	return [
		...texts.map((text): KeyCandidate => {
			const stored = own.find((one) => one.text === text);
			const key = signingKey(text);
			if (stored === undefined) {
				return { key, isRight: true, verdict: "good", cause: null, text: "It fits the secret you pasted." };
			}
			if (given === "" || given === text) return { key, ...judge(stored, signing) };
			return wrong("other-secret", text, notWhatWasPasted(given, stored));
		}),
		...texts.flatMap((text) =>
			MISSPELT.map(([how, write]) =>
				wrong("misspelt-secret", write(text), `The secret was used ${how}. Use it as it was shown.`),
			),
		),
		...UNSET.map((value) =>
			wrong("unset-secret", value, `"${value}" was used as the secret: its setting is not set.`),
		),
		...(apiKey === null ? [] : [wrong("api-key-as-secret", apiKey, API_KEY_USED)]),
	];
}

function wrong(cause: string, secret: string | Uint8Array, text: string): KeyCandidate {
	return { key: signingKey(secret), isRight: false, verdict: "bad", cause, text };
}

function judge(stored: SigningSecret, { direction, atMs, nowMs }: Signing): Omit<KeyCandidate, "key"> {
	const state = stateOf(stored, nowMs);
	const isToUs = direction === "request";
	const endsAtMs = stored.ended_at_ms ?? goodUntilMs(stored) ?? nowMs;
	// What was signed before was good then.
	const isOver = isToUs && state === "ended" && endsAtMs <= atMs;
	const notes = {
		active: "",
		prepared: " We accept it. Callbacks are signed with it once you activate it.",
		replaced: isToUs
			? ` We accept it until ${utcMinute(endsAtMs)}: change to the active one before then.`
			: " It was active then. Newer callbacks are signed with another.",
		ended: ` It ended on ${utcMinute(endsAtMs)}. ${isToUs ? "Sign" : "Newer callbacks are signed"} with the active one.`,
	};
	return {
		isRight: state !== "ended",
		verdict: isOver ? "bad" : state === "active" ? "good" : "warn",
		cause: isOver ? "old-secret" : null,
		text: `Signed with the ${state} secret (…${stored.hint}).${notes[state]}`,
	};
}

/** It names no part of a secret that fits: that would let it be guessed bit by bit. */
function notWhatWasPasted(given: string, { hint }: SigningSecret): string {
	const remark = given.startsWith("rbk_")
		? "What you pasted is an API key, which signs nothing. The signing secret begins with rbs_."
		: "Compare the last characters of your secret with those under Keys and snippets.";
	return `Signed with this programme's secret …${hint}, not with what you pasted. ${remark}`;
}

const MISSPELT: readonly (readonly [how: string, write: (secret: string) => string | Uint8Array])[] = [
	["with a line break at its end: trim it", (secret) => `${secret}\n`],
	["with quotation marks around it: remove them", (secret) => `"${secret}"`],
	["without its beginning rbs_", (secret) => secret.replace(/^rbs_/, "")],
	["decoded from hex", (secret) => Buffer.from(secret.replace(/^rbs_/, ""), "hex")],
];

/** What programs put in the place of a setting that is not there. */
const UNSET = ["", "undefined", "null", "None"];
const API_KEY_USED =
	"The API key was used as the secret. Sign with the signing secret, which begins with rbs_; the API key belongs into the Authorization header alone.";
