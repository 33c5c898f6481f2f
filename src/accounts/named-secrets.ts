// A programme's signing secrets as "Check a signature" tries them: each with its name and what it was good for then.

import { unquote } from "../domain/pasted-request.ts";
import { openSecret } from "../domain/sealing.ts";
import { secretState, timesAsOf } from "../domain/secret-life.ts";
import type { KnownSecret } from "../domain/signature-secrets.ts";
import { utcMinute } from "../domain/time.ts";
import type { Programme } from "../store/programmes.ts";
import {
	findUsableSecrets,
	goodUntilMs,
	listEndedSecrets,
	type SigningSecret,
} from "../store/signing-secrets.ts";
import type { AccountsDeps } from "./deps.ts";

/** Of those that are good for nothing any more; older ones ended so long ago that nobody has them. */
const MAX_ENDED_TRIED = 4;

/** With their standing at a moment. */
export async function readNamedSecrets(
	{ store, clock, sealingKey }: Pick<AccountsDeps, "store" | "clock" | "sealingKey">,
	programme: Programme,
	atMs: number,
): Promise<KnownSecret[]> {
	const nowMs = clock.nowMs();
	const stored = [
		...(await findUsableSecrets(store.db, [programme.id], nowMs)),
		...(await listEndedSecrets(store.db, programme.id, nowMs, MAX_ENDED_TRIED)),
	];
	return stored.flatMap((secret) => {
		const text = openSecret(sealingKey, programme.id, secret.sealed);
		return text === null ? [] : [nameSecret(secret, text, atMs, nowMs)];
	});
}

/** As it stood when the request was signed, and what became of it since. */
function nameSecret(secret: SigningSecret, text: string, atMs: number, nowMs: number): KnownSecret {
	const { activated_at_ms, replaced_at_ms, ended_at_ms, hint } = secret;
	const times = { activatedAtMs: activated_at_ms, replacedAtMs: replaced_at_ms, endedAtMs: ended_at_ms };
	const [then, now] = [secretState(timesAsOf(times, atMs), atMs), secretState(times, nowMs)];
	const wasReplaced =
		replaced_at_ms === null
			? ""
			: `the programme's previous secret, replaced on ${utcMinute(replaced_at_ms)}`;
	switch (then) {
		case "active":
			return now === "active"
				? { text, name: "the programme's active secret", standing: { kind: "right" }, since: null }
				: {
						text,
						name: `the secret that was active then (…${hint})`,
						standing: { kind: "right" },
						since: `It was replaced on ${utcMinute(replaced_at_ms ?? nowMs)}: newer callbacks are signed with another.`,
					};
		case "prepared":
			return {
				text,
				name: "the programme's prepared secret, which is not active yet",
				standing: { kind: "prepared" },
				since: activated_at_ms === null ? null : `It was activated on ${utcMinute(activated_at_ms)}.`,
			};
		case "replaced":
			return {
				text,
				name: wasReplaced,
				standing: { kind: "replaced", goodUntilMs: goodUntilMs(secret) ?? 0 },
				since: null,
			};
		case "ended": {
			const endedAtMs = ended_at_ms ?? goodUntilMs(secret) ?? 0;
			const name = activated_at_ms === null ? "a prepared secret that was discarded" : wasReplaced;
			return { text, name, standing: { kind: "ended", atMs: endedAtMs }, since: null };
		}
	}
}

/** Checked with the secret that was pasted; the programme's own are tried only to say which one it was instead. */
export function askAbout(given: string, own: readonly KnownSecret[]): KnownSecret[] {
	const known = own.find(({ text }) => text === given);
	const asked: KnownSecret =
		known === undefined
			? { text: given, name: "the secret you pasted", standing: { kind: "right" }, since: null }
			: { ...known, name: `the secret you pasted, ${known.name}` };
	const others = own.filter((secret) => secret !== known);
	return [
		asked,
		...others.map((secret) => ({
			...secret,
			standing: { kind: "other" } as const,
			since: remarkOn(given, secret.text),
		})),
	];
}

/** Only the whole secret in another spelling is recognised: a hint at less would let it be guessed bit by bit. */
function remarkOn(given: string, secret: string): string | null {
	if (given.startsWith("rbk_")) {
		return "What you pasted is an API key, which signs nothing. Use the signing secret, which begins with rbs_.";
	}
	if (unquote(given) === secret)
		return "What you pasted is that secret with quotation marks around it: remove them.";
	if (`rbs_${given}` === secret)
		return "What you pasted is that secret without its beginning rbs_: use the whole text.";
	return given.toLowerCase() === secret
		? "What you pasted is that secret in upper case: use it as it was shown."
		: null;
}
